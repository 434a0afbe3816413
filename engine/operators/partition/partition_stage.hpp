#pragma once

#include <optional>

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"
#include "engine/operators/group/slots/row_slots.hpp"

namespace skyrank::exec {

/// Numbers rows by their partitions.
RowSlots number_partitions(Execution& execution, const SourceTable& source, const Rows& rows);

/// Splits the rows into segments that are answered independently; returns `split` if they are split already.
Segments partition_rows(Execution& execution, const SourceTable& source, const RowSet& rows,
                        std::optional<Segments> split);

}  // namespace skyrank::exec

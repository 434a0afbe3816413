#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/segments.hpp"

namespace skyrank::exec {

/// A segment for each class, in the order of their numbers.
Segments segments_of(const Classes& classes);

/// Segments of equal values in `columns`, in order of their first rows.
Segments partition(const Table& table, std::span<const int> columns, const Rows& rows);

}  // namespace skyrank::exec

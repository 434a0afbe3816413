#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <skyrank/table.hpp>
#include <string>

namespace skyrank::datasets {

/// Imports a table of columns in normal types. Columns of one chunk share their memory with the result. Columns of
/// several chunks are copied, and each is released as soon as that is done. `name` is the table's name in errors.
Table to_skyrank(std::shared_ptr<arrow::Table> values, const std::string& name);

/// The same rows as Arrow columns of one chunk, sharing memory where the layout allows.
std::shared_ptr<arrow::RecordBatch> to_arrow(const Table& table);

}  // namespace skyrank::datasets

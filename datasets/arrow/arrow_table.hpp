#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <skyrank/table.hpp>
#include <string>

namespace skyrank::datasets {

/// A table of columns in normal types, imported. Columns of one chunk share their memory with the table; those of
/// several are copied into one, and `values` lets go of each as soon as that is done. `name` stands for the table in
/// errors.
Table to_skyrank(std::shared_ptr<arrow::Table> values, const std::string& name);

/// The same rows as Arrow columns of one chunk, sharing memory where the layout allows.
std::shared_ptr<arrow::RecordBatch> to_arrow(const Table& table);

}  // namespace skyrank::datasets

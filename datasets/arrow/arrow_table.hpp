#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <skyrank/table.hpp>
#include <string>
#include <vector>

// Turns tables into those of Arrow and back, sharing memory where layouts agree.
namespace skyrank::exec {
class Categories;  // engine/column_traits.hpp
}  // namespace skyrank::exec

// Conversion between Arrow's tables and the engine's, and the orders of dictionaries.
namespace skyrank::datasets {

/// Imports a table of columns in normal types. Columns of one chunk share their memory with the result. Columns of
/// several chunks are copied, and each is released as soon as that is done. `name` is the table's name in errors.
Table to_skyrank(std::shared_ptr<arrow::Table> values, const std::string& name);

/// Returns the texts of a dictionary, whose entries are strings in a normal type, without NULL.
std::vector<std::string> dictionary_entries(const arrow::Array& entries);

/// Returns the order of an ordered dictionary's texts. DataError names file and column where a text comes twice.
std::shared_ptr<const exec::Categories> ordered_categories(std::vector<std::string> texts, const std::string& name,
                                                           const std::string& column);

/// Returns an order that agrees with both. DataError names file and column where they contradict each other.
std::shared_ptr<const exec::Categories> united_categories(const std::shared_ptr<const exec::Categories>& a,
                                                          const std::shared_ptr<const exec::Categories>& b,
                                                          const std::string& name, const std::string& column);

/// The same rows as Arrow columns of one chunk, sharing memory where the layout allows.
std::shared_ptr<arrow::RecordBatch> to_arrow(const Table& table);

/// Joins the chunks of each column into one, several columns side by side if `threads` says so. What does not fit one
/// array, or memory, stays in chunks; whoever joins it later says so.
std::vector<arrow::ArrayVector> join_chunks(std::vector<arrow::ArrayVector> columns, bool threads);

}  // namespace skyrank::datasets

#pragma once

#include <cstdint>
#include <string>

#include <skyrank/table.hpp>

// Rows as text, in CSV and JSON lines.
namespace skyrank::datasets {

/// The header line of a table as CSV, with its line break; empty for a table without columns.
std::string csv_header(const Table& table);

/// Rows [begin, end) as CSV lines.
std::string csv_rows(const Table& table, std::int64_t begin, std::int64_t end);

/// Rows [begin, end) as JSON objects, one a line.
std::string jsonl_rows(const Table& table, std::int64_t begin, std::int64_t end);

}  // namespace skyrank::datasets

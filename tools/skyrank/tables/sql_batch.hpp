#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/error.hpp>

#include "tools/skyrank/commands.hpp"

// Statements of SQL as batches.
namespace skyrank::tools {

/// The surroundings of statements.
struct SqlScope {
  const SqlArguments& arguments;         ///< how files are read
  std::vector<TableSpec> tables = {};    ///< tables that FROM may name; others are files
  bool standard_input_is_taken = false;  ///< by the statements themselves
};

/// A text of statements, as far as they end in ';'.
struct StatementParts {
  std::vector<std::pair<std::size_t, std::size_t>> complete;  ///< begin and end of each, without its ';'
  std::size_t rest = 0;  ///< begin of the one that does not end; the end of the text without one
};

/// Splits a text at ';' outside quotes and comments. Parts of spaces and comments alone are left out.
StatementParts split_statements(const std::string& text);

/// Returns a file as a table.
TableSpec file_table(const std::string& name, const std::string& file, const SqlArguments& arguments,
                     const Location& place = {});

/// Returns the statements of a text, of which the last needs no ';'. Those without a name are called answer, answer-2
/// and so on. QueryError for malformed ones, UsageError for tables that are not there.
Batch batch_of(const std::string& text, const SqlScope& scope);

}  // namespace skyrank::tools

#pragma once

#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

#include "datasets/input/files.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/text/words.hpp"

// Prints errors, warnings and tables as all commands do.
namespace skyrank::tools {

/// Errors that end one query but not the run. Several queries often fail for one reason (a missing file): each message
/// is shown once, and no more than twenty of them.
class ErrorReport {
 public:
  explicit ErrorReport(Console& console) : console_(console) {}

  void add(const std::exception& error);
  /// Says how many messages were not shown.
  void finish() const;
  /// Success as long as nothing was added.
  ExitStatus status() const { return status_; }

 private:
  static constexpr std::size_t kMaxShown = 20;

  Console& console_;
  std::set<std::string> messages_;
  ExitStatus status_ = success;
};

/// Errors that are shown together, in the order of their places.
class SortedErrors {
 public:
  void add(const Error& error);
  /// Shows them, and returns the exit status.
  ExitStatus show(Console& console);

 private:
  std::vector<std::pair<Location, std::string>> errors_;  // places and whole messages
  ExitStatus status_ = success;
};

/// Prints what is odd about a query to standard error.
void print_warnings(Console& console, const Query& query);

/// Warns of columns that the answer lacks, unless a query over the same table has done so; `told` keeps that.
void print_left_out(Console& console, const Query& query, const Table& table, bool& told);

/// Prints a table aligned for people, of more than `max_rows` rows (negative: any number) only the first and the last;
/// throws as Console::print does.
void print_table(Console& console, const Table& table, std::int64_t max_rows);

/// Prints a table as csv or jsonl.
void print_rows(Console& console, const Table& table, datasets::Format format);

/// Prints a table's rows as the elements of a JSON array, one object a line.
void print_json_rows(Console& console, const Table& table);

}  // namespace skyrank::tools

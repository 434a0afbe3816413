#pragma once

#include <string>

#include "tools/bench/measure.hpp"

namespace skyrank::bench {

/// The fields that all lines of one run share.
struct RunInfo {
  std::string suite;
  std::string commit;
  std::string machine;
};

/// The names of the columns, with a newline. tools/bench/README.md says what each holds.
std::string csv_header();

/// A line for each algorithm measured in a cell. Fields with commas or quotes are quoted (RFC 4180).
std::string csv_lines(const CellResult& result, const RunInfo& info);

}  // namespace skyrank::bench

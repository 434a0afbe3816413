#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include <skyrank/engine.hpp>
#include <skyrank/export.hpp>
#include <skyrank/query.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

// Reports each query that a process runs, for counters and logs.
namespace skyrank {
inline namespace v0 {

/// The outcome of one query, for counters and logs.
struct QueryReport {
  std::string query;                ///< name of the query; empty where it has none
  std::string table;                ///< name of its table
  std::string error;                ///< error_code() of what ended it; empty for an answer
  std::string message;              ///< message of that error
  std::int64_t input_rows = 0;      ///< rows of the table
  std::int64_t rows = 0;            ///< rows of the answer
  std::uint64_t bytes_read = 0;     ///< bytes that were read of a source; 0 for a table in memory
  std::uint64_t bytes_spilled = 0;  ///< bytes of groups that went to a temporary file
  double ms = 0;                    ///< time of the call, with waiting and reading
  Timing timing = {};               ///< milliseconds of its stages; zeros for a query that failed
};

/// Called once for each query, by the thread that asked, when it has ended.
using OnQuery = std::function<void(const QueryReport&)>;

/// Returns the word that stands for an error in reports and logs: query, bind, data, device, resource, cancelled,
/// timeout, memory (std::bad_alloc) or internal.
SKYRANK_EXPORT std::string_view error_code(const std::exception& error);

/// Returns the report of a query that was answered over so many rows in so many milliseconds.
SKYRANK_EXPORT QueryReport report_of(const Query& query, const Result& result, std::int64_t input_rows, double ms);

/// Runs a query over a table as Engine::run does, and reports how it went. Throws what that throws, after the report,
/// and what `report` throws.
SKYRANK_EXPORT Result run_reported(const Engine& engine, const Query& query, const Table& table, const OnQuery& report,
                                   const RunOptions& options = {});

/// The same over a source.
SKYRANK_EXPORT Result run_reported(const Engine& engine, const Query& query, const Source& source,
                                   const OnQuery& report, const RunOptions& options = {});

}  // namespace v0
}  // namespace skyrank

#include <skyrank/metrics.hpp>

#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank {
inline namespace v0 {
namespace {

/// Returns the sum of a statistic over the operators of a plan.
std::uint64_t sum_of(const PlanNode& plan, std::string_view name) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : plan.statistics) {
    if (key == name) sum += static_cast<std::uint64_t>(value);
  }
  for (const PlanNode& child : plan.children) sum += sum_of(child, name);
  return sum;
}

template <class Input>
Result run_and_report(const Engine& engine, const Query& query, const Input& input, std::int64_t input_rows,
                      const OnQuery& report, const RunOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  };
  std::optional<Result> result;
  try {
    result = engine.run(query, input, options);
  } catch (const std::exception& error) {
    const auto* own = dynamic_cast<const Error*>(&error);
    QueryReport failed;
    failed.query = query.name();
    failed.table = query.from();
    failed.error = error_code(error);
    failed.message = own != nullptr ? own->message() : error.what();
    failed.input_rows = input_rows;
    failed.ms = elapsed();
    if (report) report(failed);
    throw;
  }
  if (report) report(report_of(query, *result, input_rows, elapsed()));
  return *std::move(result);
}

}  // namespace

std::string_view error_code(const std::exception& error) {
  if (dynamic_cast<const QueryError*>(&error) != nullptr) return "query";
  if (dynamic_cast<const BindError*>(&error) != nullptr) return "bind";
  if (dynamic_cast<const DataError*>(&error) != nullptr) return "data";
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return "device";
  if (dynamic_cast<const ResourceError*>(&error) != nullptr) return "resource";
  if (dynamic_cast<const CancelledError*>(&error) != nullptr) return "cancelled";
  if (dynamic_cast<const TimeoutError*>(&error) != nullptr) return "timeout";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "memory";
  return "internal";
}

QueryReport report_of(const Query& query, const Result& result, std::int64_t input_rows, double ms) {
  return {.query = query.name(),
          .table = query.from(),
          .error = {},
          .message = {},
          .input_rows = input_rows,
          .rows = result.table.num_rows(),
          .bytes_read = sum_of(result.plan, "bytes read"),
          .bytes_spilled = sum_of(result.plan, "bytes spilled"),
          .ms = ms,
          .timing = result.timing};
}

Result run_reported(const Engine& engine, const Query& query, const Table& table, const OnQuery& report,
                    const RunOptions& options) {
  return run_and_report(engine, query, table, table.num_rows(), report, options);
}

Result run_reported(const Engine& engine, const Query& query, const Source& source, const OnQuery& report,
                    const RunOptions& options) {
  return run_and_report(engine, query, source, num_rows(source), report, options);
}

}  // namespace v0
}  // namespace skyrank

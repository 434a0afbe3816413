#include "tools/skyrank/answers/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "tools/skyrank/answers/json.hpp"

namespace skyrank::tools {
namespace {

/// Returns the time in UTC, to the millisecond.
std::string now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds.count())), ms);
}

Json event_of(const char* event) { return {{"time", now()}, {"event", event}}; }

Json event_of(const char* event, const Query& query) {
  Json object = event_of(event);
  object["query"] = query.name();
  object["table"] = query.from();
  return object;
}

void write(Console& console, const Json& object) { console.log(to_line(object) + "\n"); }

}  // namespace

void log_start(Console& console, const Query& query) {
  if (console.is_logging()) write(console, event_of("query-start", query));
}

void log_answer(Console& console, const Answer& answer, double ms) {
  if (!console.is_logging()) return;
  const QueryReport report = report_of(answer.query, answer.result, answer.input_rows, ms);
  Json object = event_of("query-end", answer.query);
  object["input_rows"] = report.input_rows;
  object["rows"] = report.rows;
  object["bytes_read"] = report.bytes_read;
  object["bytes_spilled"] = report.bytes_spilled;
  object["ms"] = report.ms;
  object["timing"] = to_json(report.timing);
  object["timing"]["read_ms"] = answer.read_ms;
  object["plan"] = to_json(answer.result.plan);
  write(console, object);
}

void log_error(Console& console, const Query& query, const std::exception& error, double ms) {
  if (!console.is_logging()) return;
  Json object = event_of("query-error", query);
  object["ms"] = ms;
  object["error"] = to_json(error);
  write(console, object);
}

void log_end(Console& console, int status) {
  if (!console.is_logging()) return;
  Json object = event_of("end");
  object["status"] = status;
  write(console, object);
}

std::string log_line(const char* event, std::string_view message) {
  Json object = event_of(event);
  object["message"] = message;
  return to_line(object) + "\n";
}

}  // namespace skyrank::tools

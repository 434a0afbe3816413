#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor/limits.hpp"
#include "tools/skyrank/answers/answers.hpp"
#include "tools/skyrank/answers/html_report.hpp"
#include "tools/skyrank/answers/log.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"
#include "tools/skyrank/terminal/progress.hpp"

namespace skyrank::tools {
namespace {

/// While it lives, reading is shown as progress of a query.
class ShownReading {
 public:
  ShownReading(InputTables& tables, Progress& progress) : tables_(tables) { tables.show_reading(&progress); }
  ~ShownReading() { tables_.show_reading(nullptr); }
  ShownReading(const ShownReading&) = delete;
  ShownReading& operator=(const ShownReading&) = delete;

 private:
  InputTables& tables_;
};

double ms_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

/// Returns the reasons why rows are not in the answer of a query, or why there is none.
std::vector<std::string> reasons(const Query& query, const Source& source, const Engine& engine,
                                 const std::vector<std::int64_t>& rows, const Signals& signals) {
  std::vector<std::string> texts;
  for (const std::int64_t row : rows) {
    try {
      texts.push_back(to_string(engine.why(query, source, row, {.stop = signals.stop_token()})));
    } catch (const CancelledError&) {
      throw;
    } catch (const Error& error) {
      texts.push_back(fmt::format("row {}: {}\n", row, error.message()));
    }
  }
  return texts;
}

/// Answers a query; its time limit begins before its table is opened.
Answer answer_query(const Query& query, InputTables& tables, const Engine& engine, const RunArguments& arguments,
                    Console& console, const Signals& signals, exec::Timer& timer) {
  RunOptions options{.count_work = arguments.plan,
                     .stop = signals.stop_token(),
                     .timeout = arguments.timeout,
                     .later_queries = 0,
                     .began = exec::Timer::Clock::now()};
  const InputTable input = exec::with_limits(query, options, timer, [&](exec::Limits& limits) {
    limits.enter("reading the table");
    return tables.get(query);
  });
  options.later_queries = input.later_queries;
  Progress progress(console, "running " + query.name());
  const ShownReading shown(tables, progress);
  Result result = engine.run(query, *input.source, options);
  const double read_ms = input.read_ms + result.timing.read_ms;
  return {.query = query,
          .result = std::move(result),
          .input_rows = num_rows(*input.source),
          .read_ms = read_ms,
          .why = reasons(query, *input.source, engine, arguments.report_why, signals)};
}

}  // namespace

int run(const RunArguments& arguments, Console& console, Signals& signals) {
  const OpenedBatch opened = open_with_mistakes(arguments.batch);
  if (!opened.mistakes.empty()) return report_mistakes(opened, {arguments.batch, arguments.json}, console, signals);
  return run_batch(opened.batch, arguments, console, signals);
}

int run_batch(const Batch& batch, const RunArguments& arguments, Console& console, Signals& signals) {
  auto writer = make_answer_writer(arguments, batch.queries.size(), console);
  const BatchMemory memory = memory_of(batch, arguments.memory_bytes);
  const Engine engine({.threads = arguments.threads,
                       .device = arguments.device,
                       .shared_key_bytes = memory.shared_keys,
                       .share_columns = has_shared_tables(batch),
                       .memory_bytes = memory.engine,
                       .devices = devices_of(arguments.gpus, batch),
                       .gpu_memory_bytes = arguments.gpus.memory_bytes});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  InputTables tables(batch, arguments.threads, memory, console, signals);
  if (!arguments.report_why.empty() && arguments.report.empty()) throw UsageError("--report-why needs --report FILE");
  if (!arguments.report.empty()) writer = with_html_report(std::move(writer), arguments.report, console.stop());
  ErrorReport errors(console);
  exec::Timer timer;
  for (const Query& query : batch.queries) {
    print_warnings(console, query);
    const auto began = std::chrono::steady_clock::now();
    try {
      signals.check();
      log_start(console, query);
      const Answer answer = answer_query(query, tables, engine, arguments, console, signals, timer);
      log_answer(console, answer, ms_since(began));
      writer->write(answer);
    } catch (const CancelledError& error) {
      log_error(console, query, error, ms_since(began));
      writer->write_error(query, error);
      writer->finish();
      throw;
    } catch (const Error& error) {
      console.flush();  // throws where standard output is what failed
      log_error(console, query, error, ms_since(began));
      errors.add(error);
      writer->write_error(query, error);
    }
    console.flush();
  }
  errors.finish();
  writer->finish();
  console.flush();
  return errors.status();
}

}  // namespace skyrank::tools

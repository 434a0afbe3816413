#include <fmt/format.h>

#include <utility>

#include "tools/skyrank/answers/answers.hpp"
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

Answer answer_query(const Query& query, InputTables& tables, const Engine& engine, const RunArguments& arguments,
                    Console& console, const Signals& signals) {
  const InputTable input = tables.get(query);
  Progress progress(console, "running " + query.name());
  const ShownReading shown(tables, progress);
  Result result = engine.run(query, *input.source,
                             {.count_work = arguments.plan,
                              .stop = signals.stop_token(),
                              .timeout = arguments.timeout,
                              .later_queries = input.later_queries});
  const double read_ms = input.read_ms + result.timing.read_ms;
  return {.query = query, .result = std::move(result), .input_rows = num_rows(*input.source), .read_ms = read_ms};
}

}  // namespace

int run(const RunArguments& arguments, Console& console, Signals& signals) {
  return run_batch(open_batch(arguments.batch), arguments, console, signals);
}

int run_batch(const Batch& batch, const RunArguments& arguments, Console& console, Signals& signals) {
  const auto writer = make_answer_writer(arguments, batch.queries.size(), console);
  const Engine engine({.threads = arguments.threads,
                       .device = arguments.device,
                       .shared_key_bytes = shared_key_bytes(batch),
                       .share_columns = has_shared_tables(batch),
                       .memory_bytes = arguments.memory_bytes,
                       .devices = devices_of(arguments.gpus, batch),
                       .gpu_memory_bytes = arguments.gpus.memory_bytes});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  InputTables tables(batch, arguments.threads, input_memory(engine, arguments.memory_bytes), console, signals);
  ErrorReport errors(console);
  for (const Query& query : batch.queries) {
    print_warnings(console, query);
    try {
      signals.check();
      writer->write(answer_query(query, tables, engine, arguments, console, signals));
    } catch (const CancelledError& error) {
      writer->write_error(query, error);
      writer->finish();
      throw;
    } catch (const Error& error) {
      console.flush();  // throws where standard output is what failed
      errors.add(error);
      writer->write_error(query, error);
    }
    console.flush();
  }
  writer->finish();
  console.flush();
  return errors.status();
}

}  // namespace skyrank::tools

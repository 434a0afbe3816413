#include <fmt/format.h>

#include <system_error>

#include "tools/skyrank/answers.hpp"
#include "tools/skyrank/batch_input.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/progress.hpp"
#include "tools/skyrank/report.hpp"

namespace skyrank::tools {
namespace {

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder)) {
    throw UsageError(fmt::format("--out {}: is a file, not a folder", folder.string()));
  }
  if (error) throw ResourceError(fmt::format("{}: {}", folder.string(), error.message()));
}

Answer answer_query(const Query& query, const InputTable& input, const Engine& engine, const RunArguments& arguments,
                    Console& console, const Signals& signals) {
  const Progress progress(console, "running " + query.name());
  return {.query = query,
          .result = engine.run(query, input.table,
                               {.count_work = arguments.json,
                                .stop = signals.stop_token(),
                                .timeout = arguments.timeout,
                                .later_queries = input.later_queries}),
          .input_rows = input.table.num_rows(),
          .read_ms = input.read_ms};
}

}  // namespace

int run(const RunArguments& arguments, Console& console, Signals& signals) {
  const Batch batch = open_batch(arguments.batch);
  const auto writer = make_answer_writer(arguments, batch.queries.size(), console);
  if (!arguments.out.empty()) create_folder(arguments.out);
  const Engine engine({.threads = arguments.threads,
                       .device = arguments.device,
                       .shared_key_bytes = shared_key_bytes(batch),
                       .share_columns = has_shared_tables(batch),
                       .memory_bytes = arguments.memory_bytes});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  InputTables tables(batch, arguments.threads, console, signals);
  ErrorReport errors(console);
  for (const Query& query : batch.queries) {
    print_warnings(console, query);
    try {
      signals.check();
      writer->write(answer_query(query, tables.get(query), engine, arguments, console, signals));
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

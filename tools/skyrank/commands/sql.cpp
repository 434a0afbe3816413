#include <fmt/format.h>

#include <iostream>
#include <string>

#include <skyrank/error.hpp>

#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/sql_batch.hpp"

namespace skyrank::tools {
namespace {

/// Returns the standard input as a text.
std::string read_statements() {
  std::string text;
  char buffer[1 << 14];
  while (std::cin.read(buffer, sizeof(buffer)) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > BatchLimits().max_bytes) {
      throw UsageError(fmt::format("the standard input has more than the {} bytes that statements may have",
                                   BatchLimits().max_bytes));
    }
  }
  if (std::cin.bad()) throw ResourceError("the standard input cannot be read");
  return text;
}

}  // namespace

int sql(const SqlArguments& arguments, Console& console, Signals& signals) {
  const bool from_input = arguments.statement == "-";
  const Batch batch = batch_of(from_input ? read_statements() : arguments.statement,
                               {.arguments = arguments, .standard_input_is_taken = from_input});
  return answer_statements(batch, arguments, console, signals);
}

int answer_statements(const Batch& batch, const SqlArguments& arguments, Console& console, Signals& signals) {
  const RunArguments& run = arguments.run;
  if (!arguments.explain && !arguments.analyze && !arguments.candidates) return run_batch(batch, run, console, signals);
  if (!run.format.empty() || !run.out.empty() || !run.report.empty() || run.rows || run.plan) {
    throw UsageError(
        "--format, --out, --report, --rows and --plan are for answers: leave them out with --explain, --analyze and "
        "--candidates");
  }
  ExplainArguments explain;
  explain.threads = run.threads;
  explain.device = run.device;
  explain.memory_bytes = run.memory_bytes;
  explain.gpus = run.gpus;
  explain.timeout = run.timeout;
  explain.analyze = arguments.analyze;
  explain.candidates = arguments.candidates;
  explain.json = run.json;
  return explain_batch(batch, explain, console, signals);
}

}  // namespace skyrank::tools

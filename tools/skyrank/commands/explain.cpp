#include <fmt/format.h>

#include <algorithm>

#include <skyrank/engine.hpp>

#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

void print_rules(Console& console, bool json) {
  const std::vector<RuleInfo> list = rules();
  std::size_t width = 0;
  Json document = Json::array();
  for (const RuleInfo& rule : list) {
    width = std::max(width, rule.name.size());
    document.push_back(to_json(rule));
  }
  if (json) return console.print(to_text(document));
  for (const RuleInfo& rule : list) {
    console.print(fmt::format("{}{:{}}  {}\n", console.strong(rule.name), "", width - rule.name.size(), rule.summary));
  }
}

PlanNode plan_of(const Query& query, InputTables& tables, const Engine& engine, const ExplainArguments& arguments,
                 const Signals& signals) {
  const InputTable input = tables.get(query);
  const RunOptions options{.count_work = true,
                           .stop = signals.stop_token(),
                           .timeout = arguments.timeout,
                           .later_queries = input.later_queries,
                           .candidates = arguments.candidates};
  return arguments.analyze ? engine.run(query, *input.source, options).plan
                           : engine.explain(query, *input.source, options);
}

}  // namespace

int explain(const ExplainArguments& arguments, Console& console, Signals& signals) {
  if (arguments.rules) {
    print_rules(console, arguments.json);
    console.flush();
    return success;
  }
  if (arguments.batch.file.empty()) throw UsageError("explain: BATCH is required, or --rules");
  return explain_batch(open_batch(arguments.batch), arguments, console, signals);
}

int explain_batch(const Batch& batch, const ExplainArguments& arguments, Console& console, Signals& signals) {
  const BatchMemory memory = memory_of(batch, arguments.memory_bytes);
  const Engine engine({.threads = arguments.threads,
                       .device = arguments.device,
                       .without = arguments.without,
                       .shared_key_bytes = memory.shared_keys,
                       .share_columns = has_shared_tables(batch),
                       .memory_bytes = memory.engine,
                       .devices = devices_of(arguments.gpus, batch),
                       .gpu_memory_bytes = arguments.gpus.memory_bytes});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  // Plans depend on how many rows there are.
  InputTables tables(batch, arguments.threads, memory, console, signals);
  ErrorReport errors(console);
  Json results = Json::array();
  for (const Query& query : batch.queries) {
    Json result = {{"name", query.name()}, {"table", query.from()}};
    try {
      const PlanNode plan = plan_of(query, tables, engine, arguments, signals);
      result["plan"] = to_json(plan);
      if (!arguments.json) {
        const char* gap = &query == &batch.queries.front() ? "" : "\n";
        console.print(gap + console.strong(query.name()) + "\n" + to_string(plan));
      }
    } catch (const CancelledError&) {
      throw;
    } catch (const Error& error) {
      errors.add(error);
      result["error"] = to_json(error);
    }
    results.push_back(std::move(result));
  }
  errors.finish();
  if (arguments.json) {
    console.print(to_text({{"batch", arguments.batch.file.string()}, {"queries", std::move(results)}}));
  }
  console.flush();
  return errors.status();
}

}  // namespace skyrank::tools

#include <fmt/format.h>

#include <map>

#include <skyrank/engine.hpp>

#include "datasets/source.hpp"
#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"
#include "tools/skyrank/terminal/progress.hpp"

namespace skyrank::tools {
namespace {

/// Names and types of the batch's tables, without rows; each is looked up once.
class Schemas {
 public:
  Schemas(const Batch& batch, Console& console, Signals& signals)
      : batch_(batch), console_(console), signals_(signals) {}

  const Table& get(const std::string& name) {
    if (const auto known = schemas_.find(name); known != schemas_.end()) return known->second;
    signals_.check();
    const Progress progress(console_, "reading " + name);
    datasets::LoadOptions options;
    options.stop = signals_.stop_token();
    options.pipes = pipes_;
    return schemas_.emplace(name, datasets::load_schema(batch_.table(name), batch_.directory, options)).first->second;
  }

 private:
  const Batch& batch_;
  Console& console_;
  Signals& signals_;
  std::shared_ptr<datasets::PipeCache> pipes_ = datasets::make_pipe_cache();
  std::map<std::string, Table> schemas_;
};

/// Checks one query against the columns of its table. Throws what is wrong with it.
void check_query(const Query& query, const Engine& engine, Schemas& schemas, bool& told_left_out, Console& console) {
  print_warnings(console, query);
  const Table& schema = schemas.get(query.from());
  print_left_out(console, query, schema, told_left_out);
  engine.explain(query, schema);
}

std::string summary_line(const std::string& file, std::int64_t correct, std::int64_t total) {
  const std::string queries = counted(total, "query is", "queries are");
  return correct == total ? fmt::format("{}: {} correct\n", file, queries)
                          : fmt::format("{}: {} of {} correct\n", file, correct, queries);
}

}  // namespace

int check(const CheckArguments& arguments, Console& console, Signals& signals) {
  return report_mistakes(open_with_mistakes(arguments.batch), arguments, console, signals);
}

int report_mistakes(const OpenedBatch& opened, const CheckArguments& arguments, Console& console, Signals& signals) {
  const Batch& batch = opened.batch;
  const Engine engine({.device = DeviceChoice::cpu});  // binding is the same for every device
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  Schemas schemas(batch, console, signals);
  SortedErrors errors;
  Json mistakes = Json::array();
  for (const QueryError& mistake : opened.mistakes) {
    errors.add(mistake);
    mistakes.push_back(to_json(mistake));
  }
  Json results = Json::array();
  std::map<std::string, bool> told_left_out;
  std::int64_t correct = 0;
  for (const Query& query : batch.queries) {
    Json result = {{"name", query.name()}, {"table", query.from()}};
    try {
      check_query(query, engine, schemas, told_left_out[query.from()], console);
      ++correct;
    } catch (const CancelledError&) {
      throw;
    } catch (const Error& error) {
      errors.add(error);
      result["error"] = to_json(error);
    }
    results.push_back(std::move(result));
  }
  const ExitStatus status = errors.show(console);
  const std::string file = arguments.batch.file.string();
  if (arguments.json) {
    Json document = {{"batch", file}, {"queries", std::move(results)}};
    if (!mistakes.empty()) document["error"] = mistakes.front();
    if (mistakes.size() > 1) document["errors"] = std::move(mistakes);
    console.print(to_text(document));
  } else if (opened.mistakes.empty()) {
    console.note(summary_line(file, correct, std::ssize(batch.queries)));
  }
  console.flush();
  return status;
}

}  // namespace skyrank::tools

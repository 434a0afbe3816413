#include <fmt/format.h>

#include <map>

#include <skyrank/engine.hpp>

#include "datasets/source.hpp"
#include "tools/skyrank/batch_input.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/json.hpp"
#include "tools/skyrank/progress.hpp"
#include "tools/skyrank/report.hpp"

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

}  // namespace

int check(const CheckArguments& arguments, Console& console, Signals& signals) {
  const Batch batch = open_batch(arguments.batch);
  const Engine engine({.device = DeviceChoice::cpu});  // binding is the same for every device
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  Schemas schemas(batch, console, signals);
  ErrorReport errors(console);
  Json results = Json::array();
  std::map<std::string, bool> told_left_out;
  std::int64_t correct = 0;
  for (const Query& query : batch.queries) {
    Json result = {{"name", query.name()}, {"table", query.from()}};
    print_warnings(console, query);
    try {
      const Table& schema = schemas.get(query.from());
      print_left_out(console, query, schema, told_left_out[query.from()]);
      engine.check(query, schema);
      ++correct;
    } catch (const CancelledError&) {
      throw;
    } catch (const Error& error) {
      errors.add(error);
      result["error"] = to_json(error);
    }
    results.push_back(std::move(result));
  }
  if (arguments.json) {
    console.print(to_text({{"batch", arguments.batch.file.string()}, {"queries", std::move(results)}}));
  } else {
    const auto total = static_cast<std::int64_t>(batch.queries.size());
    console.print(correct == total ? fmt::format("{}: {} correct\n", arguments.batch.file.string(),
                                                 counted(total, "query is", "queries are"))
                                   : fmt::format("{}: {} of {} correct\n", arguments.batch.file.string(), correct,
                                                 counted(total, "query is", "queries are")));
  }
  console.flush();
  return errors.status();
}

}  // namespace skyrank::tools

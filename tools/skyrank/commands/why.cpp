#include <skyrank/engine.hpp>
#include <skyrank/why.hpp>

#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

Json to_json(const WhyNot& why) {
  Json document = {{"row", why.row}, {"stage", to_string(why.stage)}};
  if (!why.reasons.empty()) document["reasons"] = why.reasons;
  if (why.place) document["place"] = *why.place;
  if (why.last_row) document["last_row"] = *why.last_row;
  if (!why.against_last.empty()) document["against_last"] = why.against_last;
  if (why.equal_row) document["equal_row"] = *why.equal_row;
  if (why.num_dominators) document["num_dominators"] = *why.num_dominators;
  Json dominators = Json::array();
  for (const WhyDominator& one : why.dominators) {
    dominators.push_back({{"row", one.row}, {"gap", one.gap}, {"better_in", one.better_in}});
  }
  document["dominators"] = std::move(dominators);
  Json changes = Json::array();
  for (const WhyChange& one : why.changes) {
    Json change = {{"term", one.term}};
    if (!one.change.empty()) change["change"] = one.change;
    if (!one.unknown.empty()) change["unknown"] = one.unknown;
    changes.push_back(std::move(change));
  }
  document["changes"] = std::move(changes);
  document["text"] = to_string(why);
  return document;
}

}  // namespace

int why(const WhyArguments& arguments, Console& console, Signals& signals) {
  BatchArguments one = arguments.batch;
  one.queries = {arguments.query};
  const Batch batch = open_batch(one);
  const Query& query = batch.queries.front();
  const BatchMemory memory = memory_of(batch, arguments.memory_bytes);
  const Engine engine({.threads = arguments.threads, .device = DeviceChoice::cpu, .memory_bytes = memory.engine});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  InputTables tables(batch, arguments.threads, memory, console, signals);
  const InputTable input = tables.get(query);
  const WhyNot why = engine.why(query, *input.source, arguments.row, {.stop = signals.stop_token()});
  console.print(arguments.json ? to_text(to_json(why)) : to_string(why));
  console.flush();
  return success;
}

}  // namespace skyrank::tools

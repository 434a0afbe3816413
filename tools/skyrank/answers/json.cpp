#include "tools/skyrank/answers/json.hpp"

#include <skyrank/metrics.hpp>

#include "tools/skyrank/terminal/console.hpp"

namespace skyrank::tools {
namespace {

std::string_view kind_of(const std::exception& error) {
  return dynamic_cast<const UsageError*>(&error) != nullptr ? "usage" : error_code(error);
}

/// An object of named values.
Json object_of(const auto& named_values) {
  Json object = Json::object();
  for (const auto& [name, value] : named_values) object[name] = value;
  return object;
}

/// Adds a member unless it is empty. It is whole before it is added: where memory for a member that grows in place runs
/// out, the library's destructor reads what was never made.
void add_unless_empty(Json& object, const char* name, Json value) {
  if (!value.empty()) object[name] = std::move(value);
}

/// An array of what `json_of` makes of each item.
Json array_of(const auto& items, const auto& json_of) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(json_of(item));
  return array;
}

Json json_of_alternative(const Alternative& other) {
  return {{"algorithm", other.algorithm}, {"predicted_ms", other.predicted_ms}, {"reason", other.reason}};
}

Json json_of_candidate(const PricedCandidate& candidate) {
  return {{"name", candidate.name},
          {"taken", candidate.taken},
          {"predicted_ms", candidate.predicted_ms},
          {"predicted_ms_high", candidate.predicted_ms_high}};
}

Json json_of_decision(const PricedDecision& decision) {
  return {{"subject", decision.subject}, {"candidates", array_of(decision.candidates, json_of_candidate)}};
}

Json json_of_rule(const RuleOutcome& outcome) {
  return {{"rule", outcome.rule}, {"applied", outcome.applied}, {"reason", outcome.reason}};
}

}  // namespace

Json to_json(const Timing& timing) {
  return {{"bind_ms", timing.bind_ms},         {"filter_ms", timing.filter_ms},   {"keys_ms", timing.keys_ms},
          {"transfer_ms", timing.transfer_ms}, {"compute_ms", timing.compute_ms}, {"gather_ms", timing.gather_ms},
          {"total_ms", timing.total_ms}};
}

Json to_json(const Work& work) {
  return {{"dominance_tests", work.dominance_tests},
          {"mask_tests", work.mask_tests},
          {"bytes_read", work.bytes_read},
          {"bytes_written", work.bytes_written},
          {"candidates", work.candidates}};
}

Json to_json(const PlanNode& plan) {
  Json node = {{"op", plan.op}};
  const auto add_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) node[key] = text;
  };
  add_text("detail", plan.detail);
  add_text("algorithm", plan.algorithm);
  add_text("device", plan.device);
  add_text("reason", plan.reason);
  add_text("fallback", plan.fallback);
  add_text("guard", plan.guard);
  add_unless_empty(node, "parameters", object_of(plan.parameters));
  node["predicted_rows"] = plan.predicted_rows;
  node["predicted_rows_low"] = plan.predicted_rows_low;
  node["predicted_rows_high"] = plan.predicted_rows_high;
  node["predicted_ms"] = plan.predicted_ms;
  if (plan.predicted_bytes > 0) node["predicted_bytes"] = plan.predicted_bytes;
  if (plan.measured_rows) node["measured_rows"] = *plan.measured_rows;
  if (plan.measured_ms) node["measured_ms"] = *plan.measured_ms;
  if (plan.work) node["work"] = to_json(*plan.work);
  if (plan.transferred) {
    node["transferred"] = {{"to_device", plan.transferred->to_device}, {"from_device", plan.transferred->from_device}};
  }
  add_unless_empty(node, "statistics", object_of(plan.statistics));
  add_unless_empty(node, "alternatives", array_of(plan.alternatives, json_of_alternative));
  add_unless_empty(node, "rules", array_of(plan.rules, json_of_rule));
  add_unless_empty(node, "decisions", array_of(plan.decisions, json_of_decision));
  add_unless_empty(node, "children", array_of(plan.children, [](const PlanNode& child) { return to_json(child); }));
  return node;
}

Json to_json(const AlgorithmInfo& algorithm) {
  Json parameters = Json::array();
  for (const AlgorithmInfo::Parameter& parameter : algorithm.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"description", parameter.description},
                          {"min", parameter.min},
                          {"max", parameter.max},
                          {"default", parameter.default_value}});
  }
  return {{"name", algorithm.name},       {"problem", algorithm.problem}, {"device", algorithm.device},
          {"summary", algorithm.summary}, {"source", algorithm.source},   {"parameters", std::move(parameters)}};
}

Json to_json(const RuleInfo& rule) { return {{"name", rule.name}, {"summary", rule.summary}}; }

Json to_json(const std::exception& error) {
  Json object = {{"kind", kind_of(error)}};
  const auto* own = dynamic_cast<const Error*>(&error);
  object["message"] = own != nullptr ? own->message() : error.what();
  if (own != nullptr) {
    const Location& place = own->location();
    if (!place.source.empty()) object["file"] = place.source;
    if (place.line > 0) object["line"] = place.line;
    if (place.column > 0) object["column"] = place.column;
  }
  return object;
}

std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_line(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace skyrank::tools

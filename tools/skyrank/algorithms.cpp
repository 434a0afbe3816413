#include <fmt/format.h>

#include <skyrank/engine.hpp>

#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/json.hpp"
#include "tools/skyrank/report.hpp"

namespace skyrank::tools {
namespace {

std::string describe(const std::vector<AlgorithmInfo::Parameter>& parameters) {
  std::string text;
  for (const auto& parameter : parameters) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}={} [{}..{}]", parameter.name, parameter.default_value, parameter.min, parameter.max);
  }
  return text;
}

Table as_table(const std::vector<AlgorithmInfo>& list) {
  std::vector<std::string> names, problems, devices, parameters, summaries, sources;
  for (const AlgorithmInfo& algorithm : list) {
    names.push_back(algorithm.name);
    problems.push_back(algorithm.problem);
    devices.push_back(algorithm.device);
    parameters.push_back(describe(algorithm.parameters));
    summaries.push_back(algorithm.summary);
    sources.push_back(algorithm.source);
  }
  return Table({Column::own("name", names), Column::own("problem", problems), Column::own("device", devices),
                Column::own("parameters", parameters), Column::own("summary", summaries),
                Column::own("source", sources)});
}

}  // namespace

int algorithms(const AlgorithmsArguments& arguments, Console& console) {
  const std::vector<AlgorithmInfo> list = skyrank::algorithms();
  if (arguments.json) {
    Json document = Json::array();
    for (const AlgorithmInfo& algorithm : list) document.push_back(to_json(algorithm));
    console.print(to_text(document));
  } else {
    print_table(console, as_table(list));
  }
  console.flush();
  return kSuccess;
}

}  // namespace skyrank::tools

#include <fmt/format.h>

#include <algorithm>

#include <skyrank/engine.hpp>

#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/text/words.hpp"

namespace skyrank::tools {
namespace {

std::size_t widest_name(const std::vector<AlgorithmInfo>& list) {
  std::size_t width = 0;
  for (const AlgorithmInfo& algorithm : list) width = std::max(width, algorithm.name.size());
  return width;
}

/// One entry: a line on what it is, one on where it comes from, one a parameter.
void print_algorithm(const AlgorithmInfo& algorithm, std::size_t name_width, Console& console) {
  const std::string indentation(2 + name_width + 2 + 4 + 2, ' ');
  console.print(fmt::format("  {:<{}}  {:<4}  {}\n", algorithm.name, name_width, algorithm.device,
                            wrapped(algorithm.summary, indentation)));
  console.print(indentation + console.faint(wrapped(algorithm.source, indentation)) + "\n");
  for (const AlgorithmInfo::Parameter& parameter : algorithm.parameters) {
    const std::string line = fmt::format("{} = {} ({} to {}): {}", parameter.name, parameter.default_value,
                                         parameter.min, parameter.max, parameter.description);
    console.print(indentation + wrapped(line, indentation) + "\n");
  }
}

/// Grouped by the problem they solve, in the registry's order.
void print_registry(const std::vector<AlgorithmInfo>& list, Console& console) {
  const std::size_t name_width = widest_name(list);
  const std::string* problem = nullptr;
  for (const AlgorithmInfo& algorithm : list) {
    if (problem == nullptr || *problem != algorithm.problem) {
      console.print((problem == nullptr ? "" : "\n") + console.strong(algorithm.problem) + "\n");
      problem = &algorithm.problem;
    }
    print_algorithm(algorithm, name_width, console);
  }
}

}  // namespace

int algorithms(const AlgorithmsArguments& arguments, Console& console) {
  const std::vector<AlgorithmInfo> list = skyrank::algorithms();
  if (arguments.json) {
    Json document = Json::array();
    for (const AlgorithmInfo& algorithm : list) document.push_back(to_json(algorithm));
    console.print(to_text(document));
  } else {
    print_registry(list, console);
  }
  console.flush();
  return success;
}

}  // namespace skyrank::tools

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skyrank::planner::cost {

/// Values of an algorithm's parameters by name.
using Values = std::map<std::string, std::int64_t, std::less<>>;

inline double value_or(const Values& values, std::string_view name, double otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : static_cast<double>(found->second);
}

/// One addend of a predicted time: how often something is done on the longest way through the algorithm (so divided by
/// the threads that share it), and what it takes each time. `name` is how a profile names the seconds it has measured.
struct Term {
  std::string_view name;
  double count = 0;
  double seconds = 0;  ///< for one; where no profile says better
};

/// What a model says of a problem.
struct Cost {
  std::vector<Term> terms;
  double bytes = 0;  ///< of temporary memory where the algorithm runs, its copy of the input there included
};

}  // namespace skyrank::planner::cost

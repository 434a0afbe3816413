#pragma once

#include <algorithm>

#include "planner/choose.hpp"

namespace skyrank::planner {

/// Returns the priced parameters of least cost; also of GPU algorithms that this build does not have.
template <class Shape>
cost::Values cheapest(std::string_view algorithm, const Shape& shape, const Statistics& statistics = {},
                      const cost::Values& given = {}) {
  const auto seconds = [&](const cost::Values& values) {
    return seconds_of(cost_of(algorithm, shape, {.cuda = true}, statistics, values));
  };
  const auto all = priced_parameters(algorithm, shape, given);
  return *std::ranges::min_element(all, {}, seconds);
}

}  // namespace skyrank::planner

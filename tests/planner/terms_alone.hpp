#pragma once

#include <algorithm>

#include "planner/choose.hpp"
#include "planner/price_list.hpp"
#include "planner/profile.hpp"

namespace skyrank::planner {

/// The built-in profile's prices without corrections, which are bounded and so may fall where sizes grow.
inline const PriceList& terms_alone() {
  static const PriceList kTerms([] {
    Profile profile = built_in_profile();
    profile.corrections.clear();
    return profile;
  }());
  return kTerms;
}

/// The priced parameters of least cost by terms; also of GPU algorithms that this build does not have.
template <class Shape>
cost::Values cheapest(std::string_view algorithm, const Shape& shape, const Statistics& statistics = {},
                      const cost::Values& given = {}) {
  const auto seconds = [&](const cost::Values& values) {
    return seconds_of(cost_of(algorithm, shape, {.cuda = true, .prices = &terms_alone()}, statistics, values));
  };
  const auto all = priced_parameters(algorithm, shape, given);
  return *std::ranges::min_element(all, {}, seconds);
}

}  // namespace skyrank::planner

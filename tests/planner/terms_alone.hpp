#pragma once

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

}  // namespace skyrank::planner

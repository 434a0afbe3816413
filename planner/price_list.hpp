#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/registry.hpp"
#include "planner/cost/models.hpp"
#include "planner/profile.hpp"

// A profile as choices read it.
namespace skyrank::planner {

/// The prices of one algorithm.
template <class Shape>
struct Prices {
  /// Seconds of one of the model's terms, as measured.
  struct Known {
    std::size_t term = 0;
    double seconds = 0;
  };

  std::string_view algorithm;  ///< registered name
  cost::Model<Shape> model;
  std::vector<Known> known;  ///< other terms keep the model's seconds

  /// Returns the terms of the model, with the profile's seconds where it has any.
  cost::Cost terms(const Shape& shape, const Statistics& statistics, const Machine& machine,
                   const cost::Values& values) const {
    cost::Cost cost = model.cost(shape, statistics, machine, values);
    for (const Known& it : known) cost.terms[it.term].seconds = it.seconds;
    return cost;
  }
};

/// The models of all algorithms with a profile's seconds: names are looked up here once, and not for
/// each path that is priced.
class PriceList {
 public:
  explicit PriceList(Profile profile);
  PriceList(const PriceList&) = delete;
  PriceList& operator=(const PriceList&) = delete;

  const Profile& profile() const { return profile_; }

  /// Returns the registered algorithms that solve problems of such a shape, in their order.
  template <class Shape>
  const std::vector<const Prices<Shape>*>& registered() const {
    if constexpr (std::is_same_v<Shape, kernels::SkylineShape>) {
      return registered_skylines_;
    } else {
      return registered_rankings_;
    }
  }

  /// By name, those of algorithms that only builds with CUDA have among them. Throw std::logic_error where there is no
  /// model.
  const Prices<kernels::SkylineShape>& skyline(std::string_view algorithm) const;
  const Prices<kernels::TopKShape>& ranking(std::string_view algorithm) const;

 private:
  Profile profile_;
  std::vector<Prices<kernels::SkylineShape>> skylines_;
  std::vector<Prices<kernels::TopKShape>> rankings_;
  std::vector<const Prices<kernels::SkylineShape>*> registered_skylines_;
  std::vector<const Prices<kernels::TopKShape>*> registered_rankings_;
};

/// Returns the prices of the built-in profile.
const PriceList& built_in_prices();

}  // namespace skyrank::planner

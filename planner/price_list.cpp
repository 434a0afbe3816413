#include "planner/price_list.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "planner/choose.hpp"

namespace skyrank::planner {
namespace {

/// Problems whose terms' names are looked at: a model has the same, in the same order, for all.
kernels::SkylineShape example(const kernels::SkylineShape&) { return {.n = 1000, .d = 4}; }
kernels::TopKShape example(const kernels::TopKShape&) {
  return {.n = 1000, .k = 10, .widths = {kernels::KeyWidth::bytes4}};
}

template <class Shape>
Prices<Shape> prices_of(const cost::NamedModel<Shape>& named, const Profile& profile) {
  const auto& [algorithm, model] = named;
  Prices<Shape> prices{.algorithm = algorithm, .model = model, .known = {}};
  const Profile::Seconds* seconds = profile.seconds_of(algorithm);
  if (seconds == nullptr) return prices;
  const cost::Cost cost = model.cost(example(Shape{}), {}, {}, {});
  for (std::size_t term = 0; term < cost.terms.size(); ++term) {
    const auto found = seconds->find(cost.terms[term].name);
    if (found != seconds->end()) prices.known.push_back({term, found->second});
  }
  return prices;
}

template <class Shape>
std::vector<Prices<Shape>> all_prices(std::span<const cost::NamedModel<Shape>> models, const Profile& profile) {
  std::vector<Prices<Shape>> all;
  for (const cost::NamedModel<Shape>& named : models) all.push_back(prices_of(named, profile));
  return all;
}

template <class Shape>
const Prices<Shape>& find(const std::vector<Prices<Shape>>& all, std::string_view algorithm) {
  const auto found = std::ranges::find(all, algorithm, &Prices<Shape>::algorithm);
  if (found == all.end()) throw std::logic_error("no cost model for algorithm " + std::string(algorithm));
  return *found;
}

}  // namespace

PriceList::PriceList(Profile profile)
    : profile_(std::move(profile)),
      skylines_(all_prices(cost::skyline_models(), profile_)),
      rankings_(all_prices(cost::topk_models(), profile_)) {
  for (const auto* it : kernels::skyline_algorithms()) registered_skylines_.push_back(&find(skylines_, it->name));
  for (const auto* it : kernels::topk_algorithms()) registered_rankings_.push_back(&find(rankings_, it->name));
}

const Prices<kernels::SkylineShape>& PriceList::skyline(std::string_view algorithm) const {
  return find(skylines_, algorithm);
}

const Prices<kernels::TopKShape>& PriceList::ranking(std::string_view algorithm) const {
  return find(rankings_, algorithm);
}

const PriceList& built_in_prices() {
  static const PriceList kPrices(built_in_profile());
  return kPrices;
}

}  // namespace skyrank::planner

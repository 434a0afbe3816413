#include "kernels/registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/common/nearest_name.hpp"
#include "kernels/common/order.hpp"

namespace skyrank::kernels {

namespace skyline {
extern const SkylineAlgorithm bnl;
extern const SkylineAlgorithm sfs;
extern const SkylineAlgorithm salsa;
extern const SkylineAlgorithm blocked_bitmap;
extern const SkylineAlgorithm skyalign;
extern const SkylineAlgorithm bskytree;
extern const SkylineAlgorithm hybrid;
}  // namespace skyline

namespace topk {
extern const TopKAlgorithm sort;
extern const TopKAlgorithm stl_heap;
extern const TopKAlgorithm heap;
extern const TopKAlgorithm nth_element;
extern const TopKAlgorithm bitonic;
extern const TopKAlgorithm sampled_threshold;
}  // namespace topk

std::span<const SkylineAlgorithm* const> skyline_algorithms() {
  static constexpr const SkylineAlgorithm* kAll[] = {
      &skyline::bnl,      &skyline::sfs,      &skyline::salsa,  &skyline::blocked_bitmap,
      &skyline::skyalign, &skyline::bskytree, &skyline::hybrid,
  };
  return kAll;
}

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kAll[] = {
      &topk::sort, &topk::stl_heap, &topk::heap, &topk::nth_element, &topk::bitonic, &topk::sampled_threshold,
  };
  return kAll;
}

SkylineShape shape_of(const SkylineProblem& problem) {
  const std::size_t d = problem.keys.size();
  return {.n = problem.n,
          .d = d,
          .width = problem.keys.empty() ? KeyWidth::bytes4 : problem.keys.front().width,
          .general_order = !problem.order.empty() && !Order(problem.order, d).is_flat_pareto()};
}

TopKShape shape_of(const TopKProblem& problem) {
  TopKShape shape{
      .n = problem.n, .k = problem.k, .widths = {}, .ties = problem.ties, .fused = problem.source != nullptr};
  if (shape.fused) shape.widths.push_back(problem.source->width());
  for (const KeyColumn& column : problem.keys) shape.widths.push_back(column.width);
  return shape;
}

std::int64_t ParameterValues::operator[](std::string_view name) const {
  if (const auto given = values_.find(name); given != values_.end()) return given->second;
  const auto parameter = std::ranges::find(declared_, name, &Parameter::name);
  if (parameter == declared_.end()) throw std::out_of_range("undeclared parameter " + std::string(name));
  return parameter->default_value;
}

std::string check_parameters(std::span<const Parameter> declared,
                             const std::map<std::string, std::int64_t, std::less<>>& values) {
  for (const auto& [name, value] : values) {
    const auto parameter = std::ranges::find(declared, name, &Parameter::name);
    if (parameter == declared.end()) {
      std::vector<std::string> names;
      for (const Parameter& known : declared) names.emplace_back(known.name);
      return "there is no parameter '" + name + "'" + did_you_mean(name, names);
    }
    if (value < parameter->min || value > parameter->max) {
      return "parameter '" + name + "' is " + std::to_string(value) + ", but must be from " +
             std::to_string(parameter->min) + " to " + std::to_string(parameter->max);
    }
  }
  return {};
}

}  // namespace skyrank::kernels

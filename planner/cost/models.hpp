#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "kernels/common/problem.hpp"
#include "planner/cost/terms.hpp"
#include "planner/facts/machine.hpp"
#include "planner/facts/statistics.hpp"

// One cost model per algorithm, each in its file: what the algorithm does, as a sum of terms (README.md says how a
// model is written).
namespace skyrank::planner::cost {

/// The cost model of an algorithm. `values` has the parameters that are given; for others a model takes the default.
template <class Shape>
using CostFunction = Cost (*)(const Shape&, const Statistics&, const Machine&, const Values&);

/// The steps of a run that are a power more in the worst case than those of another path.
struct GuardedSteps {
  double expected = 0;
  double most = 0;     ///< their number in the worst case
  double seconds = 0;  ///< time of one step
};

/// The planner's knowledge of an algorithm.
template <class Shape>
struct Model {
  CostFunction<Shape> cost = nullptr;
  /// Values of its parameters that are worth pricing, from the paper's rule or around what the model has its least cost
  /// at; null: the defaults alone. They live as long as the process.
  std::span<const Values> (*candidates)(const Shape&) = nullptr;
  bool defaults_first = true;  ///< true if the model takes the first of these where none are given
  bool reference = false;      ///< planned only for queries that ask for the algorithm, or that no other can answer
  /// Returns true for the shapes at which the algorithm is no reference; null: for all.
  bool (*suits)(const Shape&) = nullptr;
  /// Returns the steps that a guard bounds, so that another path takes over where they are many more; null: the
  /// algorithm has no such worst case, or no way to end early.
  GuardedSteps (*guarded)(const Shape&, const Statistics&) = nullptr;

  explicit operator bool() const { return cost != nullptr; }
  bool is_reference(const Shape& shape) const { return reference || (suits != nullptr && !suits(shape)); }
};
using SkylineModel = Model<kernels::SkylineShape>;
using TopKModel = Model<kernels::TopKShape>;

Cost bnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
         const Values& values);
GuardedSteps bnl_steps(const kernels::SkylineShape& shape, const Statistics& statistics);
Cost sfs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
         const Values& values);
Cost sweep(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
           const Values& values);
Cost blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                    const Values& values);
Cost skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost cuda_skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                   const Values& values);
Cost cuda_blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                         const Values& values);
Cost sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine, const Values& values);
Cost heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine, const Values& values);
Cost nth_element(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                 const Values& values);
Cost sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                       const Values& values);
Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                            const Values& values);

std::span<const Values> block_candidates(const kernels::SkylineShape& shape);
std::span<const Values> cuda_skyalign_candidates(const kernels::SkylineShape& shape);

/// A model, by its algorithm's registered name.
template <class Shape>
using NamedModel = std::pair<std::string_view, Model<Shape>>;

/// All that are built: those of GPUs in builds without CUDA, too, and those of the papers with SKYRANK_PAPERS.
std::span<const NamedModel<kernels::SkylineShape>> skyline_models();
std::span<const NamedModel<kernels::TopKShape>> topk_models();

/// The model of an algorithm; without functions when it has none.
SkylineModel skyline_model(std::string_view algorithm);
TopKModel topk_model(std::string_view algorithm);

}  // namespace skyrank::planner::cost

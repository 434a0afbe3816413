#include "tools/bench/cell_runner.hpp"

#include <fmt/format.h>
#include <tbb/info.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"

namespace skyrank::bench {
namespace {

template <class Algorithm>
constexpr bool kIsTopK = std::is_same_v<Algorithm, kernels::TopKAlgorithm>;

template <class Algorithm>
typename Algorithm::Problem problem_of(const Cell& cell, const Data& data) {
  typename Algorithm::Problem problem;
  problem.n = data.n;
  problem.keys = data.keys;
  if constexpr (kIsTopK<Algorithm>) {
    problem.k = static_cast<std::size_t>(cell.k);
    problem.ties = cell.ties;
  }
  return problem;
}

template <class Algorithm>
std::span<const Algorithm* const> registered() {
  if constexpr (kIsTopK<Algorithm>) {
    return kernels::topk_algorithms();
  } else {
    return kernels::skyline_algorithms();
  }
}

/// A problem's shape needs no data.
Data shape_only(const Cell& cell) {
  Data data;
  data.n = static_cast<std::size_t>(cell.n);
  data.keys.assign(static_cast<std::size_t>(cell.d), {nullptr, key_width(cell)});
  return data;
}

/// Returns true if the second cell is no easier than the first: the same kind of data, and no less of it.
bool no_easier(const Cell& first, const Cell& second) {
  return first.op == second.op && first.distribution == second.distribution && first.type == second.type &&
         first.file == second.file && first.columns == second.columns && first.high == second.high &&
         first.parameters == second.parameters && first.ties == second.ties && second.n >= first.n &&
         second.d >= first.d && second.k >= first.k && second.threads <= first.threads &&
         second.budget_s <= first.budget_s;
}

}  // namespace

void CellRunner::prepare(const Cell& cell) {
  if (cell.residency != kernels::Memory::host) throw QueryError("'residency' is for the planner's runs", {"resident"});
  if (cell.where < 1) throw QueryError("'where' is for the planner's runs", {std::to_string(cell.where)});
  if (data_cell_ && same_data(*data_cell_, cell)) return;
  options_.status((cell.file.empty() ? "generating " : "reading ") + cell.distribution);
  data_cell_.reset();
  kept_ = {};  // both before the new data take memory
  data_ = {};
  data_ = make_data(cell, options_.read_columns);
  data_cell_ = cell;
}

std::optional<std::string> CellRunner::known_overrun(std::string_view algorithm, const Cell& cell) const {
  for (const Overrun& overrun : overruns_) {
    if (overrun.algorithm != algorithm || !no_easier(overrun.cell, cell)) continue;
    return fmt::format("took more than {} s at n = {}, d = {}", overrun.cell.budget_s, overrun.cell.n, overrun.cell.d) +
           (cell.op == Op::topk ? fmt::format(", k = {}", overrun.cell.k) : "");
  }
  return std::nullopt;
}

template <class Algorithm>
std::vector<const Algorithm*> CellRunner::contenders(const Cell& cell, std::vector<Skipped>& skipped) const {
  const Data shape = shape_only(cell);
  const auto problem = problem_of<Algorithm>(cell, shape);
  const std::string no_gpu = kernels::cuda::find_devices().reason;
  std::vector<const Algorithm*> chosen;
  for (const Algorithm* algorithm : registered<Algorithm>()) {
    const std::string name(algorithm->name);
    if (!cell.algorithms.empty() && std::ranges::find(cell.algorithms, name) == cell.algorithms.end()) continue;
    if (options_.device && algorithm->device != *options_.device) continue;
    if (algorithm->device == kernels::Device::cuda && !no_gpu.empty()) {
      skipped.push_back({name, "needs a GPU: " + no_gpu});
      continue;
    }
    if (const std::string fault = kernels::check_parameters(algorithm->parameters, cell.parameters); !fault.empty()) {
      skipped.push_back({name, fault});
      continue;
    }
    if (const kernels::Support support = algorithm->supports(shape_of(problem)); !support) {
      skipped.push_back({name, support.reason});
    } else if (const auto reason = known_overrun(name, cell)) {
      skipped.push_back({name, *reason});
    } else {
      chosen.push_back(algorithm);
    }
  }
  return chosen;
}

std::vector<std::string> CellRunner::candidates(const Cell& cell, std::vector<Skipped>& skipped) const {
  std::vector<std::string> names;
  const auto add = [&](const auto& algorithms) {
    for (const auto* algorithm : algorithms) names.emplace_back(algorithm->name);
  };
  if (cell.op == Op::skyline) {
    add(contenders<kernels::SkylineAlgorithm>(cell, skipped));
  } else {
    add(contenders<kernels::TopKAlgorithm>(cell, skipped));
  }
  return names;
}

template <class Algorithm>
void CellRunner::run(CellResult& result) {
  const std::vector<const Algorithm*> algorithms = contenders<Algorithm>(result.cell, result.skipped);
  const auto problem = problem_of<Algorithm>(result.cell, data_);
  for (std::string& name : measure(problem, algorithms, options_, result, kept_)) {
    overruns_.push_back({std::move(name), result.cell});
  }
}

CellResult CellRunner::run(const Cell& cell) {
  CellResult result;
  result.cell = cell;
  if (cell.threads == 0) result.cell.threads = tbb::info::default_concurrency();
  prepare(cell);
  result.key_bytes = data_.bytes();
  if (cell.op == Op::skyline) {
    run<kernels::SkylineAlgorithm>(result);
  } else {
    run<kernels::TopKAlgorithm>(result);
  }
  return result;
}

}  // namespace skyrank::bench

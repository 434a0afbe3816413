#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>

#include "tools/bench/judge.hpp"

namespace skyrank::bench {
namespace {

using kernels::RowId;

constexpr std::size_t kMaxPairs = 100'000'000;  // for each half of the check
constexpr std::size_t kMinSample = 64;
constexpr std::size_t kMaxDisputed = 1000;

/// Some rows of a problem, their keys side by side.
class Points {
 public:
  Points(const kernels::SkylineProblem& problem, Answer rows)
      : d_(problem.keys.size()), rows_(std::move(rows)), keys_(rows_.size() * d_) {
    for (std::size_t c = 0; c < d_; ++c) {
      const kernels::KeyColumn& column = problem.keys[c];
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        keys_[i * d_ + c] = column.width == kernels::KeyWidth::bytes4 ? column.as<std::uint32_t>()[rows_[i]]
                                                                      : column.as<std::uint64_t>()[rows_[i]];
      }
    }
  }

  std::size_t size() const { return rows_.size(); }
  RowId row(std::size_t i) const { return rows_[i]; }

  /// The first of these points that dominates point i of `others`.
  std::optional<RowId> dominator(const Points& others, std::size_t i) const {
    const std::uint64_t* point = others.keys_.data() + i * d_;
    for (std::size_t j = 0; j < size(); ++j) {
      if (dominates(keys_.data() + j * d_, point)) return rows_[j];
    }
    return std::nullopt;
  }

 private:
  bool dominates(const std::uint64_t* a, const std::uint64_t* b) const {
    for (std::size_t c = 0; c < d_; ++c) {
      if (a[c] > b[c]) return false;
    }
    return !std::equal(a, a + d_, b);
  }

  std::size_t d_;
  Answer rows_;
  std::vector<std::uint64_t> keys_;
};

std::string form_fault(const Answer& answer, std::size_t n) {
  const auto out_of_range = [n](RowId row) { return row < 0 || static_cast<std::size_t>(row) >= n; };
  if (const auto it = std::ranges::find_if(answer, out_of_range); it != answer.end()) {
    return fmt::format("there is no row {}", *it);
  }
  const auto unordered = std::ranges::adjacent_find(answer, std::greater_equal{});
  if (unordered == answer.end()) return {};
  return fmt::format("row {} comes before row {}", *unordered, *std::next(unordered));
}

Answer sample(const Answer& rows, std::size_t size) {
  std::mt19937_64 engine(1);
  Answer chosen;
  std::ranges::sample(rows, std::back_inserter(chosen), static_cast<std::ptrdiff_t>(size), engine);
  return chosen;
}

Answer all_rows(std::size_t n) {
  Answer rows(n);
  std::iota(rows.begin(), rows.end(), RowId{0});
  return rows;
}

Answer difference(const Answer& a, const Answer& b) {
  Answer rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

Answer intersection(const Answer& a, const Answer& b) {
  Answer shared;
  std::ranges::set_intersection(a, b, std::back_inserter(shared));
  return shared;
}

/// Returns the fault of having (`included`) or not having the given rows in an answer whose true rows are among
/// `judges`.
std::string membership_fault(const Points& judges, const Points& points, bool included) {
  std::vector<std::string> faults(points.size());
  tbb::parallel_for(std::size_t{0}, points.size(), [&](std::size_t i) {
    const std::optional<RowId> dominator = judges.dominator(points, i);
    if (included && dominator) faults[i] = fmt::format("row {} is dominated by row {}", points.row(i), *dominator);
    if (!included && !dominator) faults[i] = fmt::format("row {} is missing: nothing dominates it", points.row(i));
  });
  const auto first = std::ranges::find_if(faults, [](const std::string& fault) { return !fault.empty(); });
  return first == faults.end() ? "" : *first;
}

/// Judges an answer of the right form by itself.
std::string fault_of(const kernels::SkylineProblem& problem, const Answer& answer) {
  const Points members(problem, answer);
  const std::size_t size = std::max(kMinSample, kMaxPairs / std::max<std::size_t>(1, answer.size()));
  std::string fault = membership_fault(members, Points(problem, sample(answer, size)), true);
  if (!fault.empty()) return fault;
  const Answer others = difference(all_rows(problem.n), answer);
  return membership_fault(members, Points(problem, sample(others, size)), false);
}

/// Settles the rows that only some answers have, by all rows of the problem.
void settle_disputes(const kernels::SkylineProblem& problem, std::span<const Answer> answers,
                     std::vector<std::string>& faults) {
  Answer in_some;
  Answer in_all = all_rows(problem.n);
  for (std::size_t a = 0; a < answers.size(); ++a) {
    if (!faults[a].empty()) continue;
    Answer together;
    std::ranges::set_union(in_some, answers[a], std::back_inserter(together));
    in_some = std::move(together);
    in_all = intersection(in_all, answers[a]);
  }
  Answer disputed = difference(in_some, in_all);
  if (disputed.empty()) return;
  if (disputed.size() > kMaxDisputed) disputed.erase(disputed.begin() + kMaxDisputed, disputed.end());
  const Points everything(problem, all_rows(problem.n));
  for (std::size_t a = 0; a < answers.size(); ++a) {
    if (!faults[a].empty()) continue;
    const Points included(problem, intersection(disputed, answers[a]));
    faults[a] = membership_fault(everything, included, true);
    const Points missing(problem, difference(disputed, answers[a]));
    if (faults[a].empty()) faults[a] = membership_fault(everything, missing, false);
  }
}

}  // namespace

std::vector<std::string> judge(const kernels::SkylineProblem& problem, std::span<const Answer> answers) {
  std::vector<std::string> faults;
  for (const Answer& answer : answers) faults.push_back(form_fault(answer, problem.n));
  settle_disputes(problem, answers, faults);
  for (std::size_t a = 0; a < answers.size(); ++a) {
    if (faults[a].empty()) faults[a] = fault_of(problem, answers[a]);
  }
  return faults;
}

}  // namespace skyrank::bench

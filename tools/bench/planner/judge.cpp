#include "tools/bench/planner/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>

#include "planner/cost/models.hpp"
#include "tools/bench/planner/quantile.hpp"

namespace skyrank::bench {
namespace {

constexpr double kMilli = 1e3;

std::string path_of(const planner::CalibrationRun& run) {
  std::string path = run.algorithm;
  for (const auto& [name, value] : run.parameters) path += fmt::format(" {}={}", name, value);
  return path;
}

bool is_reference(const planner::CalibrationRun& run) {
  if (const auto* skyline = std::get_if<kernels::SkylineShape>(&run.shape)) {
    return planner::cost::skyline_model(run.algorithm).is_reference(*skyline);
  }
  return planner::cost::topk_model(run.algorithm).is_reference(std::get<kernels::TopKShape>(run.shape));
}

/// Returns the cheapest run by prediction, with its predicted seconds, of the references or of the other algorithms;
/// null if these have no runs.
std::pair<const planner::CalibrationRun*, double> cheapest(const std::vector<const planner::CalibrationRun*>& runs,
                                                           const planner::PriceList& prices, bool references) {
  std::pair<const planner::CalibrationRun*, double> least{};
  for (const planner::CalibrationRun* run : runs) {
    const std::optional<double> seconds = planner::predict(*run, prices);
    if (!seconds || is_reference(*run) != references) continue;
    if (least.first == nullptr || *seconds < least.second) least = {run, *seconds};
  }
  return least;
}

Verdict judge_query(const std::string& query, const std::vector<const planner::CalibrationRun*>& runs,
                    const planner::PriceList& prices) {
  const planner::CalibrationRun* best = *std::ranges::min_element(runs, {}, &planner::CalibrationRun::seconds);
  auto [chosen, predicted] = cheapest(runs, prices, false);
  if (chosen == nullptr) std::tie(chosen, predicted) = cheapest(runs, prices, true);
  if (chosen == nullptr) return {};
  return {query,
          path_of(*chosen),
          path_of(*best),
          predicted * kMilli,
          chosen->seconds * kMilli,
          best->seconds * kMilli,
          best->planning * kMilli,
          best->statistics.sample > 0};
}

}  // namespace

std::vector<Verdict> judge(const std::vector<planner::CalibrationRun>& runs, const planner::Profile& profile) {
  std::map<std::string, std::vector<const planner::CalibrationRun*>> queries;
  for (const planner::CalibrationRun& run : runs) queries[planner::query_of(run)].push_back(&run);
  const planner::PriceList prices(profile);
  std::vector<Verdict> verdicts;
  for (const auto& [query, its_runs] : queries) {
    // Nothing is known if every path was stopped.
    if (std::ranges::none_of(its_runs, [](const auto* run) { return std::isfinite(run->seconds); })) continue;
    verdicts.push_back(judge_query(query, its_runs, prices));
  }
  return verdicts;
}

Score score_of(const std::vector<Verdict>& verdicts) {
  constexpr double kWithin = 0.25;
  std::vector<double> regrets;
  std::vector<double> shares;
  Score score{.queries = verdicts.size()};
  std::size_t within = 0;
  for (const Verdict& verdict : verdicts) {
    regrets.push_back(verdict.regret());
    within += std::abs(verdict.ratio() - 1) <= kWithin ? 1 : 0;
    if (verdict.statistics && verdict.best_ms < 1) continue;  // an amount that no one notices, whatever its share
    if (verdict.statistics) {
      shares.push_back(verdict.planning_ms / verdict.best_ms);
    } else {
      score.planning_without_ms = std::max(score.planning_without_ms, verdict.planning_ms);
    }
  }
  score.median_regret = quantile(regrets, 0.5);
  score.p95_regret = quantile(regrets, 0.95);
  score.max_regret = quantile(regrets, 1);
  score.within_25_percent = verdicts.empty() ? 0 : static_cast<double>(within) / static_cast<double>(verdicts.size());
  score.p95_planning_share_with = quantile(shares, 0.95);
  return score;
}

std::vector<std::string> shortfalls(const Score& score) {
  std::vector<std::string> list;
  const auto expect = [&](bool reached, std::string sentence) {
    if (!reached) list.push_back(std::move(sentence));
  };
  expect(score.queries >= 200, fmt::format("{} queries are fewer than 200", score.queries));
  expect(score.median_regret <= 1.005, fmt::format("median regret {:.3f} is above 1.00", score.median_regret));
  expect(score.p95_regret <= 1.1, fmt::format("95th percentile of regret {:.3f} is above 1.10", score.p95_regret));
  expect(score.max_regret <= 1.6, fmt::format("greatest regret {:.3f} is above 1.6", score.max_regret));
  expect(score.planning_without_ms < 1,
         fmt::format("planning without statistics took {:.3f} ms, not under 1", score.planning_without_ms));
  expect(score.p95_planning_share_with < 0.02,
         fmt::format("planning with statistics took {:.2f} % of the query, not under 2 %",
                     100 * score.p95_planning_share_with));
  return list;
}

void write_verdicts(std::ostream& out, const std::vector<Verdict>& verdicts) {
  out << "query,chosen,best,predicted_ms,chosen_ms,best_ms,regret,predicted_over_measured,planning_ms,statistics\n";
  for (const Verdict& v : verdicts) {
    out << fmt::format("{},{},{},{:.5g},{:.5g},{:.5g},{:.4g},{:.4g},{:.4g},{}\n", v.query, v.chosen, v.best,
                       v.predicted_ms, v.chosen_ms, v.best_ms, v.regret(), v.ratio(), v.planning_ms,
                       v.statistics ? "yes" : "no");
  }
}

}  // namespace skyrank::bench

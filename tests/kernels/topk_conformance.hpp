#pragma once

#include <gtest/gtest.h>
#include <algorithm>

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Every registered top-k algorithm against the oracle. A program that includes this says which of the registry's
// entries it can run.
namespace skyrank::kernels::tests {

/// The keys of rows, one after the other.
inline Values keys_of(const TopKProblem& problem, std::span<const RowId> rows) {
  Values keys;
  for (const RowId row : rows) {
    for (const KeyColumn& column : problem.keys) keys.push_back(oracle::key_at(column, static_cast<std::size_t>(row)));
  }
  return keys;
}

inline void expect_answer(const TopKProblem& problem, const Vector<RowId>& rows, const std::vector<RowId>& expected) {
  if (problem.ties != TieRule::any) {
    ASSERT_EQ(rows, expected);
    return;
  }
  // Whichever rows, but as many, all of them different, with the same keys, and equal keys by ascending row id.
  ASSERT_EQ(rows.size(), expected.size());
  ASSERT_EQ(std::set<RowId>(rows.begin(), rows.end()).size(), rows.size());
  ASSERT_EQ(keys_of(problem, rows), keys_of(problem, expected));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const bool tie = keys_of(problem, {&rows[i - 1], 1}) == keys_of(problem, {&rows[i], 1});
    ASSERT_TRUE(!tie || rows[i - 1] < rows[i]) << "at place " << i;
  }
}

/// Returns true if a run with these parameters may leave the rows of its answer in any order.
inline bool may_leave_order(const TopKAlgorithm& algorithm, const ParameterValues& values, TieRule ties) {
  const bool has_order =
      std::ranges::find(algorithm.parameters, "ordered", &Parameter::name) != algorithm.parameters.end();
  return has_order && values["ordered"] == 0 && (ties == TieRule::first || ties == TieRule::any);
}

/// Puts rows in the order of their keys and, of equal ones, of themselves.
inline void put_in_order(const TopKProblem& problem, Vector<RowId>& rows) {
  std::ranges::sort(rows, {}, [&](RowId row) { return std::pair(keys_of(problem, {&row, 1}), row); });
}

/// Large enough to be worked on in parts.
inline std::vector<std::pair<Distribution, std::vector<KeyWidth>>> many_rows() {
  return {{Distribution::independent, {k4}}, {Distribution::few_distinct, {k8}},
          {Distribution::all_equal, {k1}},   {Distribution::descending, {k4}},
          {Distribution::ascending, {k4}},   {Distribution::few_distinct, {k2, k4, k8}},
          {Distribution::repeated, {k8, k8}}};
}

/// Few enough for the sanitizers, which are slow here.
inline std::vector<std::pair<std::size_t, TieRule>> some_ks(std::size_t n) {
  return {{1, TieRule::all}, {1000, TieRule::first}, {1000, TieRule::last}, {n / 2, TieRule::first}};
}

class TopKConformance : public testing::TestWithParam<const TopKAlgorithm*> {
 protected:
  void SetUp() override {
    if (GetParam()->device == Device::cuda) skyrank::gpu_testing::require_gpu(cuda::find_devices());
  }

  /// Runs the algorithm in every setting; on the emulator, with its defaults and with one other setting after the
  /// other.
  void expect_oracle(const TopKCase& data, std::size_t k, TieRule ties) {
    const TopKProblem problem = data.problem(k, ties);
    const std::vector<RowId>& expected = answer_to(problem);
    if (!GetParam()->supports(shape_of(problem))) return;
    SCOPED_TRACE("n = " + std::to_string(data.n) + ", k = " + std::to_string(k) + ", tie rule " +
                 std::to_string(static_cast<int>(ties)));
    std::vector<ParameterValues> settings = settings_of(*GetParam());
    if (kEmulated && settings.size() > 2) settings = {settings[0], settings[1 + turn_++ % (settings.size() - 1)]};
    for (const ParameterValues& values : settings) {
      Vector<RowId> rows = GetParam()->run(problem, values, {}).rows;
      if (may_leave_order(*GetParam(), values, ties)) put_in_order(problem, rows);
      ASSERT_NO_FATAL_FAILURE(expect_answer(problem, rows, expected));
    }
  }

  void expect_oracle_for_every_k(const TopKCase& data) {
    std::set<std::size_t> ks{0, 1, 2, 31, 32, 33, data.n / 2, data.n, data.n + 1, std::size_t(-1)};
    if (data.n > 0) ks.insert(data.n - 1);
    for (const std::size_t k : ks) {
      for (const TieRule ties : kTieRules) {
        if (!turns_.skip()) expect_oracle(data, k, ties);
      }
    }
  }

  TopKSolution run(const TopKProblem& problem, const Context& context = {}) const {
    return GetParam()->run(problem, ParameterValues(GetParam()->parameters, {}), context);
  }

  const std::vector<RowId>& answer_to(const TopKProblem& problem) {
    return answers_.next([&] { return oracle::topk(problem); });
  }

 private:
  std::size_t turn_ = 0;
  Turns turns_{7};
  SharedAnswers answers_;
};

TEST_P(TopKConformance, EverySizeAndWidth) {
  for (const std::size_t n : sizes()) {
    for (const KeyWidth width : kWidths) {
      SCOPED_TRACE("bits = " + std::to_string(bits(width)));
      expect_oracle_for_every_k({n, make_columns(Distribution::independent, n, 1, width, n), {width}});
    }
  }
}

TEST_P(TopKConformance, EveryDistribution) {
  for (const Distribution distribution : kDistributions) {
    for (const KeyWidth width : kWidths) {
      SCOPED_TRACE(name_of(distribution) + ", bits = " + std::to_string(bits(width)));
      expect_oracle_for_every_k({300, make_columns(distribution, 300, 1, width, 1), {width}});
    }
  }
}

// Key columns that together with a row id fit in 64 bits, just fit in 128, just do not, and are far from it.
TEST_P(TopKConformance, RankingsOfSeveralKeys) {
  const std::vector<std::vector<KeyWidth>> rankings{
      {k1, k1}, {k4, k2}, {k1, k4, k2}, {k4, k4}, {k8, k1}, {k2, k8, k4, k1}, {k8, k4, k2}, {k8, k8}, {k8, k8, k8, k8}};
  for (const std::vector<KeyWidth>& widths : rankings) {
    for (const Distribution distribution :
         {Distribution::few_distinct, Distribution::extremes, Distribution::independent, Distribution::all_equal,
          Distribution::descending}) {
      SCOPED_TRACE(name_of(distribution) + ", " + std::to_string(widths.size()) + " keys, the first of " +
                   std::to_string(bits(widths.front())) + " bits");
      expect_oracle_for_every_k({257, make_columns(distribution, 257, widths.size(), k8, 4), widths});
    }
  }
}

TEST_P(TopKConformance, LaterKeysDecideOnlyTies) {
  for (const std::vector<KeyWidth>& widths : {std::vector{k4, k2, k1}, std::vector{k8, k4, k1}}) {
    const TopKCase data(5, {{1, 0, 1, 0, 1}, {0, 9, 5, 9, 0}, {3, 2, 0, 1, 2}}, widths);
    const TopKProblem problem = data.problem(4, TieRule::first);
    if (!GetParam()->supports(shape_of(problem))) continue;
    EXPECT_EQ(run(problem).rows, (std::vector<RowId>{3, 1, 4, 0}));
  }
}

TEST_P(TopKConformance, TieRules) {
  const TopKCase data(7, {{5, 3, 5, 5, 1, 5, 9}}, {k4});
  EXPECT_EQ(run(data.problem(4, TieRule::first)).rows, (std::vector<RowId>{4, 1, 0, 2}));
  EXPECT_EQ(run(data.problem(4, TieRule::last)).rows, (std::vector<RowId>{4, 1, 3, 5}));
  EXPECT_EQ(run(data.problem(4, TieRule::all)).rows, (std::vector<RowId>{4, 1, 0, 2, 3, 5}));
  EXPECT_EQ(run(data.problem(4, TieRule::any)).rows.size(), 4u);
}

TEST_P(TopKConformance, CountsWorkOnlyWhenAsked) {
  const TopKCase data(1000, make_columns(Distribution::independent, 1000, 1, k4, 1), {k4});
  const TopKProblem problem = data.problem(10, TieRule::first);
  const TopKSolution counted = run(problem, {.count_work = true, .stop = {}});
  EXPECT_EQ(counted.rows, run(problem).rows);
  EXPECT_GE(counted.work.bytes_read, 4000u);
  EXPECT_GE(counted.work.candidates, 10u);
  EXPECT_LE(counted.work.candidates, 1000u);
  const Work none = run(problem).work;
  EXPECT_EQ(none.bytes_read + none.bytes_written + none.candidates, 0u);
}

TEST_P(TopKConformance, StopsWhenAskedBefore) {
  const std::size_t n = 200000;
  const TopKCase data(n, make_columns(Distribution::independent, n, 1, k4, 1), {k4});
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(run(data.problem(100, TieRule::first), {.count_work = false, .stop = source.get_token()}), Cancelled);
}

}  // namespace skyrank::kernels::tests

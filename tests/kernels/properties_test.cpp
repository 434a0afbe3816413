#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <span>

#include "kernels/common/order.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Tests laws that hold for any data: of the comparators, and of skylines and top-k answers over the whole registry.
namespace skyrank::kernels::tests {
namespace {

using Table = std::vector<Values>;  // columns

/// d columns of n keys; few distinct values, so that ties are common, with both ends of the range among them.
rc::Gen<Table> tables(std::size_t max_rows, std::size_t max_dims) {
  return rc::gen::mapcat(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, max_rows + 1), rc::gen::inRange<std::size_t>(1, max_dims + 1)),
      [](const std::pair<std::size_t, std::size_t>& size) {
        const auto key = rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 6), rc::gen::inRange<std::uint64_t>(0, 1000),
                                        rc::gen::element<std::uint64_t>(0, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000));
        return rc::gen::container<Table>(size.second, rc::gen::container<Values>(size.first, key));
      });
}

KeyWidth any_skyline_width() { return *rc::gen::element(KeyWidth::bytes4, KeyWidth::bytes8); }

std::vector<OrderNode> any_order(std::size_t d) {
  std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
  return random_order(d, engine);
}

/// The skyline of the columns by one algorithm, which must support them.
Vector<RowId> skyline_by(const SkylineAlgorithm& algorithm, const Table& columns, KeyWidth width,
                         const std::vector<OrderNode>& order = {}) {
  const SkylineCase data(columns.front().size(), columns, width, order);
  return algorithm.run(data.problem(), ParameterValues(algorithm.parameters, {}), {}).rows;
}

Table rows_of(const Table& columns, std::span<const RowId> rows) {
  Table taken(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (const RowId row : rows) taken[c].push_back(columns[c][static_cast<std::size_t>(row)]);
  }
  return taken;
}

std::vector<RowId> any_permutation(std::size_t n) {
  std::vector<RowId> rows(n);
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
  std::ranges::shuffle(rows, engine);
  return rows;
}

Outcome reversed(Outcome it) {
  const int value = static_cast<int>(it);
  return outcome((value & 2) != 0, (value & 1) != 0);
}

/// Laws of a strict partial order with equality of keys, for a comparator of three rows.
template <class Compare>
void check_laws(const Values& a, const Values& b, const Values& c, const Compare& compare) {
  RC_ASSERT(compare(a, a) == Outcome::equal);
  RC_ASSERT(compare(a, b) == reversed(compare(b, a)));
  RC_ASSERT((compare(a, b) == Outcome::equal) == (a == b));
  if (compare(a, b) == Outcome::better && compare(b, c) == Outcome::better) {
    RC_ASSERT(compare(a, c) == Outcome::better);
  }
}

std::vector<Values> any_three_rows(std::size_t d) {
  const auto row = rc::gen::container<Values>(d, rc::gen::inRange<std::uint64_t>(0, 3));
  return {*row, *row, *row};
}

RC_GTEST_PROP(Dominance, ParetoLaws, ()) {
  const auto d = *rc::gen::inRange<std::size_t>(1, 6);
  const std::vector<Values> rows = any_three_rows(d);
  check_laws(rows[0], rows[1], rows[2],
             [&](const Values& a, const Values& b) { return compare_pareto(a.data(), b.data(), d); });
}

RC_GTEST_PROP(Dominance, OrderTreeLaws, ()) {
  const auto d = *rc::gen::inRange<std::size_t>(1, 6);
  const Order order(any_order(d), d);
  const std::vector<Values> rows = any_three_rows(d);
  check_laws(rows[0], rows[1], rows[2],
             [&](const Values& a, const Values& b) { return order.compare(a.data(), b.data()); });
}

RC_GTEST_PROP(Dominance, TestsAgreeWithTheComparator, ()) {
  const auto d = *rc::gen::inRange<std::size_t>(1, 6);
  const std::vector<Values> rows = any_three_rows(d);
  const Values& a = rows[0];
  const Values& b = rows[1];
  const Outcome outcome = compare_pareto(a.data(), b.data(), d);
  RC_ASSERT(dominates(a.data(), b.data(), d) == (outcome == Outcome::better));
  if (a != b) RC_ASSERT(dominates_distinct(a.data(), b.data(), d) == (outcome == Outcome::better));
}

/// The algorithms on the CPU that take a Pareto order of d columns.
std::vector<const SkylineAlgorithm*> for_columns(std::size_t d, KeyWidth width) {
  std::vector<const SkylineAlgorithm*> algorithms = on_cpu(skyline_algorithms());
  std::erase_if(algorithms,
                [&](const auto* algorithm) { return !algorithm->supports({.n = 100, .d = d, .width = width}); });
  return algorithms;
}

RC_GTEST_PROP(Skyline, IsTheOracles, ()) {
  const Table columns = *tables(80, 5);
  const KeyWidth width = any_skyline_width();
  const std::size_t d = columns.size();
  const SkylineCase data(columns.front().size(), columns, width,
                         *rc::gen::arbitrary<bool>() ? any_order(d) : std::vector<OrderNode>{});
  const std::vector<RowId> expected = oracle::skyline(data.problem());
  for (const auto* algorithm : on_cpu(skyline_algorithms())) {
    if (!algorithm->supports(shape_of(data.problem()))) continue;
    RC_ASSERT(skyline_by(*algorithm, columns, width, data.order) == expected);
  }
}

RC_GTEST_PROP(Skyline, OfASkylineIsItself, ()) {
  const Table columns = *tables(60, 4);
  const KeyWidth width = any_skyline_width();
  for (const auto* algorithm : for_columns(columns.size(), width)) {
    const Vector<RowId> rows = skyline_by(*algorithm, columns, width);
    RC_ASSERT(skyline_by(*algorithm, rows_of(columns, rows), width).size() == rows.size());
  }
}

RC_GTEST_PROP(Skyline, PermutingRowsChangesOnlyIds, ()) {
  const Table columns = *tables(60, 4);
  const KeyWidth width = any_skyline_width();
  const std::vector<RowId> permutation = any_permutation(columns.front().size());
  for (const auto* algorithm : for_columns(columns.size(), width)) {
    Vector<RowId> rows = skyline_by(*algorithm, rows_of(columns, permutation), width);
    for (RowId& row : rows) row = permutation[static_cast<std::size_t>(row)];
    std::ranges::sort(rows);
    RC_ASSERT(rows == skyline_by(*algorithm, columns, width));
  }
}

RC_GTEST_PROP(Skyline, PermutingDimensionsChangesNothing, ()) {
  const Table columns = *tables(60, 5);
  const KeyWidth width = any_skyline_width();
  Table permuted;
  for (const RowId c : any_permutation(columns.size())) permuted.push_back(columns[static_cast<std::size_t>(c)]);
  for (const auto* algorithm : for_columns(columns.size(), width)) {
    RC_ASSERT(skyline_by(*algorithm, permuted, width) == skyline_by(*algorithm, columns, width));
  }
}

RC_GTEST_PROP(Skyline, AddingADominatedRowChangesNothing, ()) {
  Table columns = *tables(60, 4);
  RC_PRE(!columns.front().empty());
  const auto model = *rc::gen::inRange<std::size_t>(0, columns.front().size());
  const auto worse_in = *rc::gen::inRange<std::size_t>(0, columns.size());
  RC_PRE(columns[worse_in][model] < 0xFFFFFFFF);
  const Table before = columns;
  for (Values& column : columns) column.push_back(column[model]);
  ++columns[worse_in].back();
  for (const auto* algorithm : for_columns(columns.size(), KeyWidth::bytes4)) {
    RC_ASSERT(skyline_by(*algorithm, columns, KeyWidth::bytes4) == skyline_by(*algorithm, before, KeyWidth::bytes4));
  }
}

RC_GTEST_PROP(TopK, IsTheOracles, ()) {
  const Table columns = *tables(80, 4);
  std::vector<KeyWidth> widths;
  for (std::size_t c = 0; c < columns.size(); ++c)
    widths.push_back(*rc::gen::elementOf(std::vector(std::begin(kWidths), std::end(kWidths))));
  const TopKCase data(columns.front().size(), columns, widths);
  const TieRule ties = *rc::gen::element(TieRule::first, TieRule::last, TieRule::all);
  const TopKProblem problem = data.problem(*rc::gen::inRange<std::size_t>(0, data.n + 3), ties);
  const std::vector<RowId> expected = oracle::topk(problem);
  for (const auto* algorithm : on_cpu(topk_algorithms())) {
    if (!algorithm->supports(shape_of(problem))) continue;
    RC_ASSERT(algorithm->run(problem, ParameterValues(algorithm->parameters, {}), {}).rows == expected);
  }
}

RC_GTEST_PROP(TopK, AGreaterKOnlyAppends, ()) {
  const Table columns = *tables(60, 2);
  const TopKCase data(columns.front().size(), columns, std::vector(columns.size(), KeyWidth::bytes4));
  const auto k = *rc::gen::inRange<std::size_t>(0, data.n + 1);
  for (const auto* algorithm : on_cpu(topk_algorithms())) {
    if (!algorithm->supports(shape_of(data.problem(k + 1, TieRule::first)))) continue;
    const ParameterValues values(algorithm->parameters, {});
    const auto less = algorithm->run(data.problem(k, TieRule::first), values, {}).rows;
    const auto more = algorithm->run(data.problem(k + 1, TieRule::first), values, {}).rows;
    RC_ASSERT(more.size() >= less.size());
    RC_ASSERT(std::equal(less.begin(), less.end(), more.begin()));
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/problem.hpp"

// Problems with their data, for the tests of kernels.
namespace skyrank::kernels::tests {

using Values = std::vector<std::uint64_t>;

inline constexpr auto k1 = KeyWidth::bytes1;
inline constexpr auto k2 = KeyWidth::bytes2;
inline constexpr auto k4 = KeyWidth::bytes4;
inline constexpr auto k8 = KeyWidth::bytes8;

/// Columns of keys of given widths.
class Columns {
 public:
  Columns() = default;
  Columns(Columns&&) = default;
  Columns& operator=(Columns&&) = default;

  /// Keeps of each value what fits the width.
  void add(const Values& values, KeyWidth width);
  std::span<const KeyColumn> keys() const { return keys_; }

 private:
  std::vector<std::vector<std::uint64_t>> memory_;  ///< memory of the keys as words, for their alignment
  std::vector<KeyColumn> keys_;
};

/// A skyline problem that owns its data.
struct SkylineCase {
  SkylineCase(std::size_t rows, const std::vector<Values>& columns, KeyWidth width,
              std::vector<OrderNode> order_tree = {});

  SkylineProblem problem() const { return {.n = n, .keys = columns.keys(), .order = order}; }

  std::size_t n;
  Columns columns;
  std::vector<OrderNode> order;
};

/// A top-k problem that owns its data.
struct TopKCase {
  TopKCase(std::size_t rows, const std::vector<Values>& values, const std::vector<KeyWidth>& widths);

  TopKProblem problem(std::size_t k, TieRule ties) const {
    return {.n = n, .keys = columns.keys(), .k = k, .ties = ties};
  }

  std::size_t n;
  Columns columns;
};

inline constexpr TieRule kTieRules[] = {TieRule::first, TieRule::last, TieRule::all, TieRule::any};
inline constexpr KeyWidth kWidths[] = {KeyWidth::bytes1, KeyWidth::bytes2, KeyWidth::bytes4, KeyWidth::bytes8};

/// Kinds of data that a skyline or top-k algorithm may trip over.
enum class Distribution {
  independent,     ///< the whole range of the width
  correlated,      ///< columns nearly equal
  anticorrelated,  ///< rows near a plane of equal sums
  equal_sums,      ///< exactly equal sums: every row a permutation of the same keys
  few_distinct,    ///< three values
  all_equal,
  ascending,   ///< every row dominates all later ones
  descending,  ///< every row is dominated by all later ones
  extremes,    ///< the least and the greatest key, and little between
  repeated,    ///< every row several times
  skewed,      ///< columns of very different ranges
};

inline constexpr Distribution kDistributions[] = {
    Distribution::independent,  Distribution::correlated, Distribution::anticorrelated, Distribution::equal_sums,
    Distribution::few_distinct, Distribution::all_equal,  Distribution::ascending,      Distribution::descending,
    Distribution::extremes,     Distribution::repeated,   Distribution::skewed};

std::string name_of(Distribution distribution);

/// d columns of n keys that fit `width`.
std::vector<Values> make_columns(Distribution distribution, std::size_t n, std::size_t d, KeyWidth width,
                                 std::uint64_t seed);

/// A random order tree with one leaf for each of d columns, in random order.
std::vector<OrderNode> random_order(std::size_t d, std::mt19937_64& engine);

}  // namespace skyrank::kernels::tests

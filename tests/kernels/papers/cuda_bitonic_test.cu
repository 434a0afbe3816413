#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "kernels/common/keys.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/papers/cuda/topk/bitonic/fused.cuh"
#include "tests/kernels/cuda/device_copies.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Tests parts of bitonic top-k on the GPU that the conformance suite does not reach: each of the kernels for bare keys,
// on many tiles, and FusedSortReducer, with a weighted sum as ranking function and a bound as filter.
namespace skyrank::kernels::tests {
namespace {

using cuda::Buffer;
using cuda::DeviceContext;

constexpr int kColumns = 3;

/// Rows with a first column below a bound, by the weighted sum of all columns, highest first.
struct WeightedSum {
  const float* columns[kColumns];
  float weights[kColumns];
  float bound;

  SKYRANK_HD bool operator()(std::size_t row, std::uint32_t& key) const {
    if (!(columns[0][row] < bound)) return false;
    float sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += weights[c] * columns[c][row];
    key = float_key(std::bit_cast<std::uint32_t>(sum), true);
    return true;
  }

  template <int kCount>
  __device__ unsigned look(const cuda::topk::network::SpacedRows& rows, std::uint32_t (&keys)[kCount]) const {
    unsigned taking = 0;
    for (int i = 0; i < kCount; ++i) taking |= (rows.has(i) && (*this)(rows[i], keys[i]) ? 1u : 0u) << i;
    return taking;
  }
};

/// Few values, so that there are ties.
std::vector<std::vector<float>> random_columns(std::size_t n) {
  std::mt19937 engine(7);
  std::vector<std::vector<float>> columns(kColumns, std::vector<float>(n));
  for (auto& column : columns) {
    for (float& value : column) value = static_cast<float>(engine() % 100) / 100;
  }
  return columns;
}

/// The k least elements of the rows that take part, and how many rows these are.
template <class Element>
struct Least {
  std::vector<Element> elements;
  unsigned long long taken = 0;

  bool operator==(const Least&) const = default;
};

/// Runs `source`, which is over columns on the device.
template <class E, class Source>
Least<typename E::Element> least_of_source(const Source& source, std::size_t n, const E& elements, std::size_t k) {
  DeviceContext& device = DeviceContext::of_process();
  const cuda::Lease lease(device);
  auto chosen = device.allocate<typename E::Element>(k);
  const Buffer<unsigned long long> taken = on_device(std::vector<unsigned long long>{0}, device);
  cuda::topk::network::least_of_source(device, source, n, elements, k, chosen.data(), taken.data());
  device.synchronize();
  Least<typename E::Element> found{std::vector<typename E::Element>(k)};
  device.transfer().download(found.elements.data(), chosen.data(), chosen.bytes());
  device.transfer().download(&found.taken, taken.data(), taken.bytes());
  return found;
}

/// By the definition.
template <class E, class Source>
Least<typename E::Element> expected(const Source& source, std::size_t n, const E& elements, std::size_t k) {
  Least<typename E::Element> least;
  for (std::size_t row = 0; row < n; ++row) {
    typename E::Key key = 0;
    if (source(row, key)) least.elements.push_back(elements.of(key, row));
  }
  least.taken = least.elements.size();
  std::ranges::sort(least.elements);
  least.elements.resize(k, cuda::topk::kNoElement<typename E::Element>);
  return least;
}

template <class E>
void expect_same(std::size_t n, std::size_t k, float bound, bool last) {
  const std::vector<std::vector<float>> columns = random_columns(n);
  DeviceContext& device = DeviceContext::of_process();
  WeightedSum of_host{{}, {0.5f, 1.0f, -0.25f}, bound};
  WeightedSum of_device = of_host;
  std::vector<Buffer<float>> copies;
  for (int c = 0; c < kColumns; ++c) {
    copies.push_back(on_device(columns[c], device));
    of_host.columns[c] = columns[c].data();
    of_device.columns[c] = copies.back().data();
  }
  E elements;
  elements.complement = last ? E::kRowMask : 0;
  const auto found = least_of_source(of_device, n, elements, k);
  EXPECT_TRUE(found == expected(of_host, n, elements, k))
      << "n = " << n << ", k = " << k << ", bound = " << bound << (last ? ", last" : ", first");
}

TEST(FusedBitonic, KeepsTheBestOfTheRowsThatPass) {
  for (const std::size_t n : {1, 31, 1000, 2048, 5000, 40000}) {
    for (const std::size_t k : {1, 10, 32, 300}) {
      for (const float bound : {0.0f, 0.01f, 0.5f, 1.0f}) {
        for (const bool last : {false, true}) expect_same<cuda::topk::ShortElements>(n, k, bound, last);
      }
    }
  }
}

TEST(FusedBitonic, LargestK) {
  for (const float bound : {0.02f, 1.0f}) expect_same<cuda::topk::ShortElements>(40000, 2048, bound, false);
}

TEST(FusedBitonic, WideElements) { expect_same<cuda::topk::ManyElements>(10000, 100, 0.7f, true); }

TEST(FusedBitonic, NoRows) {
  const WeightedSum none{};
  EXPECT_EQ(least_of_source(none, 0, cuda::topk::ShortElements{}, 3).elements,
            (std::vector<std::uint64_t>(3, cuda::topk::kNoElement<std::uint64_t>)));
}

Vector<RowId> solve(const TopKProblem& problem, std::int64_t bare_keys = 1) {
  const auto all = cuda::topk_algorithms();
  const TopKAlgorithm& bitonic = **std::ranges::find(all, "cuda-bitonic", &TopKAlgorithm::name);
  return bitonic.run(problem, ParameterValues(bitonic.parameters, {{"bare_keys", bare_keys}}), {}).rows;
}

TEST(Bitonic, LeavesRowIdsAsideOnlyWhereAsked) {
  const auto all = cuda::topk_algorithms();
  const TopKAlgorithm& bitonic = **std::ranges::find(all, "cuda-bitonic", &TopKAlgorithm::name);
  EXPECT_EQ(ParameterValues(bitonic.parameters, {})["bare_keys"], 0) << "the paper's algorithm";
}

// Longer than a block's shared memory has room for, as the authors of Dr. Top-k extended it.
TEST(Bitonic, LongRunsInGlobalMemory) {
  const std::size_t n = 20001;
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct}) {
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      const TopKCase data(n, make_columns(distribution, n, 1, width, 5), {width});
      for (const std::size_t k : {std::size_t{2049}, std::size_t{5000}, std::size_t{16384}, n - 1}) {
        const TopKProblem problem = data.problem(k, k % 2 == 0 ? TieRule::first : TieRule::last);
        EXPECT_EQ(solve(problem, 0), oracle::topk(problem)) << name_of(distribution) << bits(width) << ", k = " << k;
      }
    }
  }
}

TEST(BareKeys, SameAnswerAsTheOracleForEveryRunLength) {
  const std::size_t n = 40001;  // the last tile is cut short, whatever its size
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct, Distribution::extremes,
                                          Distribution::all_equal, Distribution::descending}) {
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      const TopKCase data(n, make_columns(distribution, n, 1, width, 3), {width});
      for (const std::size_t k : {1, 32, 50, 128, 200, 500, 1024, 2048}) {
        for (const TieRule ties : {TieRule::first, TieRule::last}) {
          const TopKProblem problem = data.problem(k, ties);
          EXPECT_EQ(solve(problem), oracle::topk(problem))
              << name_of(distribution) << ", bits = " << bits(width) << ", k = " << k
              << (ties == TieRule::last ? ", last" : ", first");
        }
      }
    }
  }
}

// Elements that tiles leave fill tiles again.
TEST(BareKeys, SeveralRounds) {
  const std::size_t n = 300001;
  for (const Distribution distribution : {Distribution::independent, Distribution::all_equal}) {
    const TopKCase data(n, make_columns(distribution, n, 1, KeyWidth::bytes4, 4), {KeyWidth::bytes4});
    for (const std::size_t k : {1, 32, 60, 100, 250, 500, 1024, 2048}) {
      const TopKProblem problem = data.problem(k, TieRule::last);
      EXPECT_EQ(solve(problem), oracle::topk(problem)) << name_of(distribution) << ", k = " << k;
    }
  }
}

// The last tile holds nothing but the greatest key there is, which also stands for rows that do not exist.
TEST(BareKeys, GreatestKeyIsAKeyLikeOthers) {
  const std::size_t n = 2048 + 40;
  Values keys(n, 0xffffffff);
  keys[2050] = 7;
  const TopKCase data(n, {keys}, {KeyWidth::bytes4});
  for (const TieRule ties : {TieRule::first, TieRule::last}) {
    const TopKProblem problem = data.problem(60, ties);
    EXPECT_EQ(solve(problem), oracle::topk(problem));
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/rank_bins.cuh"
#include "tests/kernels/cuda/device_copies.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Candidates in bins: that bins are in the order of elements, that what they hold is put in order wherever it lies, and
// the path that uses them.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::BinRule;
using cuda::topk::Bins;
using cuda::topk::Guess;
using cuda::topk::kBins;
using cuda::topk::kMaxKnots;
using cuda::topk::Uint128;

/// Elements of rows below `rows`, with keys that `key` gives.
template <class E, class Key>
std::vector<typename E::Element> elements_of(std::size_t rows, bool last_first, Key key) {
  const E kind{nullptr, last_first ? E::kRowMask : typename E::Element{0}};
  std::vector<typename E::Element> elements(rows);
  for (std::size_t row = 0; row < rows; ++row) elements[row] = kind.of(static_cast<typename E::Key>(key(row)), row);
  return elements;
}

/// The bin of an element as the path asks for it, of a rule with knots.
template <class E>
class BinOf {
 public:
  using Element = typename E::Element;

  explicit BinOf(const BinRule<Element>& rule) : rule_(rule) {
    for (unsigned i = 0; i < rule.count; ++i) knots_.set_knot(rule, i);
    knots_.set_low_scale(rule);
  }

  unsigned operator()(Element element) const { return knots_.bin_of(rule_, element); }

 private:
  BinRule<Element> rule_;
  cuda::topk::KnotsOfBlock<Element> knots_{};
};

cuda::topk::BinPlan bins_for(unsigned knots, std::size_t candidates) {
  return cuda::topk::plan_bins(
      {.blocks = 1, .rows = 16, .group = 16, .rank = knots, .expected = candidates, .capacity = 4 * candidates});
}

/// Expects that the bins of elements up to the greatest of `knots` sampled ones, among the least `among`, do not fall.
template <class E>
void expect_rising(std::vector<typename E::Element> elements, bool last_first, unsigned knots, std::size_t candidates,
                   std::size_t among = ~std::size_t{0}) {
  using Element = typename E::Element;
  const cuda::topk::BinPlan plan = bins_for(knots, candidates);
  std::mt19937_64 engine(elements.size());
  const std::size_t rows = elements.size();
  std::ranges::sort(elements);
  elements.resize(std::min(among, rows));
  std::vector<Element> sample;
  std::ranges::sample(elements, std::back_inserter(sample), knots, engine);
  const BinRule<Element> rule{.knots = sample.data(),
                              .count = knots,
                              .width = plan.width,
                              .low_bins = plan.low_bins,
                              .first = last_first ? static_cast<std::uint64_t>(E::kRowMask) - (rows - 1) : 0,
                              .rows = rows};
  const BinOf<E> bin_of(rule);
  unsigned previous = 0;
  for (const Element element : elements) {
    if (element > sample.back()) break;
    const unsigned bin = bin_of(element);
    ASSERT_LT(bin, plan.count);
    ASSERT_GE(bin, previous);
    previous = bin;
  }
}

template <class E>
void expect_rising_for_many_keys() {
  std::mt19937_64 engine(1);
  for (const bool last_first : {false, true}) {
    for (const unsigned knots : {1u, 2u, 9u, 33u, kMaxKnots}) {
      SCOPED_TRACE(std::to_string(knots) + " knots");
      const auto expect = [&](auto key) {
        for (const std::size_t candidates : {5'000, 50'000}) {
          expect_rising<E>(elements_of<E>(5000, last_first, key), last_first, knots, candidates);
        }
      };
      expect([&](std::size_t) { return engine(); });
      expect([&](std::size_t row) { return row; });
      expect([&](std::size_t) { return 7; });
      expect([&](std::size_t) { return engine() % 3; });
      expect([&](std::size_t) { return 1'000'000 + engine() % 40; });
      expect([&](std::size_t) { return ~std::uint64_t{0}; });
      expect([&](std::size_t) { return engine() >> engine() % 64; });
    }
  }
}

TEST(BinRule, RisesWithTheElement) {
  expect_rising_for_many_keys<cuda::topk::ShortElements>();
  expect_rising_for_many_keys<cuda::topk::LongElements>();
  expect_rising_for_many_keys<cuda::topk::ManyElements>();
  expect_rising_for_many_keys<cuda::topk::ByteElements>();
  expect_rising_for_many_keys<cuda::topk::HalfElements>();
}

/// The elements in the largest bin, of those up to the last knot. Every `step`-th one from the `first` on is a knot.
template <class E>
unsigned largest_bin(std::vector<typename E::Element> elements, std::size_t first, std::size_t step) {
  std::ranges::sort(elements);
  std::uint64_t first_row = ~std::uint64_t{0};
  for (const auto element : elements) {
    first_row = std::min(first_row, static_cast<std::uint64_t>(element & E::kRowMask));
  }
  std::vector<typename E::Element> knots;
  for (std::size_t i = first; i < elements.size() && knots.size() < kMaxKnots; i += step) knots.push_back(elements[i]);
  const auto count = static_cast<unsigned>(knots.size());
  const cuda::topk::BinPlan plan = bins_for(count, elements.size());
  const BinRule<typename E::Element> rule{.knots = knots.data(),
                                          .count = count,
                                          .width = plan.width,
                                          .low_bins = plan.low_bins,
                                          .first = first_row,
                                          .rows = elements.size()};
  const BinOf<E> bin_of(rule);
  std::vector<unsigned> sizes(kBins);
  for (const auto element : elements) {
    if (element <= knots.back()) ++sizes[bin_of(element)];
  }
  return *std::ranges::max_element(sizes);
}

TEST(BinRule, DividesWhatIsBelowAllKnotsAsFinely) {
  constexpr std::size_t kRows = 40'000;
  std::mt19937_64 engine(2);
  const auto random = [&](std::size_t) { return engine(); };
  // Ten elements in a bin in the mean, and three intervals' below all knots.
  EXPECT_LT(
      largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, random), 1800, 600),
      40U);
  // Most elements below all knots, ever fewer the farther away.
  const auto tail = [&](std::size_t) {
    const double part = std::ldexp(static_cast<double>(engine() >> 12 | 1), -52);
    return static_cast<std::uint64_t>(std::max(0x1p62 + 0x1p58 * std::log(part), 1.0));
  };
  EXPECT_LT(largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, tail), 4500, 600),
            100U);
  // A few elements in a bin, of eight knots.
  EXPECT_LT(
      largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, random), 4500, 4500),
      40U);
  EXPECT_LT(
      largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, random), 14000, 3500),
      40U);
  EXPECT_LT(
      largest_bin<cuda::topk::ShortElements>(elements_of<cuda::topk::ShortElements>(kRows, false, random), 3000, 4500),
      64U);
}

// Between knots some of the rare ones have none of their own.
TEST(BinRule, DividesIntegersByTheirRows) {
  constexpr std::size_t kRows = 200'000;
  std::mt19937_64 engine(5);
  const auto bell = [&](std::size_t) { return 1'000'000 + static_cast<std::uint64_t>(std::popcount(engine())); };
  for (const std::size_t first : {10, 50, 90}) {
    SCOPED_TRACE(first);
    EXPECT_LT(
        largest_bin<cuda::topk::ShortElements>(elements_of<cuda::topk::ShortElements>(kRows, false, bell), first, 700),
        100U);
    EXPECT_LT(
        largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, true, bell), first, 700),
        100U);
  }
  // Several of them below all knots.
  EXPECT_LT(largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, bell), 3000, 700),
            50U);
  // One knot far below the others.
  const auto with_least = [&](std::size_t row) { return row == 0 ? 1'000'000 - 8 : bell(row); };
  EXPECT_LT(
      largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, with_least), 0, 700),
      300U);
}

// Keys of which several knots have one, so that most elements between knots of two keys have either.
TEST(BinRule, DividesFewKeysByTheirRows) {
  constexpr std::size_t kRows = 200'000;
  std::mt19937_64 engine(7);
  const auto few = [&](std::size_t) { return (engine() % 16) << 20; };
  EXPECT_LT(largest_bin<cuda::topk::ShortElements>(elements_of<cuda::topk::ShortElements>(kRows, false, few), 350, 700),
            64U);
  EXPECT_LT(largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, true, few), 350, 700),
            64U);
}

TEST(BinRule, DividesRowsOfKeyZeroBelowAllKnots) {
  constexpr std::size_t kRows = 40'000;
  std::mt19937_64 engine(4);
  const auto clipped = [&](std::size_t row) { return row % 16 == 0 ? 0 : engine() | 1; };
  EXPECT_LT(
      largest_bin<cuda::topk::LongElements>(elements_of<cuda::topk::LongElements>(kRows, false, clipped), 4500, 4500),
      64U);
  EXPECT_LT(
      largest_bin<cuda::topk::ShortElements>(elements_of<cuda::topk::ShortElements>(kRows, false, clipped), 4500, 4500),
      64U);
}

/// Bins of some sizes, filled as a scan leaves them.
template <class Element>
struct FilledBins {
  static constexpr unsigned kRoom = 32;

  std::vector<unsigned> sizes = std::vector<unsigned>(cuda::topk::kSizesOfBins);
  std::vector<Element> elements = std::vector<Element>(std::size_t{kBins} * kRoom);
  std::vector<Element> beyond;
  std::vector<uint2> places;
  std::vector<Element> all;  ///< in order

  /// `made` are bins and their sizes; elements rise with their numbers.
  explicit FilledBins(const std::vector<std::pair<unsigned, unsigned>>& made) {
    std::mt19937_64 engine(made.size());
    std::uint64_t next = 1;
    for (const auto& [bin, size] : made) {
      std::vector<Element> own(size);
      for (Element& element : own) element = static_cast<Element>(next++) << 20;
      all.insert(all.end(), own.begin(), own.end());
      std::ranges::shuffle(own, engine);
      sizes[cuda::topk::place_of_size(bin)] = size;
      for (unsigned i = 0; i < size; ++i) {
        if (i < kRoom) {
          elements[bin * kRoom + i] = own[i];
          continue;
        }
        beyond.push_back(own[i]);
        places.push_back({bin, i});
      }
    }
    sizes[cuda::topk::place_of_size(kBins)] = static_cast<unsigned>(beyond.size());
  }
};

template <class Element>
struct RankedBins {
  std::vector<Element> elements;
  bool failed;
};

template <bool kLittle = false, class Element>
RankedBins<Element> rank(const FilledBins<Element>& filled, std::size_t k, unsigned beyond_room,
                         unsigned count = kBins) {
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto sizes = on_device(filled.sizes, device);
  const auto elements = on_device(filled.elements, device);
  const auto beyond = on_device(filled.beyond, device);
  const auto places = on_device(filled.places, device);
  const auto guess = on_device(std::vector<Guess<Element>>(1), device);
  const auto answer = on_device(std::vector<Element>(k), device);
  device.synchronize();
  const Bins<Element> bins{.rule = {},
                           .sizes = sizes.data(),
                           .elements = elements.data(),
                           .count = count,
                           .room = FilledBins<Element>::kRoom,
                           .beyond = beyond.data(),
                           .places = places.data(),
                           .beyond_room = beyond_room};
  const std::size_t shared_bytes = cuda::topk::BinShare<Element, kLittle>::shared_bytes();
  cuda::launch("rank_bins", cuda::topk::rank_bins<Element, kLittle>,
               {.blocks = 5, .threads = cuda::topk::kRankThreads, .shared_bytes = shared_bytes}, device.stream(), bins,
               guess.data(), {.answer = {.elements = answer.data(), .rows = nullptr, .k = k}});
  return {on_host(answer, device), on_host(guess, device).front().failed != 0};
}

template <class Element>
void expect_ranked(const std::vector<std::pair<unsigned, unsigned>>& made) {
  const FilledBins<Element> filled(made);
  const auto most = static_cast<unsigned>(filled.beyond.size());
  for (const std::size_t k : {std::size_t{1}, filled.all.size() / 2, filled.all.size()}) {
    SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(filled.all.size()));
    const RankedBins<Element> ranked = rank(filled, k, most);
    EXPECT_FALSE(ranked.failed);
    EXPECT_TRUE(std::ranges::equal(ranked.elements, std::span(filled.all).first(k)));
  }
  EXPECT_TRUE(rank(filled, filled.all.size() + 1, most).failed);
  if (most > 0) {
    EXPECT_TRUE(rank(filled, 1, most - 1).failed);
  }
}

TEST(RankBins, OfEverySize) {
  expect_ranked<std::uint64_t>({{0, 1}});
  expect_ranked<std::uint64_t>({{kBins - 1, 20}});
  expect_ranked<std::uint64_t>({{3, 32}, {4, 1}, {100, 33}, {4000, 200}, {8000, 31}});
  expect_ranked<Uint128>({{3, 32}, {4, 1}, {100, 33}, {4000, 512}, {8000, 513}});
  std::vector<std::pair<unsigned, unsigned>> all;
  for (unsigned bin = 0; bin < kBins; ++bin) all.emplace_back(bin, bin % 4);
  expect_ranked<std::uint64_t>(all);
}

TEST(RankBins, OfFewBins) {
  const FilledBins<Uint128> filled({{0, 3}, {1, 1}, {700, 40}, {2046, 300}, {cuda::topk::kFewBins - 1, 5}});
  const auto most = static_cast<unsigned>(filled.beyond.size());
  const RankedBins<Uint128> ranked = rank(filled, filled.all.size(), most, cuda::topk::kFewBins);
  EXPECT_FALSE(ranked.failed);
  EXPECT_EQ(ranked.elements, filled.all);
  EXPECT_TRUE(rank(filled, filled.all.size() + 1, most, cuda::topk::kFewBins).failed);
}

// Bins of 129 to 512 elements are looked up in sorted runs of 32, which begin and end anywhere in a bin.
TEST(RankBins, MiddlingOnesByRuns) {
  for (const unsigned size : {128u, 129u, 160u, 200u, 511u, 512u}) {
    expect_ranked<std::uint64_t>({{7, size}});
    expect_ranked<std::uint64_t>({{2, 1}, {7, size}, {8, 1}, {9, 2}});
    expect_ranked<Uint128>({{2, 31}, {7, size}, {8, size}, {9, 33}, {11, 512}, {500, size}});
  }
}

TEST(RankBins, LargeOnesAreSorted) {
  expect_ranked<std::uint64_t>({{3, 30}, {100, 1500}, {101, 7000}, {102, 9000}});
  expect_ranked<Uint128>({{3, 30}, {100, 1500}, {101, 5000}});
}

TEST(RankBins, TellsWhenABlockHasNoRoom) {
  EXPECT_TRUE(
      rank(FilledBins<std::uint64_t>({{5, cuda::topk::BinShare<std::uint64_t>::kRoom + 1}}), 10, 20'000).failed);
}

// A block with less shared memory may have a smaller share.
template <class Element>
void expect_ranked_with_little() {
  constexpr unsigned kMost = cuda::topk::BinShare<Element, true>::kRoom;
  static_assert(cuda::topk::BinShare<Element, true>::shared_bytes() < std::size_t{96} * 1024);
  using Sizes = std::vector<std::pair<unsigned, unsigned>>;
  for (const Sizes& made :
       {Sizes{{3, 32}, {4, 1}, {100, 33}, {4000, 200}}, Sizes{{7, 129}, {8, 300}, {9, 512}},
        Sizes{{2, 5}, {3, 513}, {4, 1024}, {6, 90}}, Sizes{{3, 30}, {100, 1025}, {101, 20}}, Sizes{{3, kMost}}}) {
    const FilledBins<Element> filled(made);
    const RankedBins<Element> ranked =
        rank<true>(filled, filled.all.size(), static_cast<unsigned>(filled.beyond.size()));
    EXPECT_FALSE(ranked.failed) << made.front().second;
    EXPECT_EQ(ranked.elements, filled.all) << made.front().second;
  }
  EXPECT_TRUE(rank<true>(FilledBins<Element>({{5, kMost + 1}}), 10, 20'000).failed);
}

TEST(RankBins, WithLittleSharedMemory) {
  expect_ranked_with_little<std::uint64_t>();
  expect_ranked_with_little<Uint128>();
}

// The path that uses them, which reads the keys once unless its guess is wrong.
class BinnedSelection : public testing::Test {
 protected:
  static void expect_oracle(const TopKCase& data, std::size_t k, TieRule ties, std::size_t bytes_of_key) {
    const TopKProblem problem = data.problem(k, ties);
    const Context context{.count_work = true, .stop = {}};
    const TopKSolution solution = algorithm().run(problem, ParameterValues(algorithm().parameters, {}), context);
    EXPECT_EQ(solution.rows, oracle::topk(problem)) << "k = " << k;
    EXPECT_LT(solution.work.bytes_read, 2 * problem.n * bytes_of_key + 2 * 4096 * 32) << "k = " << k;
  }

  static const TopKAlgorithm& algorithm() {
    for (const TopKAlgorithm* const entry : cuda::topk_algorithms()) {
      if (entry->name == "cuda-sampled-threshold") return *entry;
    }
    throw std::logic_error("no such algorithm");
  }
};

TEST_F(BinnedSelection, OfEveryDistribution) {
  constexpr std::size_t kRows = 30'000;
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    for (const KeyWidth width : {KeyWidth::bytes1, KeyWidth::bytes2, KeyWidth::bytes4, KeyWidth::bytes8}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 5), {width});
      expect_oracle(data, 2500, TieRule::first, 8);
    }
    // Narrow keys are read as they are whatever ties ask for.
    for (const KeyWidth width : {KeyWidth::bytes1, KeyWidth::bytes2}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 7), {width});
      for (const TieRule ties : {TieRule::last, TieRule::all}) {
        expect_oracle(data, 30, ties, 8);
        expect_oracle(data, 2500, ties, 8);
      }
    }
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, KeyWidth::bytes4, 6), {KeyWidth::bytes4});
    expect_oracle(data, 7500, TieRule::last, 4);
    expect_oracle(data, 5000, TieRule::all, 4);
  }
}

// Few elements of the sample are below the threshold: the bins below all of them hold most of what is wanted.
TEST_F(BinnedSelection, OfFewAmongMany) {
  constexpr std::size_t kRows = (std::size_t{1} << 20) + 77;
  for (const Distribution distribution :
       {Distribution::independent, Distribution::ascending, Distribution::descending, Distribution::few_distinct,
        Distribution::all_equal, Distribution::repeated}) {
    SCOPED_TRACE(name_of(distribution));
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 8), {width});
      expect_oracle(data, 1000, TieRule::first, 8);
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests

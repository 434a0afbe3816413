#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>

#include "kernels/common/keys.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"
#include "kernels/cpu/topk/ranks.hpp"
#include "kernels/cpu/topk/sample.hpp"
#include "kernels/cpu/topk/scan.hpp"
#include "kernels/registry.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Tests the parts of top-k algorithms, and inputs that are large enough to be sampled.
namespace skyrank::kernels::tests {
namespace {

template <class Test>
std::vector<std::uint32_t> offsets_where(const KeyColumn& keys, std::size_t begin, std::size_t end, const Test& test) {
  std::vector<std::uint32_t> offsets;
  for (std::size_t row = begin; row < end; ++row) {
    if (test(oracle::key_at(keys, row))) offsets.push_back(static_cast<std::uint32_t>(row - begin));
  }
  return offsets;
}

TEST(Scan, FindsWhatALoopFinds) {
  for (const KeyWidth width : kWidths) {
    for (const Distribution distribution : {Distribution::independent, Distribution::extremes, Distribution::all_equal,
                                            Distribution::few_distinct, Distribution::ascending}) {
      for (const std::size_t n : {0, 1, 63, 64, 65, 127, 128, 200, 8191, 8192, 8193, 20000}) {
        SCOPED_TRACE(name_of(distribution) + ", bits = " + std::to_string(bits(width)) + ", n = " + std::to_string(n));
        Columns columns;
        columns.add(make_columns(distribution, n, 1, width, 7).front(), width);
        const KeyColumn keys = columns.keys().front();
        std::set<std::uint64_t> probes{0, 1, ~std::uint64_t{0} >> (64 - bits(width))};
        for (const std::size_t row : {n / 3, n / 2}) {
          if (row < n) probes.insert(oracle::key_at(keys, row));
        }
        for (const std::uint64_t probe : probes) {
          for (const std::size_t begin : {std::size_t{0}, std::min<std::size_t>(n, 3)}) {
            std::vector<std::uint32_t> found(n);
            found.resize(topk::find_at_most(keys, begin, n, probe, found.data()));
            ASSERT_EQ(found, offsets_where(keys, begin, n, [&](std::uint64_t key) { return key <= probe; }));
            found.resize(n);
            found.resize(topk::find_equal(keys, begin, n, probe, found.data()));
            ASSERT_EQ(found, offsets_where(keys, begin, n, [&](std::uint64_t key) { return key == probe; }));
          }
        }
      }
    }
  }
}

template <class Bits>
void expect_floats_found(std::size_t n) {
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  constexpr Bits kInfinity = kInfinityBits<Bits>;
  constexpr Bits kOne = static_cast<Bits>(kInfinity / 2 + 1) & kInfinity;
  const std::vector<Bits> edges{0, 1, kOne, kInfinity - 1, kInfinity, kInfinity + 1, kSign - 1};
  std::mt19937_64 engine(n);
  std::vector<Bits> values(n);
  for (Bits& value : values) {
    value = engine() % 2 == 0 ? static_cast<Bits>(engine()) : edges[engine() % edges.size()];
    if (engine() % 2 == 0) value ^= kSign;
  }
  for (const bool high : {false, true}) {
    std::set<Bits> limits{0, kNullKey<Bits>, kNanKey<Bits>, kNanKey<Bits> - 1};
    for (const Bits edge : edges) {
      for (const Bits sign : {Bits{0}, kSign}) {
        const Bits key = float_key(static_cast<Bits>(edge ^ sign), high);
        limits.insert({key, static_cast<Bits>(key - 1), static_cast<Bits>(key + 1)});
      }
    }
    std::vector<Bits> keys;
    for (const Bits value : values) keys.push_back(float_key(value, high));
    const auto width = static_cast<KeyWidth>(sizeof(Bits));
    for (const Bits limit : limits) {
      for (const std::size_t begin : {std::size_t{0}, std::min<std::size_t>(n, 3)}) {
        std::vector<std::uint32_t> found(n);
        found.resize(topk::find_at_most(FloatColumn{values.data(), width, high}, begin, n, limit, found.data()));
        const KeyColumn column{keys.data(), width};
        ASSERT_EQ(found, offsets_where(column, begin, n, [&](std::uint64_t key) { return key <= limit; }))
            << "bits = " << bits(width) << ", n = " << n << ", high = " << high << ", limit = " << limit;
      }
    }
  }
}

TEST(Scan, FindsFloatsByTheirKeys) {
  for (const std::size_t n : {0, 1, 63, 64, 65, 200, 8193, 20000}) {
    expect_floats_found<std::uint32_t>(n);
    expect_floats_found<std::uint64_t>(n);
  }
}

template <class Bits>
void expect_sorted(std::size_t n, int digits, int lowest) {
  std::mt19937_64 engine(n);
  Scratch<Bits> values(n);
  for (Bits& value : values) value = static_cast<Bits>(static_cast<Bits>(engine()) << (engine() % 3)) >> (64 - digits);
  Scratch<Bits> expected = values;
  std::ranges::stable_sort(expected, [&](Bits a, Bits b) { return a >> lowest < b >> lowest; });
  topk::RadixSort<Bits>::sort(values, lowest, {});
  EXPECT_TRUE(values == expected) << n << " values of " << digits << " bits from bit " << lowest;
}

TEST(RadixSort, SortsStablyByTheUpperBits) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 3);
  Turns turns(4);
  for (const int threads : thread_counts({1, 3})) {
    tbb::task_arena(threads).execute([&] {
      for (const std::size_t n : {1, 2, 1000, 65536, 100001}) {
        for (const int digits : {1, 8, 9, 33, 64}) {
          for (const int lowest : {0, 5, 8}) {
            if (turns.skip()) continue;
            expect_sorted<std::uint64_t>(n, digits, lowest);
            expect_sorted<topk::uint128>(n, digits, lowest);
          }
        }
      }
    });
  }
}

TEST(Sample, PositionsAreSpreadOverAllRows) {
  for (const auto& [count, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {7, 7}, {5, 99}, {4096, 10000000}}) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_GE(topk::sampled_position(i, count, n), n / count * i);
      EXPECT_LT(topk::sampled_position(i, count, n), n / count * (i + 1));
    }
  }
}

class LargeTopK : public testing::TestWithParam<const TopKAlgorithm*> {
 protected:
  void expect_oracle(const TopKCase& data, std::size_t k, TieRule ties) {
    const TopKProblem problem = data.problem(k, ties);
    const std::vector<RowId>& expected = answers_.next([&] { return oracle::topk(problem); });
    if (!GetParam()->supports(shape_of(problem))) return;
    for (const int threads : kSlow ? std::vector{3} : std::vector{1, 3}) {
      tbb::task_arena arena(threads);
      const ParameterValues values(GetParam()->parameters, {});
      ASSERT_EQ(arena.execute([&] { return GetParam()->run(problem, values, {}).rows; }), expected)
          << "k = " << k << ", tie rule " << static_cast<int>(ties) << ", " << threads << " threads";
    }
  }

  static constexpr std::size_t kRows = kSlow ? 70000 : 80000;
  const tbb::global_control more_{tbb::global_control::max_allowed_parallelism, 3};
  SharedAnswers answers_;
};

TEST_P(LargeTopK, EveryDistribution) {
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, KeyWidth::bytes8, 5), {KeyWidth::bytes8});
    for (const auto& [k, ties] : {std::pair{std::size_t{1}, TieRule::all}, std::pair{std::size_t{1000}, TieRule::last},
                                  std::pair{kRows / 3, TieRule::first}}) {
      expect_oracle(data, k, ties);
    }
  }
}

// All rows that a sample can see are better than all others, or worse.
TEST_P(LargeTopK, SamplesThatMislead) {
  for (const std::size_t k : {1, 100, 20000}) {
    const std::size_t count = topk::sample_size(kRows, k);
    for (const bool better : {true, false}) {
      Values keys = make_columns(Distribution::independent, kRows, 1, KeyWidth::bytes4, 3).front();
      for (std::uint64_t& key : keys) key = key % 1000000 + 1000000;
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t& key = keys[topk::sampled_position(i, count, kRows)];
        key = better ? key - 1000000 : key + 1000000;
      }
      SCOPED_TRACE(better ? "better" : "worse");
      const TopKCase data(kRows, {keys}, {KeyWidth::bytes4});
      for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) expect_oracle(data, k, ties);
    }
  }
}

// Keys that agree in all but the last byte with those around the k-th: nothing for the leading digits of a radix.
TEST_P(LargeTopK, BucketKiller) {
  Values keys(kRows, 0x80000000u);
  for (std::size_t row = 0; row < kRows; row += 7) keys[row] = 0x80000000u + row % 250;
  keys[11] = 0;
  keys[kRows - 1] = 0xFFFFFFFFu;
  const TopKCase data(kRows, {keys}, {KeyWidth::bytes4});
  for (const std::size_t k : {std::size_t{2}, std::size_t{5000}, kRows - 10}) {
    for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) expect_oracle(data, k, ties);
  }
}

// Nearly all rows tie at the greatest keys, as in a float column of NaN and NULL.
TEST_P(LargeTopK, NearlyAllRowsTieForTheLastPlace) {
  Values keys(kRows, 0xFFFFFFFFu);
  for (std::size_t row = 5; row < kRows; row += 1000) keys[row] = row;
  for (std::size_t row = 8; row < kRows; row += 5) keys[row] = 0xFFFFFFFEu;
  const TopKCase data(kRows, {keys}, {KeyWidth::bytes4});
  for (const std::size_t k : {std::size_t{50}, std::size_t{1000}, kRows / 2}) {
    for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) expect_oracle(data, k, ties);
  }
}

/// The abilities of a source in memory besides making keys.
struct Abilities {
  bool filter_late = false;
  bool zone_map = false;
};

/// A source over keys in memory, of which some take part.
template <class Key>
class MemorySource final : public KeySource {
 public:
  MemorySource(std::vector<Key> keys, std::vector<std::uint8_t> taking, Abilities abilities)
      : keys_(std::move(keys)), taking_(std::move(taking)), abilities_(abilities) {
    for (std::size_t row = 0; row < keys_.size(); row += kZoneRows) {
      zone_map_.push_back(*std::min_element(at(row), at(std::min(keys_.size(), row + kZoneRows))));
    }
  }

  bool has_filter() const override { return std::ranges::count(taking_, 0) > 0; }
  const void* zone_map(std::size_t) const override { return abilities_.zone_map ? zone_map_.data() : nullptr; }
  bool can_filter_late() const override { return abilities_.filter_late; }
  KeyWidth width() const override { return static_cast<KeyWidth>(sizeof(Key)); }
  std::unique_ptr<KeyReader> reader() const override { return std::make_unique<Reader>(*this); }

  /// Rows that were filtered apart from others.
  std::size_t filtered() const { return filtered_; }

  /// The rows of the k best that take part, by sorting.
  std::vector<RowId> best(std::size_t k, TieRule ties) const {
    Columns columns;
    Values values;
    std::vector<RowId> rows;
    for (std::size_t row = 0; row < keys_.size(); ++row) {
      if (taking_[row] == 0) continue;
      values.push_back(keys_[row]);
      rows.push_back(static_cast<RowId>(row));
    }
    columns.add(values, width());
    std::vector<RowId> found = oracle::topk({.n = values.size(), .keys = columns.keys(), .k = k, .ties = ties});
    for (RowId& row : found) row = rows[static_cast<std::size_t>(row)];
    return found;
  }

 private:
  class Reader final : public KeyReader {
   public:
    explicit Reader(const MemorySource& source) : source_(source) {}
    KeyBlock read(std::size_t begin, std::size_t end) override {
      EXPECT_LE(end - begin, kKeyBlockRows);
      const auto first = source_.taking_.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::count(first, first + static_cast<std::ptrdiff_t>(end - begin), 1) == 0) return {nullptr, nullptr, true};
      return {source_.keys_.data() + begin, &*first, false};
    }
    KeyBlock read_unfiltered(std::size_t begin, std::size_t end) override {
      EXPECT_TRUE(source_.abilities_.filter_late);
      EXPECT_LE(end - begin, kKeyBlockRows);
      return {source_.keys_.data() + begin, nullptr, false};
    }
    void filter(std::span<const RowId> rows, std::uint8_t* taking) override {
      source_.filtered_ += rows.size();
      EXPECT_LE(rows.size(), kKeyBlockRows);
      EXPECT_TRUE(std::ranges::is_sorted(rows));
      for (const RowId row : rows) *taking++ = source_.taking_[static_cast<std::size_t>(row)];
    }

   private:
    const MemorySource& source_;
  };

  auto at(std::size_t row) const { return keys_.begin() + static_cast<std::ptrdiff_t>(row); }

  std::vector<Key> keys_;
  std::vector<std::uint8_t> taking_;
  Abilities abilities_;
  std::vector<Key> zone_map_;
  mutable std::atomic<std::size_t> filtered_ = 0;
};

// A filter that lets only the worst rows pass would else be asked about every better one, apart from others.
TEST(SampledThreshold, FiltersLateOnlyWhereFewRowsAreUpToTheBound) {
  constexpr std::size_t kMany = 1 << 18;
  const auto filtered = [](const auto& takes_part) {
    std::vector<std::uint32_t> keys(kMany);
    std::vector<std::uint8_t> taking(kMany);
    for (std::size_t row = 0; row < kMany; ++row) {
      keys[row] = static_cast<std::uint32_t>(row * 0x9E3779B97F4A7C15u >> 40);
      taking[row] = takes_part(row, keys[row]) ? 1 : 0;
    }
    const MemorySource<std::uint32_t> source(std::move(keys), std::move(taking), {.filter_late = true});
    const TopKProblem problem{.n = kMany, .keys = {}, .k = 10, .ties = TieRule::first, .source = &source};
    const TopKAlgorithm* const algorithm =
        *std::ranges::find(topk_algorithms(), "sampled-threshold", &TopKAlgorithm::name);
    EXPECT_EQ(algorithm->run(problem, ParameterValues(algorithm->parameters, {}), {}).rows,
              source.best(10, TieRule::first));
    return source.filtered();
  };
  constexpr std::uint32_t kKeys = 1U << 24;
  EXPECT_EQ(filtered([](std::size_t, std::uint32_t key) { return key > kKeys / 10 * 9; }), 0U);
  const std::size_t apart = filtered([](std::size_t row, std::uint32_t) { return row % 2 == 0; });
  EXPECT_GT(apart, 0U);
  EXPECT_LT(apart, kMany / 16);
}

template <class Key>
void expect_fused(const TopKAlgorithm& algorithm, std::size_t n, Abilities abilities) {
  Turns turns(7);
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct,
                                          Distribution::all_equal, Distribution::ascending, Distribution::descending}) {
    const auto width = static_cast<KeyWidth>(sizeof(Key));
    const Values values = make_columns(distribution, n, 1, width, 3).front();
    for (const std::uint64_t passing : {0, 1, 50, 99, 100}) {  // of a hundred rows
      std::vector<std::uint8_t> taking(n);
      for (std::size_t row = 0; row < n; ++row) taking[row] = (row * 0x9E3779B97F4A7C15u >> 33) % 100 < passing ? 1 : 0;
      const MemorySource<Key> source({values.begin(), values.end()}, taking, abilities);
      for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{100}, n / 2 + 1, n + 5}) {
        for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
          if (turns.skip()) continue;
          const TopKProblem problem{.n = n, .keys = {}, .k = k, .ties = ties, .source = &source};
          ASSERT_EQ(algorithm.run(problem, ParameterValues(algorithm.parameters, {}), {}).rows, source.best(k, ties))
              << name_of(distribution) << ", n = " << n << ", " << passing << " %, k = " << k << ", tie rule "
              << static_cast<int>(ties);
        }
      }
    }
  }
}

TEST_P(LargeTopK, FusedSources) {
  const TopKShape shape{.n = 100, .k = 5, .widths = {KeyWidth::bytes4}, .ties = TieRule::first, .fused = true};
  const Support support = GetParam()->supports(shape);
  if (!support) {
    EXPECT_NE(support.reason.find("fused"), std::string::npos);
    return;
  }
  for (const int threads : kSlow ? std::vector{3} : std::vector{1, 3}) {
    tbb::task_arena(threads).execute([&] {
      for (const std::size_t n : {1, 2047, 2048, 2049, 6000}) {
        expect_fused<std::uint32_t>(*GetParam(), n, {});
        expect_fused<std::uint64_t>(*GetParam(), n, {.filter_late = true});
        expect_fused<std::uint32_t>(*GetParam(), n, {.zone_map = true});
      }
    });
  }
  tbb::task_arena(3).execute([&] {
    expect_fused<std::uint32_t>(*GetParam(), kRows, {.filter_late = true, .zone_map = true});
    if (kThreadSanitized) return;  // the others have the same threads, each for five seconds
    expect_fused<std::uint64_t>(*GetParam(), kRows, {.filter_late = true});
    expect_fused<std::uint64_t>(*GetParam(), kRows, {.zone_map = true});
  });
}

// Some zones of a million rows are looked at first, which may give a bound, mislead, or show that rows lie in order.
TEST(SampledThreshold, TakesItsBoundFromSomeZones) {
  constexpr std::size_t kSampled = 512;
  constexpr std::size_t kRows = 8 * kSampled * kZoneRows + 77;
  const auto change_sampled = [](Values& keys, const auto& change) {
    for (std::size_t i = 0; i < kSampled; ++i) {
      const std::size_t row = kZoneRows * topk::sampled_position(i, kSampled, kRows / kZoneRows);
      std::for_each_n(keys.begin() + static_cast<std::ptrdiff_t>(row), kZoneRows, change);
    }
  };
  Values scattered = make_columns(Distribution::independent, kRows, 1, KeyWidth::bytes4, 3).front();
  for (std::uint64_t& key : scattered) key = key % (1u << 28) + (1u << 28);
  Values few = scattered;
  for (std::uint64_t& key : few) key %= 100;
  Values better = scattered;
  change_sampled(better, [](std::uint64_t& key) { key -= 1u << 28; });
  Values worse = scattered;
  change_sampled(worse, [](std::uint64_t& key) { key += 1u << 28; });
  Values ascending = scattered;
  std::ranges::sort(ascending);
  const Values descending(ascending.rbegin(), ascending.rend());
  const Values equal(kRows, 7);
  const auto is_it = [](const TopKAlgorithm* entry) { return entry->name == "sampled-threshold"; };
  const TopKAlgorithm& algorithm = **std::ranges::find_if(topk_algorithms(), is_it);
  std::vector<Values> inputs{scattered, better, worse, ascending};
  if (!kSlow) inputs.insert(inputs.end(), {few, descending, equal});
  Turns turns(5);
  for (const Values& keys : inputs) {
    const TopKCase narrow(kRows, {keys}, {KeyWidth::bytes4});
    const TopKCase wide(kRows, {keys}, {KeyWidth::bytes8});
    for (const auto& [k, ties] : {std::pair{std::size_t{1}, TieRule::all}, std::pair{std::size_t{100}, TieRule::last},
                                  std::pair{kRows / 2048, TieRule::first}}) {
      std::vector<RowId> expected;  // of both
      for (const TopKCase* const data : {&narrow, &wide}) {
        if (turns.skip()) continue;
        const TopKProblem problem = data->problem(k, ties);
        if (expected.empty()) expected = oracle::topk(problem);
        EXPECT_EQ(algorithm.run(problem, {algorithm.parameters, {}}, {}).rows, expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, LargeTopK, testing::ValuesIn(on_cpu(topk_algorithms())), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests

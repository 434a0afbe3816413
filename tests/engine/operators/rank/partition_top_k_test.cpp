#include "engine/operators/rank/partition_top_k.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/classes.hpp"
#include "tests/build.hpp"
#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Ids = std::vector<std::int64_t>;

/// Partitions in order of their first rows; each sorted, and the window cut out of it.
template <class Key>
Ids expected(const std::vector<std::int64_t>& partitions, const std::vector<Key>& keys, const Window& window) {
  std::map<std::int64_t, std::size_t> known;
  std::vector<Ids> rows;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const std::size_t number = known.emplace(partitions[i], known.size()).first->second;
    if (number == rows.size()) rows.emplace_back();
    rows[number].push_back(static_cast<std::int64_t>(i));
  }
  Ids answer;
  for (Ids& part : rows) {
    const auto by_key = [&](std::int64_t a, std::int64_t b) { return keys[a] < keys[b]; };
    if (window.ties == Ties::last) std::ranges::reverse(part);
    std::ranges::stable_sort(part, by_key);
    part.resize(static_cast<std::size_t>(window.end(static_cast<std::int64_t>(part.size()))));
    std::ranges::sort(part,
                      [&](std::int64_t a, std::int64_t b) { return std::pair(keys[a], a) < std::pair(keys[b], b); });
    for (std::size_t i = static_cast<std::size_t>(window.offset); i < part.size(); ++i) answer.push_back(part[i]);
  }
  return answer;
}

/// Sanitizers see nothing new in other numbers of threads.
const std::vector<int> kThreadCounts = tests::kSanitized ? std::vector{3} : std::vector{1, 2, 3, 4};

template <class Key>
void expect_answers(const std::vector<std::int64_t>& partitions, const std::vector<Key>& keys) {
  const Table table({Column::own("p", partitions)});
  const std::vector<int> columns{0};
  const kernels::KeyColumn column{keys.data(), static_cast<kernels::KeyWidth>(sizeof(Key))};
  for (const Ties ties : {Ties::first, Ties::last, Ties::any}) {
    for (const auto& [offset, limit] : {std::pair(0, 1), std::pair(0, 5), std::pair(3, 4), std::pair(100, 28)}) {
      const Window window{offset, limit, ties};
      ASSERT_TRUE(keeps_best_in_order(window));
      const Ids answer = expected(partitions, keys, window);
      for (const int threads : kThreadCounts) {
        for (const Numbering numbering : {Numbering::by_values, Numbering::by_hashing}) {
          const PartitionAnswer found = with_threads(threads, [&] {
            const Rows rows = all_rows(table);
            return best_of_partitions(slots_of(table, columns, rows, numbering), column, window);
          });
          ASSERT_EQ(found.positions, answer) << threads << " threads, offset " << offset << ", limit " << limit;
        }
        const PartitionAnswer spread = with_threads(threads, [&] {
          const Rows rows = all_rows(table);
          return best_of_partitions(RowSlots(GroupKeys(table, columns, rows)), column, window);
        });
        ASSERT_EQ(spread.positions, answer) << "in partitions, " << threads << " threads";
      }
    }
  }
}

/// Keys with many ties, the least and the greatest among them.
template <class Key>
std::vector<Key> random_keys(std::int64_t n, std::int64_t distinct) {
  Random random(static_cast<std::uint64_t>(distinct));
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t value = random.below(distinct);
    keys.push_back(value == 0 ? std::numeric_limits<Key>::max() : static_cast<Key>(value - 1));
  }
  return keys;
}

enum class Arrangement : std::uint8_t { random, in_order, skewed };

std::vector<std::int64_t> random_partitions(std::int64_t n, std::int64_t count, Arrangement arrangement) {
  Random random(static_cast<std::uint64_t>(count));
  std::vector<std::int64_t> partitions;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool large = arrangement == Arrangement::skewed && random.below(4) != 0;
    partitions.push_back(large ? count / 2 : random.below(count));
  }
  if (arrangement == Arrangement::in_order) std::ranges::sort(partitions);
  return partitions;
}

TEST(PartitionTopK, AgreesWithSortingEachPartition) {
  constexpr std::int64_t kRows = 40'000;  // several threads take part
  for (const std::int64_t count : {1, 7, 2000, 12'000}) {
    for (const Arrangement arrangement : {Arrangement::random, Arrangement::in_order, Arrangement::skewed}) {
      SCOPED_TRACE(std::to_string(count) + " partitions, arrangement " + std::to_string(static_cast<int>(arrangement)));
      const auto partitions = random_partitions(kRows, count, arrangement);
      expect_answers(partitions, random_keys<std::uint32_t>(kRows, 1 << 30));
      expect_answers(partitions, random_keys<std::uint8_t>(kRows, 9));
    }
  }
}

TEST(PartitionTopK, TakesKeysOfEveryWidth) {
  for (const std::int64_t n : {0, 1, 3, 5000}) {
    const auto partitions = random_partitions(n, 50, Arrangement::random);
    expect_answers(partitions, random_keys<std::uint8_t>(n, 200));
    expect_answers(partitions, random_keys<std::uint16_t>(n, 3));
    expect_answers(partitions, random_keys<std::uint32_t>(n, 1000));
    expect_answers(partitions, random_keys<std::uint64_t>(n, std::int64_t{1} << 62));
  }
}

TEST(PartitionTopK, KeysInFallingOrderReplaceTheBestAgainAndAgain) {
  constexpr std::int64_t kRows = 40'000;
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> partitions;
  for (std::int64_t i = 0; i < kRows; ++i) {
    keys.push_back(static_cast<std::uint64_t>(kRows - i));
    partitions.push_back(i % 3);
  }
  expect_answers(partitions, keys);
}

TEST(PartitionTopK, IsForShortWindowsWithoutAllTies) {
  EXPECT_TRUE(keeps_best_in_order({.offset = 28, .limit = 100}));
  EXPECT_FALSE(keeps_best_in_order({.offset = 29, .limit = 100}));
  EXPECT_FALSE(keeps_best_in_order({.offset = 0, .limit = 0}));
  EXPECT_FALSE(keeps_best_in_order({.offset = 0, .limit = std::nullopt}));
  EXPECT_FALSE(keeps_best_in_order({.offset = 0, .limit = 5, .ties = Ties::all}));
  EXPECT_FALSE(keeps_best_in_order({.offset = std::numeric_limits<std::int64_t>::max(), .limit = 5}));
  EXPECT_TRUE(keeps_best_in_memory({.limit = 5}, 1'000'000, 20'000'000));
  EXPECT_FALSE(keeps_best_in_memory({.limit = 50}, 1'000'000, 20'000'000));
}

}  // namespace
}  // namespace skyrank::exec

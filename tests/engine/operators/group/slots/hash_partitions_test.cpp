#include "engine/operators/group/slots/hash_partitions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/group/slots/few_groups.hpp"
#include "engine/stop.hpp"
#include "kernels/common/problem.hpp"
#include "tests/build.hpp"
#include "tests/engine/layout_columns.hpp"
#include "tests/engine/operator_test.hpp"

// Groups numbered by hashing beside a map of their values, which knows neither hashes nor partitions.
namespace skyrank::exec {
namespace {

constexpr std::int64_t kPartitionedRows = 200'000;  // three whole ranges and a part of one

/// Returns a text that is equal for values that make one group.
std::string text_of(const Column& column, RowId row) {
  if (column.is_null(row)) return "null";
  if (column.type().type == Type::string) return "'" + std::string(column.data().string_at(row)) + "'";
  if (!is_floating(column.type().type)) return to_string(column.value(row));
  const double value = std::get<double>(column.value(row));
  if (std::isnan(value)) return "nan";
  return std::to_string(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}

Classes expected_classes(const Table& table, const std::vector<int>& columns, const Rows& rows) {
  std::map<std::vector<std::string>, std::int64_t> known;
  Classes classes;
  for (std::int64_t i = 0; i < rows.n; ++i) {
    std::vector<std::string> values;
    for (const int column : columns) values.push_back(text_of(table.column(column), rows[i]));
    const auto [place, is_new] = known.emplace(std::move(values), static_cast<std::int64_t>(known.size()));
    if (is_new) classes.first.push_back(i);
    classes.of.push_back(place->second);
  }
  return classes;
}

/// Sanitizers see nothing new in other numbers of threads.
const std::vector<int> kHashingThreads = tests::kSanitized ? std::vector{3} : std::vector{1, 2, 3, 8};

void expect_groups(const Table& table, const std::vector<int>& columns, const Rows& rows) {
  const Classes expected = expected_classes(table, columns, rows);
  for (const int threads : kHashingThreads) {
    const Classes planned =
        with_threads(threads, [&] { return classify(table, columns, rows, Numbering::by_hashing); });
    ASSERT_EQ(planned.first, expected.first) << threads << " threads";
    ASSERT_EQ(planned.of, expected.of) << threads << " threads";
    const Classes spread = with_threads(threads, [&] { return classify(RowSlots(GroupKeys(table, columns, rows))); });
    ASSERT_EQ(spread.first, expected.first) << "in partitions, " << threads << " threads";
    ASSERT_EQ(spread.of, expected.of) << "in partitions, " << threads << " threads";
  }
}

void expect_groups(const Table& table) {
  std::vector<int> columns;
  for (int c = 0; c < table.num_columns(); ++c) columns.push_back(c);
  expect_groups(table, columns, all_rows(table));
}

template <class T, class F>
Column column_of(std::string name, std::int64_t n, const F& value, std::int64_t nulls_in = 0) {
  Random random(7);
  std::vector<T> values;
  std::vector<bool> valid;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<T>(value(i)));
    valid.push_back(nulls_in == 0 || random.below(nulls_in) != 0);
  }
  return nulls_in == 0 ? Column::own(std::move(name), values) : Column::own(std::move(name), values, valid);
}

/// Returns the number whose hash is h: the inverse of splitmix64's finaliser, from the lowest number on.
std::int64_t with_hash(std::uint64_t h) {
  h = (h ^ (h >> 31) ^ (h >> 62)) * 0x319642b2d24d8ec3ULL;
  h = (h ^ (h >> 27) ^ (h >> 54)) * 0x96de1b173f119089ULL;
  return static_cast<std::int64_t>((h ^ (h >> 30) ^ (h >> 60)) - (std::uint64_t{1} << 63));
}

TEST(HashPartitions, OfAllEqualRows) {
  expect_groups(
      Table({column_of<std::int64_t>("x", kPartitionedRows, [](std::int64_t) { return std::int64_t{1} << 60; })}));
}

TEST(HashPartitions, OfAllDistinctRows) {
  expect_groups(Table(
      {column_of<std::int64_t>("x", kPartitionedRows, [](std::int64_t i) { return (kPartitionedRows - i) << 32; })}));
}

TEST(HashPartitions, OfHashesThatCollideByConstruction) {
  const Table probe({Column::own<std::int64_t>("x", {with_hash(12345)})});
  std::uint64_t hash = 0;
  const std::vector<int> columns{0};
  GroupKeys(probe, columns, all_rows(probe)).hash(0, 1, &hash);
  ASSERT_EQ(hash, 12345) << "the test does not know how to make hashes collide";
  Random random(1);
  // All rows in one partition; all groups in one chain of a table; both.
  for (const auto& [shift, groups] : {std::pair(0, 40'000), std::pair(40, 2'500), std::pair(20, 2'500)}) {
    SCOPED_TRACE(shift);
    expect_groups(Table({column_of<std::int64_t>("x", kPartitionedRows, [&, s = shift, g = groups](std::int64_t) {
      return with_hash(static_cast<std::uint64_t>(random.below(g)) << s);
    })}));
  }
}

TEST(HashPartitions, OfSkewedRows) {
  Random random(2);
  const Table table({column_of<std::int64_t>("x", kPartitionedRows, [&](std::int64_t) {  // Zipf's law with exponent 1
    const double u = static_cast<double>(random.below(1 << 30) + 1) / (1 << 30);
    return static_cast<std::int64_t>(std::pow(1e6, u)) * 1'000'003;
  })});
  expect_groups(table);
}

TEST(HashPartitions, OfNullsNaNsAndZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {nan, -nan, std::bit_cast<double>(0x7ff8000000000001ULL), 0.0, -0.0, 1e-310, INFINITY};
  const auto value = [&](std::int64_t i) { return i % 3 == 0 ? values[i / 3 % 7] : static_cast<double>(i % 5000); };
  expect_groups(Table({column_of<double>("d", kPartitionedRows, value, 4)}));
  expect_groups(
      Table({column_of<float>("f", kPartitionedRows, value, 4), column_of<double>("d", kPartitionedRows, value)}));
  expect_groups(Table({column_of<float>("f", kPartitionedRows, value, 4),
                       column_of<std::int16_t>(
                           "i", kPartitionedRows, [](std::int64_t i) { return i % 3; }, 5)}));
}

TEST(HashPartitions, OfNullsAmongIntegersOfAllBits) {
  const auto ends = [](std::int64_t i) {
    return i % 2 == 0 ? std::numeric_limits<std::int64_t>::max() - i % 8
                      : std::numeric_limits<std::int64_t>::min() + i % 9999;
  };
  expect_groups(Table({column_of<std::int64_t>("x", kPartitionedRows, ends, 3)}));
  expect_groups(Table({column_of<std::int64_t>("x", kPartitionedRows, ends, 3),
                       column_of<std::int64_t>("y", kPartitionedRows, ends, 3)}));
  expect_groups(Table({column_of<std::uint64_t>(
      "x", kPartitionedRows, [](std::int64_t i) { return ~std::uint64_t{0} - i; }, 3)}));
}

TEST(HashPartitions, OfStringsWithEqualPrefixes) {
  std::vector<std::string> strings;
  std::vector<bool> valid;
  Random random(3);
  for (std::int64_t i = 0; i < kPartitionedRows; ++i) {
    strings.push_back(std::string(static_cast<std::size_t>(random.below(3) * 40), 'a') +
                      std::to_string(random.below(30'000)) +
                      std::string(static_cast<std::size_t>(random.below(2)), '\0'));
    valid.push_back(random.below(6) != 0);
  }
  expect_groups(Table({Column::own("s", strings, valid)}));
  expect_groups(Table({Column::own("s", strings, valid),
                       column_of<std::int64_t>("x", kPartitionedRows, [](std::int64_t i) { return i % 3; })}));
}

TEST(HashPartitions, OfEveryLayout) {
  for (const std::int64_t n : {0, 1, 5, 2049}) {
    const Table table{layouts(n)};
    for (int c = 0; c < table.num_columns(); ++c) {
      SCOPED_TRACE(table.column(c).name());
      expect_groups(table, {c}, all_rows(table));
      expect_groups(table, {c, (c + 1) % table.num_columns(), (c + 2) % table.num_columns()}, all_rows(table));
    }
  }
}

TEST(HashPartitions, OfListedRows) {
  const Table table({column_of<std::int64_t>(
      "x", kPartitionedRows, [](std::int64_t i) { return i % 50'021 << 40; }, 9)});
  std::vector<RowId> ids;
  for (std::int64_t i = 1; i < kPartitionedRows; i += 3) ids.push_back(i);
  expect_groups(table, {0}, {static_cast<std::int64_t>(ids.size()), ids.data()});
}

TEST(HashPartitions, FewGroupsAreListed) {
  const auto table = [](std::int64_t groups, bool in_order) {
    return Table({column_of<std::int64_t>("x", kPartitionedRows, [=](std::int64_t i) {
      return (in_order ? i / (kPartitionedRows / groups) : i % groups) << 40;
    })});
  };
  const std::vector<int> columns{0};
  const auto is_listed = [&](const Table& of) {
    return number_few_groups(GroupKeys(of, columns, all_rows(of))).has_value();
  };
  EXPECT_TRUE(is_listed(table(2'000, false)));
  EXPECT_FALSE(is_listed(table(2'100, false)));
  EXPECT_TRUE(is_listed(table(5'000, true))) << "few in each range of the rows";
  for (const std::int64_t groups : {2'000, 2'100, 5'000}) {
    expect_groups(table(groups, false));
    expect_groups(table(groups, true));
  }
}

/// Every allocation that may be refused is, one after the other, until all are granted.
TEST(HashPartitions, FailWholeWhereMemoryIsRefused) {
  const Table table({column_of<std::int64_t>("x", kPartitionedRows, [](std::int64_t i) { return i % 60'000 << 30; })});
  const std::vector<int> columns{0};
  const Classes expected = classify(table, columns, all_rows(table), Numbering::by_hashing);
  int refused = 0;
  for (std::size_t limit = 1 << 12;; limit += limit / 4) {
    const auto account = std::make_shared<kernels::MemoryAccount>(limit);
    const kernels::AccountScope counted(account.get());
    try {
      const Classes classes = with_threads(4, [&] {
        const kernels::AccountScope inside(account.get());
        return classify(table, columns, all_rows(table), Numbering::by_hashing);
      });
      EXPECT_EQ(classes.of, expected.of);
      break;
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(account->used(), 0) << "of a limit of " << limit;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST(HashPartitions, StopWhenAsked) {
  const Table table({column_of<std::int64_t>("x", kPartitionedRows, [](std::int64_t i) { return i << 30; })});
  const std::vector<int> columns{0};
  std::stop_source source;
  source.request_stop();
  const std::stop_token stop = source.get_token();
  const StopScope scope(stop);
  EXPECT_THROW(classify(table, columns, all_rows(table), Numbering::by_hashing), kernels::Cancelled);
}

}  // namespace
}  // namespace skyrank::exec

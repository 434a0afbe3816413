#include "engine/operators/group/slots/classes.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Ids = std::vector<std::int64_t>;

Classes classify_all(const Table& table) {
  std::vector<int> columns;
  for (int i = 0; i < table.num_columns(); ++i) columns.push_back(i);
  return classify(table, columns, all_rows(table));
}

TEST(Classes, NumbersClassesByFirstPosition) {
  const Table table({Column::own<std::int32_t>("a", {7, 3, 7, -1, 3})});
  const Classes classes = classify_all(table);
  EXPECT_EQ(classes.of, (Ids{0, 1, 0, 2, 1}));
  EXPECT_EQ(classes.first, (Ids{0, 1, 3}));
}

TEST(Classes, ZerosNaNsAndNullsAreOneClassEach) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Table table({Column::own<double>("a", {0.0, -0.0, nan, -nan, 1, 5}, {true, true, true, true, false, false})});
  EXPECT_EQ(classify_all(table).of, (Ids{0, 0, 1, 1, 2, 2}));
}

TEST(Classes, NullIsNoValue) {
  const Table ints({Column::own<std::int64_t>("a", {0, 0, 0}, {true, false, true})});
  EXPECT_EQ(classify_all(ints).of, (Ids{0, 1, 0}));
  const Table strings({Column::own("s", std::vector<std::string>{"", "", "x"}, {true, false, true})});
  EXPECT_EQ(classify_all(strings).of, (Ids{0, 1, 2}));
}

TEST(Classes, EveryColumnCounts) {
  const Table table({Column::own<std::uint8_t>("a", {1, 1, 2, 1}), text_column("b", {"x", "y", "x", "x"})});
  EXPECT_EQ(classify_all(table).of, (Ids{0, 1, 2, 0}));
}

TEST(Classes, NullsOfDifferentColumnsDiffer) {
  const Table table(
      {Column::own<std::int64_t>("a", {0, 0}, {true, false}), Column::own<std::int64_t>("b", {0, 0}, {false, true})});
  EXPECT_EQ(classify_all(table).of, (Ids{0, 1}));
}

TEST(Classes, MoreThan64ColumnsWithNulls) {
  std::vector<Column> columns;
  for (int c = 0; c < 70; ++c) {
    columns.push_back(Column::own<std::int8_t>("c" + std::to_string(c), {0, 0}, {true, c != 69}));
  }
  EXPECT_EQ(classify_all(Table(std::move(columns))).of, (Ids{0, 1}));
}

TEST(Classes, OfListedRowsOnly) {
  const Table table({Column::own<std::int64_t>("a", {5, 6, 5, 6, 7})});
  const Ids ids{1, 2, 3};
  const std::vector<int> columns{0};
  const Classes classes = classify(table, columns, {3, ids.data()});
  EXPECT_EQ(classes.of, (Ids{0, 1, 0}));
  EXPECT_EQ(classes.first, (Ids{0, 1}));
}

TEST(Classes, NoRows) {
  const Table table({Column::own<std::int64_t>("a", {})});
  EXPECT_EQ(classify_all(table).count(), 0);
}

TEST(Classes, NoColumnsMakeOneClass) { EXPECT_EQ(classify(Table::with_rows(3), {}, {3, nullptr}).of, (Ids{0, 0, 0})); }

// Enough rows for many hash tables, checked against a map; the same for any number of threads.
TEST(Classes, ManyRowsAgreeWithAMap) {
  for (const std::int64_t distinct : {std::int64_t{3}, std::int64_t{1000}, std::int64_t{1} << 40}) {
    Random random(static_cast<std::uint64_t>(distinct));
    std::vector<std::int64_t> numbers;
    std::vector<std::string> strings;
    for (int i = 0; i < 50'000; ++i) {
      numbers.push_back(random.below(distinct));
      strings.push_back("s" + std::to_string(random.below(distinct) % 5));
    }
    const Table table({Column::own("n", numbers), Column::own("s", strings)});
    std::map<std::pair<std::int64_t, std::string>, std::int64_t> known;
    Ids expected;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      expected.push_back(known.emplace(std::pair(numbers[i], strings[i]), std::int64_t(known.size())).first->second);
    }
    for (const int threads : {1, 4}) {
      EXPECT_EQ(with_threads(threads, [&] { return classify_all(table); }).of, expected);
    }
  }
}

}  // namespace
}  // namespace skyrank::exec

#include "engine/operators/group/slots/row_slots.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/operators/group/slots/classes.hpp"
#include "tests/engine/layout_columns.hpp"
#include "tests/engine/operator_test.hpp"

// Groups numbered by their values beside those numbered by hashing.
namespace skyrank::exec {
namespace {

constexpr std::int64_t kNarrowRows = 100'000;  // enough for ranges and shards of several threads

template <class T>
Column numbers(std::string name, std::int64_t n, std::int64_t lowest, std::int64_t count, bool nulls = false) {
  Random random(static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(lowest));
  std::vector<T> values;
  std::vector<bool> valid;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<T>(lowest + random.below(count)));
    valid.push_back(!nulls || random.below(10) != 0);
  }
  return nulls ? Column::own(std::move(name), values, valid) : Column::own(std::move(name), values);
}

/// Indices into a dictionary with an entry twice and entries that no row has.
Column dictionary_column(std::string name, std::int64_t n) {
  auto indices = std::make_shared<std::vector<std::int32_t>>();
  Random random(3);
  for (std::int64_t i = 0; i < n; ++i) indices->push_back(static_cast<std::int32_t>(random.below(5)));
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.index_type = Type::int32;
  data.length = n;
  data.values = indices->data();
  data.stride = sizeof(std::int32_t);
  data.dictionary = std::make_shared<const ColumnData>(
      Column::own("words", std::vector<std::string>{"b", "", "b", "c", "d", "never"}).data());
  data.owner = indices;
  return Column(std::move(name), data);
}

Table narrow_table(std::int64_t n) {
  return Table({numbers<std::int8_t>("i8", n, -128, 256), numbers<std::int16_t>("i16", n, -32768, 65536, true),
                numbers<std::int32_t>("i32", n, std::numeric_limits<std::int32_t>::min(), 1000),
                numbers<std::int64_t>("high", n, std::numeric_limits<std::int64_t>::max() - 99, 100, true),
                numbers<std::int64_t>("low", n, std::numeric_limits<std::int64_t>::min(), 30'000),
                numbers<std::uint64_t>("u64", n, -7, 7), numbers<std::uint8_t>("u8", n, 0, 2),
                numbers<std::int64_t>("wide", n, -(std::int64_t{1} << 40), std::int64_t{1} << 41),
                dictionary_column("words", n), numbers<double>("d", n, -2, 5, true)});
}

void expect_same_classes(const Table& table, const std::vector<int>& columns, const Rows& rows) {
  const Classes expected = classify(table, columns, rows, Numbering::by_hashing);
  for (const int threads : {1, 3, 4}) {
    const Classes classes = with_threads(threads, [&] { return classify(table, columns, rows); });
    EXPECT_EQ(classes.of, expected.of) << threads << " threads";
    EXPECT_EQ(classes.first, expected.first) << threads << " threads";
  }
}

/// Each column alone, and each beside the next two.
void expect_same_classes(const Table& table, const Rows& rows) {
  for (int c = 0; c < table.num_columns(); ++c) {
    SCOPED_TRACE(table.column(c).name());
    expect_same_classes(table, {c}, rows);
    expect_same_classes(table, {c, (c + 1) % table.num_columns(), (c + 2) % table.num_columns()}, rows);
  }
}

Vector<RowId> every_third(std::int64_t n) {
  Vector<RowId> ids;
  for (std::int64_t i = 1; i < n; i += 3) ids.push_back(i);
  return ids;
}

TEST(RowSlots, AgreeWithHashing) {
  const Table table = narrow_table(kNarrowRows);
  expect_same_classes(table, all_rows(table));
  const Vector<RowId> ids = every_third(kNarrowRows);
  expect_same_classes(table, {static_cast<std::int64_t>(ids.size()), ids.data()});
}

TEST(RowSlots, AgreeWithHashingInEveryLayout) {
  for (const std::int64_t n : {0, 1, 5, 2047, 2049, 5000}) {
    const Table table{layouts(n)};
    expect_same_classes(table, all_rows(table));
  }
}

TEST(RowSlots, AreOfNarrowValuesOnly) {
  const Table table = narrow_table(kNarrowRows);
  const auto count = [&](const std::string& name) -> std::optional<std::int64_t> {
    const std::vector<int> columns{*table.find(name)};
    const auto slots = RowSlots::of_values(table, columns, all_rows(table));
    return slots ? std::optional(slots->count()) : std::nullopt;
  };
  EXPECT_EQ(count("i8"), 256);
  EXPECT_EQ(count("high"), 101);
  EXPECT_EQ(count("u64"), 7);
  EXPECT_EQ(count("words"), 5);  // those of entries that are never used among them
  EXPECT_EQ(count("wide"), std::nullopt);
  EXPECT_EQ(count("i16"), std::nullopt) << "more slots than there are rows for";
  EXPECT_EQ(count("d"), std::nullopt);
}

TEST(RowSlots, OfSeveralColumnsAreOneOfEachPair) {
  const Table table({Column::own<std::int8_t>("a", {1, 2, 1}), Column::own<std::int8_t>("b", {5, 5, 9})});
  const std::vector<int> columns{0, 1};
  const auto slots = RowSlots::of_values(table, columns, all_rows(table));
  ASSERT_TRUE(slots);
  EXPECT_EQ(slots->count(), 10);
  std::uint32_t of[3];
  slots->load(0, 3, of);
  EXPECT_EQ(std::vector<std::uint32_t>(of, of + 3), (std::vector<std::uint32_t>{0, 5, 4}));
}

TEST(RowSlots, ArePlannedByWhatASampleRulesOut) {
  const Table table = narrow_table(kNarrowRows);
  const Vector<RowId> sampled = every_third(1000);
  const auto chosen = [&](const std::string& name) {
    const std::vector<int> columns{*table.find(name)};
    return choose_numbering(table, columns, {static_cast<std::int64_t>(sampled.size()), sampled.data()}, kNarrowRows);
  };
  EXPECT_EQ(chosen("i8"), Numbering::by_values);
  EXPECT_EQ(chosen("low"), Numbering::by_values) << "too many for the sample, but not for all rows";
  EXPECT_EQ(chosen("words"), Numbering::by_values);
  EXPECT_EQ(chosen("wide"), Numbering::by_hashing);
  EXPECT_EQ(chosen("i16"), Numbering::by_hashing);
  EXPECT_EQ(chosen("d"), Numbering::by_hashing);
}

TEST(RowSlots, TellHowTheyAreNumbered) {
  const Table table = narrow_table(kNarrowRows);
  const auto described = [&](const std::string& name) {
    const std::vector<int> columns{*table.find(name)};
    return slots_of(table, columns, all_rows(table)).describe();
  };
  EXPECT_EQ(described("i8"), "numbered by value");
  EXPECT_EQ(described("d"), "numbered by a hash table for each range of rows");
  EXPECT_EQ(described("wide"), "numbered in 16 partitions by hash");
}

}  // namespace
}  // namespace skyrank::exec

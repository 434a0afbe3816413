#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/generate/generate.hpp"
#include "tools/bench/data/data.hpp"

namespace skyrank::bench {
namespace {

using kernels::KeyWidth;

Cell topk_cell(const std::string& distribution, Type type) {
  Cell cell;
  cell.op = Op::topk;
  cell.distribution = distribution;
  cell.n = 3000;
  cell.d = 2;
  cell.k = 1;
  cell.type = type;
  cell.seed = 4;
  return cell;
}

template <class Key>
std::vector<Key> keys_of(const Data& data, std::size_t column) {
  const Key* keys = data.keys.at(column).as<Key>();
  return {keys, keys + data.n};
}

const float* floats_of(const Table& table, int column) {
  return static_cast<const float*>(table.column(column).data().values);
}

template <class Key>
void expect_order_of_floats(const Cell& cell) {
  const Table table = datasets::generate({cell.distribution, cell.n, cell.d, cell.seed});
  const Data data = make_data(cell);
  ASSERT_EQ(data.n, 3000U);
  for (int c = 0; c < 2; ++c) {
    const std::vector<Key> keys = keys_of<Key>(data, static_cast<std::size_t>(c));
    const float* values = floats_of(table, c);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const bool both_nan = std::isnan(values[i - 1]) && std::isnan(values[i]);
      const bool before = values[i - 1] < values[i] || (!std::isnan(values[i - 1]) && std::isnan(values[i]));
      ASSERT_EQ(keys[i - 1] == keys[i], both_nan || values[i - 1] == values[i]) << i;
      ASSERT_EQ(keys[i - 1] < keys[i], before) << i;
    }
  }
}

TEST(Data, KeysOrderAsTheValuesDoNanLast) {
  expect_order_of_floats<std::uint32_t>(topk_cell("nan-heavy", Type::float32));
  expect_order_of_floats<std::uint64_t>(topk_cell("nan-heavy", Type::float64));
  expect_order_of_floats<std::uint64_t>(topk_cell("uniform", Type::uint64));
  expect_order_of_floats<std::uint32_t>(topk_cell("bucket-killer", Type::float32));
}

// Data ranked from the greatest value have it as their least key, whichever way they are made.
TEST(Data, TheGreatestValuesCanBeTheBest) {
  for (const char* distribution : {"uniform", "zipf"}) {
    for (const Type type : {Type::float32, Type::uint32}) {
      Cell cell = topk_cell(distribution, type);
      const auto low = keys_of<std::uint32_t>(make_data(cell), 0);
      cell.high = true;
      const auto high = keys_of<std::uint32_t>(make_data(cell), 0);
      for (std::size_t i = 0; i < low.size(); ++i) ASSERT_EQ(high[i], ~low[i]) << distribution;
    }
  }
}

/// Bits that differ somewhere among the keys of a column.
template <class Key>
Key varying_bits(const Cell& cell) {
  const std::vector<Key> keys = keys_of<Key>(make_data(cell), 1);
  Key all = 0;
  for (const Key key : keys) all |= key ^ keys.front();
  return all;
}

TEST(Data, UniformValuesHaveAsManyRandomBitsAsTheirTypes) {
  EXPECT_EQ(varying_bits<std::uint32_t>(topk_cell("uniform", Type::uint32)), 0xFFFFFFFF);
  EXPECT_EQ(varying_bits<std::uint64_t>(topk_cell("independent", Type::uint64)), ~std::uint64_t{0});
  constexpr std::uint64_t kFractionOfDoubles = (std::uint64_t{1} << 52) - 1;
  EXPECT_EQ(varying_bits<std::uint64_t>(topk_cell("uniform", Type::float64)) & kFractionOfDoubles, kFractionOfDoubles);
  for (const char* name : {"increasing", "decreasing"}) {
    const std::vector<std::uint32_t> keys = keys_of<std::uint32_t>(make_data(topk_cell(name, Type::uint32)), 0);
    EXPECT_EQ(std::ranges::is_sorted(keys), name == std::string("increasing"));
    EXPECT_NE(keys[5] % 256, 0U);
  }
}

TEST(Data, WideValuesBeginAsTheFloats) {
  const Table table = datasets::generate({"uniform", 3000, 2, 4});
  const std::vector<std::uint32_t> keys = keys_of<std::uint32_t>(make_data(topk_cell("uniform", Type::uint32)), 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(keys[i] >> 8, static_cast<std::uint32_t>(std::ldexp(floats_of(table, 1)[i], 24))) << i;
  }
}

Cell file_cell(std::int64_t n, bool high) {
  Cell cell;
  cell.op = Op::topk;
  cell.file = "f.csv";
  cell.columns = {"a"};
  cell.n = n;
  cell.high = high;
  return cell;
}

/// A reader of a file with the one column `column`.
ReadColumns reader_of(Column column) {
  return [column](const std::filesystem::path&, const std::vector<std::string>&) { return Table({column}); };
}

std::string error_of(const Cell& cell, const ReadColumns& read) {
  try {
    make_data(cell, read);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Data, KeysOfFilesOrderAsTheNumbersDo) {
  const ReadColumns shorts = reader_of(Column::own("a", std::vector<std::int16_t>{5, -7, 0}));
  EXPECT_EQ(keys_of<std::uint16_t>(make_data(file_cell(3, false), shorts), 0),
            (std::vector<std::uint16_t>{0x8005, 0x7FF9, 0x8000}));
  EXPECT_EQ(keys_of<std::uint16_t>(make_data(file_cell(3, true), shorts), 0),
            (std::vector<std::uint16_t>{0x7FFA, 0x8006, 0x7FFF}));
  const ReadColumns doubles = reader_of(Column::own("a", std::vector<double>{1.5, -2, 0}));
  const std::vector<std::uint64_t> low = keys_of<std::uint64_t>(make_data(file_cell(3, false), doubles), 0);
  const std::vector<std::uint64_t> high = keys_of<std::uint64_t>(make_data(file_cell(3, true), doubles), 0);
  EXPECT_TRUE(low[1] < low[2] && low[2] < low[0]);
  EXPECT_TRUE(high[0] < high[2] && high[2] < high[1]);
}

TEST(Data, FilesWithFewerRowsAreRepeated) {
  const ReadColumns bytes = reader_of(Column::own("a", std::vector<std::uint8_t>{3, 1}));
  EXPECT_EQ(keys_of<std::uint8_t>(make_data(file_cell(5, false), bytes), 0),
            (std::vector<std::uint8_t>{3, 1, 3, 1, 3}));
  Cell skyline = file_cell(2, false);
  skyline.op = Op::skyline;
  EXPECT_EQ(keys_of<std::uint32_t>(make_data(skyline, bytes), 0), (std::vector<std::uint32_t>{3, 1}));
}

TEST(Data, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(error_of(file_cell(1, false), {}), "f.csv: this program does not read files; skyrank bench does");
  EXPECT_EQ(error_of(file_cell(1, false), reader_of(Column::own("a", std::vector<std::string>{"x"}))),
            "f.csv: column 'a' has no numbers; a cell needs numbers");
  EXPECT_EQ(error_of(file_cell(1, false), reader_of(Column::own("a", std::vector<int>{4, 5}, {true, false}))),
            "f.csv: column 'a' is NULL in row 1; a cell needs numbers");
  EXPECT_EQ(error_of(file_cell(1, false), reader_of(Column::own("a", std::vector<int>{}))), "f.csv: has no rows");
}

TEST(Data, FloatsFillTheRangeOfAnInteger) {
  const std::vector<std::uint8_t> bytes = keys_of<std::uint8_t>(make_data(topk_cell("uniform", Type::uint8)), 0);
  EXPECT_EQ(*std::ranges::min_element(bytes), 0);
  EXPECT_EQ(*std::ranges::max_element(bytes), 255);
  const std::vector<std::uint16_t> halves = keys_of<std::uint16_t>(make_data(topk_cell("all-equal", Type::uint16)), 1);
  EXPECT_EQ(halves, std::vector<std::uint16_t>(3000, 0x8000));
  const std::vector<std::uint16_t> nans = keys_of<std::uint16_t>(make_data(topk_cell("nan-heavy", Type::uint16)), 0);
  EXPECT_GT(std::ranges::count(nans, 0xFFFF), 1000);
}

TEST(Data, IntegersStayWhatTheyAreOrSaturate) {
  const Table table = datasets::generate({"zipf", 3000, 2, 4});
  const auto* values = static_cast<const std::uint32_t*>(table.column(1).data().values);
  const Data wide = make_data(topk_cell("zipf", Type::uint64));
  const Data narrow = make_data(topk_cell("zipf", Type::uint8));
  for (std::size_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(wide.keys[1].as<std::uint64_t>()[i], values[i]);
    ASSERT_EQ(narrow.keys[1].as<std::uint8_t>()[i], std::min<std::uint32_t>(values[i], 255));
  }
}

TEST(Data, KeysOfSkylinesHaveAtLeastFourBytes) {
  Cell cell = topk_cell("uniform", Type::uint8);
  EXPECT_EQ(key_width(cell), KeyWidth::bytes1);
  EXPECT_EQ(make_data(cell).bytes(), 6000U);
  cell.op = Op::skyline;
  EXPECT_EQ(key_width(cell), KeyWidth::bytes4);
  const Data data = make_data(cell);
  EXPECT_EQ(data.bytes(), 24000U);
  EXPECT_LE(std::ranges::max(keys_of<std::uint32_t>(data, 0)), 255U);
}

TEST(Data, IsTheSameWhereOnlyTheProblemDiffers) {
  const Cell cell = topk_cell("uniform", Type::float32);
  Cell other = cell;
  other.k = 9;
  other.threads = 2;
  EXPECT_TRUE(same_data(cell, other));
  other.seed = 5;
  EXPECT_FALSE(same_data(cell, other));
  other = cell;
  other.op = Op::skyline;
  EXPECT_TRUE(same_data(cell, other));
  other.type = Type::uint32;
  EXPECT_FALSE(same_data(cell, other));
}

}  // namespace
}  // namespace skyrank::bench

#include <skyrank/select.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/select/select_batches.hpp"

namespace skyrank {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns a view of values as rows of so many columns.
template <class T>
MatrixView rows_of(const std::vector<T>& values, std::int64_t columns, ElementType type) {
  MatrixView matrix;
  matrix.values = values.data();
  matrix.type = type;
  matrix.rows = columns == 0 ? 3 : static_cast<std::int64_t>(values.size()) / columns;
  matrix.columns = columns;
  matrix.row_stride = columns * static_cast<std::int64_t>(sizeof(T));
  matrix.column_stride = sizeof(T);
  return matrix;
}

std::vector<std::int64_t> positions_of(const std::vector<float>& values, std::int64_t columns, std::int64_t k,
                                       const SelectOptions& options) {
  const MatrixView matrix = rows_of(values, columns, ElementType::float32);
  std::vector<float> selected(static_cast<std::size_t>(matrix.rows * k));
  std::vector<std::int64_t> positions(selected.size());
  select_k(matrix, k, {selected.data(), positions.data()}, options);
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const std::size_t at = i / static_cast<std::size_t>(k) * static_cast<std::size_t>(columns);
    const float value = values[at + static_cast<std::size_t>(positions[i])];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(selected[i]), std::bit_cast<std::uint32_t>(value));
  }
  return positions;
}

TEST(SelectK, TheExampleOfTheHeader) {
  const std::vector<float> logits = {0.5f, 2.0f, -1.0f, 2.0f};
  std::array<float, 2> values{};
  std::array<std::int64_t, 2> positions{};
  const MatrixView row{.values = logits.data(), .rows = 1, .columns = 4, .row_stride = 16, .column_stride = 4};
  select_k(row, 2, {.values = values.data(), .positions = positions.data()}, {.largest = true});
  EXPECT_THAT(values, ElementsAre(2, 2));
  EXPECT_THAT(positions, ElementsAre(1, 3));
}

TEST(SelectK, OrderOfElements) {
  const std::vector<float> row = {kNan, 0.0f, -0.0f, kInfinity, -kInfinity, -kNan, 1.0f};
  const auto order = [&](bool largest, NanOrder nan) {
    return positions_of(row, 7, 7, {.largest = largest, .nan = nan});
  };
  EXPECT_THAT(order(false, NanOrder::last), ElementsAre(4, 1, 2, 6, 3, 0, 5));
  EXPECT_THAT(order(true, NanOrder::last), ElementsAre(3, 6, 1, 2, 4, 0, 5));
  EXPECT_THAT(order(false, NanOrder::first), ElementsAre(0, 5, 4, 1, 2, 6, 3));
  EXPECT_THAT(order(true, NanOrder::first), ElementsAre(0, 5, 3, 6, 1, 2, 4));
}

TEST(SelectK, TiesAtTheEndGoToTheLowerPositions) {
  EXPECT_THAT(positions_of({2, 1, 2, 1, 2, 0, 1, 0}, 4, 3, {}), ElementsAre(1, 3, 0, 1, 3, 2));
  EXPECT_THAT(positions_of({-0.0f, 0.0f, 3.0f}, 3, 1, {}), ElementsAre(0));
  EXPECT_THAT(positions_of({0.0f, -0.0f, -3.0f}, 3, 1, {.largest = true}), ElementsAre(0));
}

TEST(SelectK, NothingToSelect) {
  const std::vector<float> none;
  select_k(rows_of(none, 0, ElementType::float32), 0, {});                      // empty rows
  select_k(rows_of(none, 5, ElementType::float32), 5, {});                      // no rows
  select_k(rows_of(std::vector<float>{1, 2}, 2, ElementType::float32), 0, {});  // no elements of a row
  exec::select_in_batches({rows_of(std::vector<float>{1, 2}, 2, ElementType::float32), 0, 0}, 1, {}, {});
}

TEST(SelectK, ElementTypes) {
  const std::vector<std::uint16_t> halves = {0xfc00, 0x3c00, 0x8000, 0x7bff};  // -inf, 1, -0, 65504
  std::array<std::uint16_t, 2> values{};
  std::array<std::int32_t, 2> positions{};
  const SelectOutput output{values.data(), positions.data(), PositionType::int32};
  select_k(rows_of(halves, 4, ElementType::float16), 2, output);
  EXPECT_THAT(values, ElementsAre(0xfc00, 0x8000));
  EXPECT_THAT(positions, ElementsAre(0, 2));
  // 0x7bff is a number of bfloat16 too, and 0x7c00 above its infinity only as float16.
  const std::vector<std::uint16_t> bfloats = {0x7c00, 0x7f80, 0x7f81, 0x3f80};  // 2^121, inf, nan, 1
  select_k(rows_of(bfloats, 4, ElementType::bfloat16), 2, output, {.largest = true});
  EXPECT_THAT(positions, ElementsAre(1, 0));
  select_k(rows_of(halves, 4, ElementType::uint16), 2, output);
  EXPECT_THAT(positions, ElementsAre(1, 3));
  select_k(rows_of(halves, 4, ElementType::int16), 2, output);
  EXPECT_THAT(positions, ElementsAre(2, 0));
  EXPECT_EQ(to_string(ElementType::bfloat16), "bfloat16");
  EXPECT_EQ(to_string(ElementType::uint64), "uint64");
  static_assert(width_in_bytes(ElementType::bfloat16) == 2 && width_in_bytes(ElementType::int64) == 8);
}

TEST(SelectK, AnyNumberOfThreadsGivesTheSame) {
  std::vector<float> row(500'000);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i * 7919 % 1009);
  const auto one = positions_of(row, 500'000, 2000, {.threads = 1});
  EXPECT_EQ(positions_of(row, 500'000, 2000, {.threads = 4}), one);
  EXPECT_EQ(positions_of(row, 500'000, 2000, {}), one);
}

template <class E>
void expect_error(const std::string& message, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown: " << message;
  } catch (const E& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(SelectK, SaysWhatIsWrong) {
  const std::vector<float> values = {1, 2, 3, 4};
  std::array<float, 4> selected{};
  std::array<std::int64_t, 4> positions{};
  const SelectOutput output{selected.data(), positions.data()};
  const MatrixView matrix = rows_of(values, 2, ElementType::float32);
  expect_error<DataError>("k is 0 to the number of elements of a row, which is 2; it is 3",
                          [&] { select_k(matrix, 3, output); });
  expect_error<DataError>("it is -1", [&] { select_k(matrix, -1, output); });
  expect_error<DataError>("which is 0; it is 1",
                          [&] { select_k(rows_of(values, 0, ElementType::float32), 1, output); });
  MatrixView wrong = matrix;
  wrong.rows = -1;
  expect_error<DataError>("0 or more rows, not -1", [&] { select_k(wrong, 1, output); });
  wrong = matrix;
  wrong.columns = -2;
  expect_error<DataError>("0 or more columns, not -2", [&] { select_k(wrong, 0, output); });
  wrong = matrix;
  wrong.values = nullptr;
  expect_error<DataError>("its values are a null pointer", [&] { select_k(wrong, 1, output); });
  expect_error<DataError>("the output of a selection is a null pointer", [&] { select_k(matrix, 1, {}); });
  wrong = matrix;
  wrong.type = static_cast<ElementType>(77);
  expect_error<DataError>("there is no element type 77", [&] { select_k(wrong, 1, output); });
  wrong = matrix;
  wrong.columns = (std::int64_t{1} << 31) + 1;
  expect_error<DataError>("int32 positions count up to 2^31 columns, not 2147483649", [&] {
    select_k(wrong, 1, {selected.data(), positions.data(), PositionType::int32});
  });
}

TEST(SelectK, Stops) {
  const std::vector<float> row(1'000'000);
  std::stop_source source;
  source.request_stop();
  expect_error<CancelledError>("the selection was cancelled",
                               [&] { positions_of(row, 1'000'000, 1, {.stop = source.get_token()}); });
}

TEST(SelectK, OnADeviceChecksItsArguments) {
  const std::vector<float> values = {1, 2, 3, 4};
  const MatrixView matrix = rows_of(values, 2, ElementType::float32);
  EXPECT_EQ(select_k_workspace_bytes(matrix, 0, PositionType::int64), 0u);
  select_k(matrix, 0, {}, {}, nullptr, 0, nullptr);
  expect_error<DataError>("it is 3", [&] { select_k_workspace_bytes(matrix, 3, PositionType::int64); });
  expect_error<DataError>("it is 3", [&] { select_k(matrix, 3, {}, {}, nullptr, 0, nullptr); });
  expect_error<DataError>("null pointer", [&] { select_k(matrix, 1, {}, {}, nullptr, 0, nullptr); });
}

}  // namespace
}  // namespace skyrank

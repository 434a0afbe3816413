#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/select.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/cuda/device_copies.hpp"

// Selection from the rows of a matrix, against a stable sort of each row on the host.
namespace skyrank::kernels::tests {
namespace {

using SelectRowsOnGpu = skyrank::gpu_testing::GpuTest;
using Type = kernels::Element;

constexpr Type kTypes[] = {Type::int8,   Type::int16,  Type::int32,   Type::int64,    Type::uint8,   Type::uint16,
                           Type::uint32, Type::uint64, Type::float16, Type::bfloat16, Type::float32, Type::float64};

/// Returns the value of a float's bits, in a type that all its values fit.
double float_of(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::float32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Type::bfloat16: return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case Type::float64: return std::bit_cast<double>(bits);
    default: break;
  }
  const bool negative = (bits >> 15 & 1) != 0;
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto mantissa = static_cast<double>(bits & 1023);
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return negative ? -value : value;
}

/// A matrix in the host's memory, row after row.
struct Matrix {
  Type type;
  std::size_t rows;
  std::size_t columns;
  std::vector<std::byte> bytes;

  std::uint64_t bits(std::size_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + place * bytes_of(type), bytes_of(type));
    return value;
  }
};

/// Returns true if element a comes before b, by the meaning of the type's numbers.
bool comes_before(Type type, std::uint64_t a, std::uint64_t b, bool largest, bool nan_first) {
  if (is_float(type)) {
    const double x = float_of(type, a);
    const double y = float_of(type, b);
    if (std::isnan(x) || std::isnan(y))
      return nan_first ? std::isnan(x) && !std::isnan(y) : !std::isnan(x) && std::isnan(y);
    return largest ? x > y : x < y;
  }
  if (is_signed(type)) {
    const int unused = 64 - 8 * static_cast<int>(bytes_of(type));
    const std::int64_t x = static_cast<std::int64_t>(a << unused) >> unused;
    const std::int64_t y = static_cast<std::int64_t>(b << unused) >> unused;
    return largest ? x > y : x < y;
  }
  return largest ? a > b : a < b;
}

struct How {
  std::size_t k;
  bool largest = false;
  bool nan_first = false;
  bool wide = true;
};

/// Positions of the k best of each row, of equal ones the first.
std::vector<std::int64_t> expected(const Matrix& matrix, const How& how) {
  std::vector<std::int64_t> answer;
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    std::vector<std::int64_t> places(matrix.columns);
    std::iota(places.begin(), places.end(), 0);
    std::vector<std::uint64_t> numbers(matrix.columns);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = matrix.bits(row * matrix.columns + i);
    const auto before = [&](std::int64_t a, std::int64_t b) {
      return comes_before(matrix.type, numbers[static_cast<std::size_t>(a)], numbers[static_cast<std::size_t>(b)],
                          how.largest, how.nan_first);
    };
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(how.k);
    std::partial_sort(places.begin(), end, places.end(),
                      [&](std::int64_t a, std::int64_t b) { return before(a, b) || (a < b && !before(b, a)); });
    answer.insert(answer.end(), places.begin(), end);
  }
  return answer;
}

/// The strides of a matrix on the device: columns apart, rows apart, and bytes before the first.
struct Strides {
  std::size_t column = 1;
  std::size_t gap = 0;   ///< elements after each row
  std::size_t lead = 0;  ///< elements before the first row
};

/// Bytes behind a workspace, which stay as they are.
constexpr std::ptrdiff_t kGuardBytes = 4096;
constexpr std::byte kGuard{0x5a};

/// Selects on the device and compares positions, and values bit by bit.
void expect_selected(const Matrix& matrix, const How& how, const Strides& strides = {}) {
  cuda::DeviceContext device;
  const cuda::Lease lease(device);
  const std::size_t width = bytes_of(matrix.type);
  const std::size_t row_length = matrix.columns * strides.column + strides.gap;
  std::vector<std::byte> spread((strides.lead + matrix.rows * row_length) * width);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t column = 0; column < matrix.columns; ++column) {
      std::memcpy(spread.data() + (strides.lead + row * row_length + column * strides.column) * width,
                  matrix.bytes.data() + (row * matrix.columns + column) * width, width);
    }
  }
  const auto there = on_device(spread, device);
  const std::size_t selected = matrix.rows * how.k;
  auto values = device.allocate<std::byte>(selected * width);
  auto positions = device.allocate<std::byte>(selected * (how.wide ? 8 : 4));
  const SelectProblem problem{.values = there.data() + strides.lead * width,
                              .element = matrix.type,
                              .rows = static_cast<std::int64_t>(matrix.rows),
                              .columns = static_cast<std::int64_t>(matrix.columns),
                              .row_stride = static_cast<std::int64_t>(row_length * width),
                              .column_stride = static_cast<std::int64_t>(strides.column * width),
                              .k = static_cast<std::int64_t>(how.k),
                              .largest = how.largest,
                              .nan_first = how.nan_first,
                              .selected_values = values.data(),
                              .selected_positions = positions.data(),
                              .wide_positions = how.wide};
  const std::size_t bytes = cuda::select_workspace_bytes(problem);
  const std::vector<std::byte> guarded(bytes + kGuardBytes, kGuard);
  const auto workspace = on_device(guarded, device);
  cuda::select_rows(problem, workspace.data(), bytes, device.stream());
  const std::vector<std::byte> after = on_host(workspace, device);
  EXPECT_TRUE(std::all_of(after.end() - kGuardBytes, after.end(), [](std::byte byte) { return byte == kGuard; }))
      << "written behind the workspace";
  const std::vector<std::byte> found_values = on_host(values, device);
  const std::vector<std::byte> found_positions = on_host(positions, device);
  const std::vector<std::int64_t> wanted = expected(matrix, how);
  for (std::size_t i = 0; i < selected; ++i) {
    std::int64_t position = 0;
    std::int32_t narrow = 0;
    if (how.wide) {
      std::memcpy(&position, found_positions.data() + i * 8, 8);
    } else {
      std::memcpy(&narrow, found_positions.data() + i * 4, 4);
      position = narrow;
    }
    ASSERT_EQ(position, wanted[i]) << "rank " << i % how.k << " of row " << i / how.k << ", type "
                                   << static_cast<int>(matrix.type) << ", " << matrix.rows << " x " << matrix.columns
                                   << ", k " << how.k;
    const std::size_t from = i / how.k * matrix.columns + static_cast<std::size_t>(position);
    ASSERT_EQ(std::memcmp(found_values.data() + i * width, matrix.bytes.data() + from * width, width), 0)
        << "rank " << i % how.k << " of row " << i / how.k << ", type " << static_cast<int>(matrix.type) << ", k "
        << how.k;
  }
}

/// Random bits: of floats a few are NaN of either sign and any payload, zeros of both signs and infinities.
Matrix random_matrix(Type type, std::size_t rows, std::size_t columns, unsigned seed, std::uint64_t distinct = 0) {
  std::mt19937_64 engine(seed);
  Matrix matrix{type, rows, columns, std::vector<std::byte>(rows * columns * bytes_of(type))};
  const int width = 8 * static_cast<int>(bytes_of(type));
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    std::uint64_t bits = distinct == 0 ? engine() : engine() % distinct;
    if (is_float(type) && engine() % 8 == 0) bits = (engine() % 2) * sign;
    std::memcpy(matrix.bytes.data() + i * bytes_of(type), &bits, bytes_of(type));
  }
  return matrix;
}

TEST_F(SelectRowsOnGpu, EveryType) {
  unsigned seed = 0;
  for (const Type type : kTypes) {
    for (const bool largest : {false, true}) {
      for (const std::size_t columns : {1, 37, 300, 5000}) {
        const Matrix matrix = random_matrix(type, 3, columns, ++seed);
        expect_selected(matrix,
                        {.k = std::min<std::size_t>(columns, 40), .largest = largest, .nan_first = seed % 2 == 0});
        expect_selected(matrix, {.k = 1, .largest = largest, .wide = false});
      }
    }
  }
}

TEST_F(SelectRowsOnGpu, FewDistinctNumbers) {
  unsigned seed = 100;
  for (const Type type : kTypes) {
    for (const std::uint64_t distinct : {1, 3, 40}) {
      const Matrix matrix = random_matrix(type, 2, 9000, ++seed, distinct);
      for (const std::size_t k : {1, 100, 1000}) expect_selected(matrix, {.k = k, .largest = seed % 2 == 0});
    }
  }
}

/// Returns the number of rows from which on several blocks no longer read each of them.
std::size_t many_rows() {
  return cuda::select::LongPolicy::kBlocksOfProcessor * cuda::properties_of(0).multiprocessors;
}

// Rows of an odd length that several blocks read, and as many that each is divided into parts.
TEST_F(SelectRowsOnGpu, DividedRows) {
  for (const Type type : {Type::float32, Type::bfloat16, Type::int8, Type::int64}) {
    const Matrix one = random_matrix(type, 1, 70'001, 5);
    for (const std::size_t k : {1, 32, 1000}) expect_selected(one, {.k = k, .largest = true, .wide = false});
    const Matrix few = random_matrix(type, 3, 40'003, 6, 1000);
    for (const std::size_t k : {1, 300}) expect_selected(few, {.k = k});
  }
  expect_selected(random_matrix(Type::float32, many_rows(), 33'001, 8, 1000), {.k = 32, .wide = false}, {.gap = 1});
}

// Both sides of each boundary in the policies' table; rows of more than 2^30 columns have a test of their own.
TEST_F(SelectRowsOnGpu, BoundariesOfThePolicies) {
  using cuda::select::LongPolicy, cuda::select::OnePolicy, cuda::select::PartPolicy, cuda::select::RowPolicy;
  constexpr std::size_t kWidth = 4;
  unsigned seed = 400;
  const auto expect = [&](std::size_t rows, std::size_t columns, std::size_t k) {
    ++seed;
    expect_selected(random_matrix(Type::float32, rows, columns, seed), {.k = k, .largest = seed % 2 == 0});
  };
  const auto expect_around = [&](std::size_t columns, std::size_t k) {
    for (const std::size_t wanted : {k, k + 1}) expect(2, columns, wanted);
  };
  const std::size_t processors = cuda::properties_of(0).multiprocessors;
  // A warp or a block a row.
  for (const std::size_t bytes : {RowPolicy::kMaxBytesOfFewRows, RowPolicy::kMaxBytesOfWarp}) {
    for (const std::size_t columns : {bytes / kWidth, bytes / kWidth + 1}) {
      for (const std::size_t k : {RowPolicy::kMaxWantedOfWarp, RowPolicy::kMaxWantedOfRoomyWarp}) {
        expect_around(columns, k);
        expect(RowPolicy::kManyRowsOfProcessor * processors, columns, k);
      }
      expect(RowPolicy::kManyRowsOfProcessor * processors - 1, columns, RowPolicy::kMaxWantedOfWarp);
    }
  }
  for (const std::size_t k : {RowPolicy::kMaxWantedOfBlock, RowPolicy::kMaxWanted}) expect_around(4000, k);
  // Several blocks a row: long enough, few enough, and not too many wanted for the groups of so many blocks.
  constexpr std::size_t kGroups = LongPolicy::Shape::kThreads * LongPolicy::Shape::kGroups;
  constexpr std::size_t kLong = LongPolicy::kMinBlocks * (kGroups + 4) * 16 / kWidth;
  static_assert(LongPolicy::blocks_of(1, kLong, 2, kWidth, 100) > 0 &&
                LongPolicy::blocks_of(1, kLong - 1, 2, kWidth, 100) == 0);
  for (const std::size_t columns : {kLong - 1, kLong}) {
    for (const std::size_t k : {LongPolicy::kMinWanted - 1, LongPolicy::kMinBlocks * kGroups * 2 / 3}) {
      expect_around(columns, k);
    }
  }
  for (const std::size_t less : {0, 1}) expect(many_rows() - less, kLong, 10);
  // Parts of rows: from a length on, and up to a number of rows.
  for (const std::size_t less : {0, 1}) {
    expect(many_rows(), 2 * PartPolicy::kMinColumns - less, 10);
    expect(1, 2 * OnePolicy::kMinWords * 16 / kWidth - less, 1);
  }
}

#ifndef SKYRANK_EMULATED
// More rows, and more wanted numbers of them, than several blocks put in order.
TEST_F(SelectRowsOnGpu, ManyLongRowsWithManyWanted) {
  for (const std::size_t more : {0, 1}) {
    const std::size_t rows = cuda::select::LongPolicy::kMaxSortedRows + more;
    expect_selected(random_matrix(Type::float32, rows, 30'000, 500), {.k = cuda::select::RowPolicy::kMaxWanted + 1});
  }
}
#endif

/// The columns 0 to n - 1 as numbers, ascending or descending.
Matrix sorted_row(std::size_t n, bool ascending) {
  Matrix matrix{Type::int32, 1, n, std::vector<std::byte>(n * 4)};
  for (std::size_t i = 0; i < n; ++i) {
    const auto number = static_cast<std::int32_t>(ascending ? i : n - i);
    std::memcpy(matrix.bytes.data() + i * 4, &number, 4);
  }
  return matrix;
}

// Rows that several blocks read: few and many groups, few and many wanted numbers, ties in a part of the row.
TEST_F(SelectRowsOnGpu, LongRows) {
  unsigned seed = 200;
  for (const Type type : {Type::float32, Type::bfloat16, Type::uint8, Type::int64}) {
    const Matrix one = random_matrix(type, 1, 150'001, ++seed);
    for (const std::size_t k : {1, 300, 2048, 2049, 9000}) {
      expect_selected(one, {.k = k, .largest = seed % 2 == 0, .nan_first = seed % 3 == 0});
    }
    const Matrix tied = random_matrix(type, 2, 80'003, ++seed, 3);
    for (const std::size_t k : {1, 2000, 5000}) expect_selected(tied, {.k = k}, {.gap = 1, .lead = 1});
  }
  for (const bool ascending : {false, true}) {
    const Matrix sorted = sorted_row(200'000, ascending);
    for (const std::size_t k : {100, 2048, 20'000}) expect_selected(sorted, {.k = k});
  }
}

// All wanted numbers in a few groups, and equal numbers behind the middle of the row.
TEST_F(SelectRowsOnGpu, LongRowsOfUnevenNumbers) {
  constexpr std::size_t kColumns = 131'072;
  for (const std::size_t every : {64, 2048, 8192}) {
    Matrix matrix = random_matrix(Type::uint32, 1, kColumns, 300);
    for (std::size_t i = 0; i < kColumns; i += every) std::memset(matrix.bytes.data() + i * 4 + 3, 0, 1);
    for (const std::size_t k : {10, 1000, 4000}) expect_selected(matrix, {.k = k});
  }
  Matrix late = random_matrix(Type::uint8, 1, kColumns, 301);
  for (std::size_t i = 0; i < kColumns; ++i) late.bytes[i] |= static_cast<std::byte>(i < kColumns / 2);
  for (const std::size_t k : {10, 200, 300, 3000}) expect_selected(late, {.k = k});
}

TEST_F(SelectRowsOnGpu, MoreThanABlockSelects) {
  for (const Type type : {Type::float32, Type::float16, Type::uint8, Type::float64}) {
    for (const std::size_t columns : {2500, 10'000}) {
      const Matrix matrix = random_matrix(type, 3, columns, 7);
      for (const std::size_t k : {std::size_t{2049}, columns}) {
        expect_selected(matrix, {.k = k, .largest = true});
        expect_selected(matrix, {.k = k, .nan_first = true, .wide = false});
      }
    }
  }
}

// Sorted either way, and each number better than those before it but for a few.
TEST_F(SelectRowsOnGpu, SortedRows) {
  for (const std::size_t columns : {1000, 20'000, 70'000}) {
    Matrix matrix{Type::int32, 2, columns, std::vector<std::byte>(2 * columns * 4)};
    for (std::size_t i = 0; i < 2 * columns; ++i) {
      const auto number = static_cast<std::int32_t>(i % columns);
      std::memcpy(matrix.bytes.data() + i * 4, &number, 4);
    }
    for (const std::size_t k : {1, 64, 2000}) {
      for (const bool largest : {false, true}) expect_selected(matrix, {.k = std::min(k, columns), .largest = largest});
    }
  }
}

// Neighbours that are all among the best, as the parts of a row leave them: ascending runs of several lengths.
TEST_F(SelectRowsOnGpu, AscendingRuns) {
  std::mt19937 engine(3);
  for (const std::size_t columns : {2048, 16'384, 65'536}) {
    for (const std::size_t run : {16, 700, 2048}) {
      std::vector<float> numbers(columns);
      for (float& number : numbers) number = std::normal_distribution<float>()(engine);
      for (std::size_t i = 0; i < columns; i += run) {
        std::sort(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                  numbers.begin() + static_cast<std::ptrdiff_t>(std::min(i + run, columns)));
      }
      Matrix matrix{Type::float32, 1, columns, std::vector<std::byte>(columns * 4)};
      std::memcpy(matrix.bytes.data(), numbers.data(), columns * 4);
      for (const std::size_t k : {10, 64, 100, 256, 1024, 2048}) expect_selected(matrix, {.k = k});
    }
  }
}

TEST_F(SelectRowsOnGpu, StridesAndOffsets) {
  for (const Type type : {Type::uint8, Type::float16, Type::float32, Type::float64}) {
    const Matrix matrix = random_matrix(type, 3, 6000, 9);
    expect_selected(matrix, {.k = 50}, {.gap = 3, .lead = 1});
    expect_selected(matrix, {.k = 50}, {.column = 2, .gap = 1});
    expect_selected(matrix, {.k = 3000}, {.gap = 5, .lead = 1});
    expect_selected(matrix, {.k = 3000}, {.column = 3});
  }
}

// Shapes, types and values of every kind; on the emulator fewer, as it takes a thousand times as long.
TEST_F(SelectRowsOnGpu, RandomCalls) {
#ifdef SKYRANK_EMULATED
  constexpr int kCalls = 60;
  constexpr double kMaxLogColumns = 14;
#else
  constexpr int kCalls = 4000;
  constexpr double kMaxLogColumns = 19;
#endif
  std::mt19937 engine(11);
  const auto up_to = [&](double log) {
    return static_cast<std::size_t>(std::exp2(std::uniform_real_distribution<>(0, log)(engine)));
  };
  for (int call = 0; call < kCalls && !HasFatalFailure(); ++call) {
    const std::size_t columns = up_to(call % 8 == 0 ? kMaxLogColumns : 14);
    const std::size_t rows =
        std::min<std::size_t>(up_to(8), std::max<std::size_t>(1, (std::size_t{1} << 17) / columns));
    const Type type = kTypes[engine() % std::size(kTypes)];
    const std::uint64_t distinct = engine() % 3 == 0 ? 1 + engine() % 50 : 0;
    const std::size_t k = std::min(up_to(engine() % 4 == 0 ? 14 : 8), columns);
    SCOPED_TRACE(call);
    expect_selected(random_matrix(type, rows, columns, static_cast<unsigned>(call), distinct),
                    {.k = k, .largest = engine() % 2 == 0, .nan_first = engine() % 2 == 0, .wide = engine() % 2 == 0},
                    {.column = engine() % 8 == 0 ? 2U : 1U, .gap = engine() % 3, .lead = engine() % 5});
  }
}

TEST_F(SelectRowsOnGpu, RefusesASmallWorkspace) {
  const SelectProblem problem{.rows = 1, .columns = 100'000, .row_stride = 400'000, .column_stride = 4, .k = 5};
  EXPECT_GT(cuda::select_workspace_bytes(problem), 0U);
  EXPECT_EQ(cuda::select_rows(problem, nullptr, 0, nullptr), cuda::select_workspace_bytes(problem));
}

}  // namespace
}  // namespace skyrank::kernels::tests

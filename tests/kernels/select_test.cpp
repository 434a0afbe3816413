#include "kernels/cpu/select/select.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/common/select/problem.hpp"
#include "kernels/cpu/select/sample.hpp"
#include "kernels/cpu/select/sort_by_value.hpp"
#include "kernels/cpu/threads.hpp"

// Tests selection in rows against a stable sort of what the elements stand for.
namespace skyrank::kernels {
namespace {

constexpr Element kElements[] = {Element::int8,    Element::int16,    Element::int32,   Element::int64,
                                 Element::uint8,   Element::uint16,   Element::uint32,  Element::uint64,
                                 Element::float16, Element::bfloat16, Element::float32, Element::float64};

/// Returns the number that bits stand for, by the definition of the formats: a float has this many bits of fraction.
long double float_of(std::uint64_t bits, int width, int fraction_bits) {
  const int exponent_bits = width - 1 - fraction_bits;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const auto exponent = static_cast<int>(bits >> fraction_bits & ((std::uint64_t{1} << exponent_bits) - 1));
  const int greatest = (1 << exponent_bits) - 1;
  const int bias = greatest / 2;
  long double magnitude = 0;
  if (exponent == greatest) {
    magnitude =
        fraction == 0 ? std::numeric_limits<long double>::infinity() : std::numeric_limits<long double>::quiet_NaN();
  } else {
    const std::uint64_t digits = exponent == 0 ? fraction : fraction | std::uint64_t{1} << fraction_bits;
    magnitude = std::ldexp(static_cast<long double>(digits), std::max(exponent, 1) - bias - fraction_bits);
  }
  return (bits >> (width - 1) & 1) != 0 ? -magnitude : magnitude;
}

long double number_of(Element element, std::uint64_t bits) {
  switch (element) {
    case Element::int8: return static_cast<std::int8_t>(bits);
    case Element::int16: return static_cast<std::int16_t>(bits);
    case Element::int32: return static_cast<std::int32_t>(bits);
    case Element::int64: return static_cast<long double>(static_cast<std::int64_t>(bits));
    case Element::float16: return float_of(bits, 16, 10);
    case Element::bfloat16: return float_of(bits, 16, 7);
    case Element::float32: return float_of(bits, 32, 23);
    case Element::float64: return float_of(bits, 64, 52);
    default: return static_cast<long double>(bits);
  }
}

/// Asks for a selection.
struct Asked {
  std::size_t k = 1;
  bool largest = false;
  bool nan_first = false;
  bool sorted = true;
  bool wide = true;
};

/// Returns the positions of the k best elements of a row.
std::vector<std::int64_t> expected_positions(Element element, const std::vector<std::uint64_t>& row,
                                             const Asked& asked) {
  std::vector<long double> numbers;
  for (const std::uint64_t bits : row) numbers.push_back(number_of(element, bits));
  std::vector<std::int64_t> positions(row.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](std::int64_t a, std::int64_t b) {
    const long double x = numbers[static_cast<std::size_t>(a)];
    const long double y = numbers[static_cast<std::size_t>(b)];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) != std::isnan(y) && std::isnan(x) == asked.nan_first;
    return asked.largest ? x > y : x < y;
  });
  positions.resize(asked.k);
  return positions;
}

/// Elements by their bits, in memory with any strides.
class Matrix {
 public:
  /// The layouts of rows: next to each other, with gaps, side by side, backwards, and at odd addresses.
  static constexpr int kLayouts = 5;

  Matrix(Element element, const std::vector<std::vector<std::uint64_t>>& rows, int layout) {
    const auto width = static_cast<std::int64_t>(bytes_of(element));
    const auto n = static_cast<std::int64_t>(rows.size());
    const auto columns = rows.empty() ? 0 : static_cast<std::int64_t>(rows.front().size());
    std::int64_t row_stride = columns * width;
    std::int64_t column_stride = width;
    std::int64_t first = 0;
    if (layout == 1) row_stride = (columns + 3) * width;
    if (layout == 2) {
      row_stride = width;
      column_stride = n * width;
    }
    if (layout == 3) {
      column_stride = -2 * width;
      row_stride = -2 * columns * width;
      first = std::max<std::int64_t>(2 * columns * n - 1, 0) * width;
    }
    if (layout == 4) {
      row_stride = columns * width + 1;
      first = 1;
    }
    memory_.resize(static_cast<std::size_t>((2 * columns + 3) * n * width + n + 8));
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        std::memcpy(memory_.data() + first + r * row_stride + c * column_stride,
                    &rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)], static_cast<std::size_t>(width));
      }
    }
    problem_.values = memory_.data() + first;
    problem_.element = element;
    problem_.rows = n;
    problem_.columns = columns;
    problem_.row_stride = row_stride;
    problem_.column_stride = column_stride;
  }

  SelectProblem problem(const Asked& asked) const {
    SelectProblem problem = problem_;
    problem.k = static_cast<std::int64_t>(asked.k);
    problem.largest = asked.largest;
    problem.nan_first = asked.nan_first;
    problem.sorted = asked.sorted;
    problem.wide_positions = asked.wide;
    return problem;
  }

 private:
  std::vector<std::byte> memory_;
  SelectProblem problem_;
};

/// Positions and bits of an answer, row after row.
struct Answer {
  std::vector<std::int64_t> positions;
  std::vector<std::uint64_t> values;

  bool operator==(const Answer&) const = default;
};

Answer answer_of(SelectProblem problem, const SelectBatches& batches = {}) {
  const auto count = static_cast<std::size_t>(problem.rows * batches.count * problem.k);
  const std::size_t width = bytes_of(problem.element);
  std::vector<std::byte> values(count * width);
  std::vector<std::int64_t> positions(count);
  std::vector<std::int32_t> narrow(count);
  problem.selected_values = values.data();
  problem.selected_positions = problem.wide_positions ? static_cast<void*>(positions.data()) : narrow.data();
  select_rows(problem, batches, {});
  if (!problem.wide_positions) positions.assign(narrow.begin(), narrow.end());
  Answer answer{positions, std::vector<std::uint64_t>(count)};
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&answer.values[i], values.data() + i * width, width);
  return answer;
}

/// Puts the positions of each row, and its values along with them, into ascending order.
void sort_rows(Answer& answer, std::size_t k) {
  for (std::size_t begin = 0; begin < answer.positions.size(); begin += k) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> row;
    for (std::size_t i = begin; i < begin + k; ++i) row.emplace_back(answer.positions[i], answer.values[i]);
    std::sort(row.begin(), row.end());
    for (std::size_t i = 0; i < k; ++i) std::tie(answer.positions[begin + i], answer.values[begin + i]) = row[i];
  }
}

Answer expected(Element element, const std::vector<std::vector<std::uint64_t>>& rows, const Asked& asked) {
  Answer answer;
  for (const auto& row : rows) {
    for (const std::int64_t position : expected_positions(element, row, asked)) {
      answer.positions.push_back(position);
      answer.values.push_back(row[static_cast<std::size_t>(position)]);
    }
  }
  if (!asked.sorted) sort_rows(answer, asked.k);
  return answer;
}

std::string words_of(Element element, const Asked& asked, int layout) {
  return "element " + std::to_string(static_cast<int>(element)) + ", k " + std::to_string(asked.k) +
         (asked.largest ? ", largest" : "") + (asked.nan_first ? ", nan first" : "") +
         (asked.sorted ? ", sorted" : "") + ", layout " + std::to_string(layout);
}

/// Expects the same of 1 and of 4 threads.
void expect_selection(Element element, const std::vector<std::vector<std::uint64_t>>& rows, const Asked& asked,
                      int layout) {
  const Answer right = expected(element, rows, asked);
  const Matrix matrix(element, rows, layout);
  for (const int threads : {1, 4}) {
    Answer found;
    const WorkerThreads workers(threads);
    tbb::task_arena(workers.count()).execute([&] { found = answer_of(matrix.problem(asked)); });
    if (!asked.sorted) sort_rows(found, asked.k);
    ASSERT_EQ(found.positions, right.positions) << words_of(element, asked, layout) << ", threads " << threads;
    ASSERT_EQ(found.values, right.values) << words_of(element, asked, layout) << ", threads " << threads;
  }
}

/// Bits at the ends of a type, around zero, and NaN of both signs and several payloads.
std::vector<std::uint64_t> special_bits(Element element) {
  const int width = 8 * static_cast<int>(bytes_of(element));
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  std::vector<std::uint64_t> special = {0, 1, 2, sign - 2, sign - 1};
  if (is_float(element)) {
    const int fraction = element == Element::float16    ? 10
                         : element == Element::bfloat16 ? 7
                         : element == Element::float32  ? 23
                                                        : 52;
    const std::uint64_t infinity = sign - (std::uint64_t{1} << fraction);
    for (const std::uint64_t bits : {infinity - 1, infinity, infinity + 1, infinity | infinity >> 1})
      special.push_back(bits);
  }
  const std::size_t half = special.size();
  for (std::size_t i = 0; i < half; ++i) special.push_back(special[i] | sign);
  return special;
}

/// Returns the vector targets to test: 0, which stands for the best one, and others where the build has several.
std::vector<std::int64_t> targets_of_build() {
  std::vector<std::int64_t> targets{0};
#if !defined(HWY_COMPILE_ONLY_STATIC)
  for (const std::int64_t target : {HWY_AVX2, HWY_SCALAR}) {
    if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
#endif
  return targets;
}

/// Runs the vector code of one target while it lives.
class TargetScope {
 public:
  explicit TargetScope(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~TargetScope() { hwy::SetSupportedTargetsForTest(0); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;
};

/// Rows: of any bits, of special ones, of three values, of one; mostly zeros, or NaN; sorted.
enum class Kind : std::uint8_t { random, special, few, equal, zeros, nans, ascending, descending };
constexpr Kind kKinds[] = {Kind::random, Kind::special, Kind::few,       Kind::equal,
                           Kind::zeros,  Kind::nans,    Kind::ascending, Kind::descending};

std::vector<std::uint64_t> row_of(Element element, std::size_t columns, Kind kind, std::mt19937_64& random) {
  const int width = 8 * static_cast<int>(bytes_of(element));
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const std::vector<std::uint64_t> special = special_bits(element);
  const std::uint64_t other = random() & mask;
  std::vector<std::uint64_t> row(columns);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  for (std::uint64_t& bits : row) {
    bits = random() & mask;
    const bool is_most = random() % 16 != 0;
    if (kind == Kind::special) bits = special[bits % special.size()];
    if (kind == Kind::few) bits = bits % 3 == 0 ? other : special[bits % 2];
    if (kind == Kind::equal) bits = other;
    if (kind == Kind::zeros && is_most) bits &= sign;
    if (kind == Kind::nans && is_most) bits |= sign - 1 - (sign >> 7);  // of floats: all bits of the exponent are set
  }
  if (kind == Kind::ascending || kind == Kind::descending) {
    std::sort(row.begin(), row.end(), [&](std::uint64_t a, std::uint64_t b) {
      const long double x = number_of(element, a);
      const long double y = number_of(element, b);
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return kind == Kind::ascending ? x < y : x > y;
    });
  }
  return row;
}

Asked asked_by(std::uint64_t bits, std::size_t k) {
  return {k, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
}

RC_GTEST_PROP(SelectRows, IsAStableSort, ()) {
  const auto element = *rc::gen::elementOf(std::vector<Element>(std::begin(kElements), std::end(kElements)));
  const auto columns = *rc::gen::inRange<std::size_t>(1, 400);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 9);
  const auto kind = *rc::gen::elementOf(std::vector<Kind>(std::begin(kKinds), std::end(kKinds)));
  const auto k = *rc::gen::inRange<std::size_t>(1, columns + 1);
  const auto layout = *rc::gen::inRange(0, Matrix::kLayouts);
  const Asked asked = asked_by(*rc::gen::inRange<std::uint64_t>(0, 16), k);
  const TargetScope scope(*rc::gen::elementOf(targets_of_build()));
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<std::vector<std::uint64_t>> matrix;
  for (std::size_t r = 0; r < rows; ++r) matrix.push_back(row_of(element, columns, kind, random));
  expect_selection(element, matrix, asked, layout);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

/// Sizes around those at which the code takes another path: vectors and groups of words, the first limit, stretches,
/// samples, and parts of rows.
TEST(SelectRows, SizesAroundEachBoundary) {
  std::mt19937_64 random(1);
  std::size_t turn = 0;
  for (const std::size_t size : {1, 2, 16, 32, 64, 128, 256, 320, 512, 1024, 8192, 8448, 16384, 32768}) {
    for (const std::size_t columns : {size - 1, size, size + 1}) {
      if (columns == 0) continue;
      for (const Element element : kElements) {
        const Kind kind = kKinds[turn % std::size(kKinds)];
        const std::size_t ks[] = {1, 2, columns / 4, columns / 4 + 1, columns / 2, columns - 1, columns};
        const std::size_t k = std::clamp<std::size_t>(ks[turn / 3 % std::size(ks)], 1, columns);
        std::vector<std::vector<std::uint64_t>> rows;
        for (std::size_t r = 0; r < 3; ++r) rows.push_back(row_of(element, columns, kind, random));
        const std::vector<std::int64_t> targets = targets_of_build();
        const TargetScope scope(targets[random() % targets.size()]);
        expect_selection(element, rows, asked_by(random(), k), static_cast<int>(turn % Matrix::kLayouts));
        ++turn;
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// One row that several threads share.
TEST(SelectRows, PartsOfARow) {
  std::mt19937_64 random(2);
  std::size_t turn = 0;
  for (const std::size_t columns : {(1 << 17) - 1, 1 << 17, (1 << 17) + 1, 200000}) {
    for (const Kind kind : kKinds) {
      const std::size_t ks[] = {1, 100, columns / 2, columns / 2 + 1};
      const Element element = kElements[turn * 5 % std::size(kElements)];
      const auto row = row_of(element, columns, kind, random);
      expect_selection(element, {row}, asked_by(random(), ks[turn % 4]), turn % 5 == 0 ? 3 : 0);
      ++turn;
      if (HasFatalFailure()) return;
    }
  }
}

/// The best elements are where samples are taken, and nowhere else: too few of them are up to the limit that these
/// tell.
TEST(SelectRows, SamplesThatMislead) {
  std::mt19937_64 random(3);
  const Asked asked{3000, false, false, true, true};
  for (const std::size_t columns : {100'000, 200'000}) {
    std::vector<std::uint64_t> row(columns);
    for (std::uint64_t& bits : row) bits = 0x40000000 + random() % 100'000;
    const std::size_t pieces = select::sampled_elements(columns, asked.k) / select::kPiece;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t first = select::begin_of_piece(piece, pieces, columns);
      for (std::size_t i = first; i < first + select::kPiece; ++i) row[i] = random() % 100'000;
    }
    for (const int layout : {0, 3}) {
      expect_selection(Element::float32, {row}, asked, layout);
      expect_selection(Element::int32, {row}, asked, layout);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SelectRows, MatricesOneAfterTheOther) {
  std::mt19937_64 random(4);
  // Shape (4, 50, 3): the second axis is selected from, so that rows lie side by side in four matrices.
  std::vector<std::uint16_t> values(600);
  for (std::uint16_t& value : values) value = static_cast<std::uint16_t>(random() % 20);
  SelectProblem problem;
  problem.values = values.data();
  problem.element = Element::uint16;
  problem.rows = 3;
  problem.columns = 50;
  problem.row_stride = 2;
  problem.column_stride = 6;
  problem.k = 7;
  std::vector<std::vector<std::uint64_t>> rows;
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    for (std::size_t row = 0; row < 3; ++row) {
      rows.emplace_back();
      for (std::size_t i = 0; i < 50; ++i) rows.back().push_back(values[matrix * 150 + i * 3 + row]);
    }
  }
  EXPECT_EQ(answer_of(problem, {4, 300}), expected(Element::uint16, rows, {7}));
}

/// Pages of zeros that take no memory until they are written.
class ZeroPages {
 public:
  explicit ZeroPages(std::size_t bytes) : bytes_(bytes) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  }
  ~ZeroPages() {
    if (is_mapped()) munmap(memory_, bytes_);
  }
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;

  bool is_mapped() const { return memory_ != MAP_FAILED; }
  std::int8_t* data() const { return static_cast<std::int8_t*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

TEST(SelectRows, PositionsBeyond32Bits) {
  constexpr std::int64_t kFar = (std::int64_t{1} << 32) + 5;
  const ZeroPages pages(kFar + 100);
  ASSERT_TRUE(pages.is_mapped());
  pages.data()[kFar] = -1;
  pages.data()[kFar + 7] = -2;
  SelectProblem problem;
  problem.values = pages.data();
  problem.element = Element::int8;
  problem.rows = 1;
  problem.columns = kFar + 100;
  problem.column_stride = 1;
  problem.k = 4;
  EXPECT_EQ(answer_of(problem).positions, (std::vector<std::int64_t>{kFar + 7, kFar, 0, 1}));
}

TEST(SelectRows, Stops) {
  const std::vector<float> values(1 << 20);
  std::stop_source source;
  source.request_stop();
  Context context;
  context.stop = source.get_token();
  float value = 0;
  std::int64_t position = 0;
  SelectProblem problem;
  problem.values = values.data();
  problem.rows = 1;
  problem.columns = 1 << 20;
  problem.row_stride = problem.column_stride = 4;
  problem.k = 1;
  problem.selected_values = &value;
  problem.selected_positions = &position;
  EXPECT_THROW(select_rows(problem, {}, context), Cancelled);
}

TEST(SortByValue, IsAStableSortOfRows) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::size_t n : {0, 1, 2, 1000, 140'000}) {
    std::mt19937_64 random(n);
    std::vector<double> values(n);
    for (double& value : values) {
      const std::uint64_t kind = random() % 20;
      value = static_cast<double>(random() % 500) - 250;
      if (kind == 0) value = -0.0;
      if (kind == 1) value = 0.0;
      if (kind == 2) value = random() % 2 == 0 ? kInfinity : -kInfinity;
      if (kind == 3) value *= std::numeric_limits<double>::denorm_min();
    }
    std::vector<RowId> rows;
    for (std::size_t row = 0; row < n; row += 1 + row % 2) rows.push_back(static_cast<RowId>(row));
    std::vector<RowId> expected = rows;
    std::ranges::stable_sort(expected, {}, [&](RowId row) { return values[static_cast<std::size_t>(row)]; });
    std::ranges::shuffle(rows, random);
    sort_by_value(rows, values, {});
    EXPECT_EQ(rows, expected) << n;
  }
}

TEST(SortByValue, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  std::vector<RowId> rows = {0};
  EXPECT_THROW(sort_by_value(rows, std::vector<double>{1}, {.count_work = false, .stop = stop.get_token()}), Cancelled);
}

}  // namespace
}  // namespace skyrank::kernels

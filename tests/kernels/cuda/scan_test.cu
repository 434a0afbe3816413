#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/lowering/compile_steps.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/cuda/device_copies.hpp"

// Rankings in one pass over columns, against all rows' keys in order.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using Nulls = ScannedColumn::Nulls;

/// A column as the host has it, with values of its type held as doubles, which hold them exactly.
struct HostColumn {
  Stored stored = Stored::float32;
  std::vector<double> values;
  std::vector<bool> valid;  ///< none: no row is NULL
  std::size_t first_validity_bit = 0;
};

/// A column in the memory of the device.
class DeviceColumn {
 public:
  DeviceColumn(const HostColumn& from, DeviceContext& device)
      : stored_(from.stored),
        first_bit_(static_cast<std::int64_t>(from.first_validity_bit)),
        values_(tests::on_device(bytes_of_values(from), device)),
        validity_(tests::on_device(bytes_of_validity(from), device)),
        nulls_(!from.valid.empty()) {}

  ScannedColumn column() const {
    ScannedColumn column;
    column.stored = stored_;
    column.values = values_.data();
    column.validity = nulls_ ? validity_.data() : nullptr;
    column.first_validity_bit = first_bit_;
    return column;
  }

 private:
  template <class T>
  static std::vector<std::uint8_t> bytes_as(const std::vector<double>& from) {
    std::vector<std::uint8_t> bytes(from.size() * sizeof(T));
    for (std::size_t row = 0; row < from.size(); ++row) {
      const auto value = static_cast<T>(from[row]);
      std::memcpy(bytes.data() + row * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  static std::vector<std::uint8_t> bytes_of_values(const HostColumn& from) {
    switch (from.stored) {
      case Stored::float32: return bytes_as<float>(from.values);
      case Stored::float64: return bytes_as<double>(from.values);
      case Stored::int32: return bytes_as<std::int32_t>(from.values);
      default: return bytes_as<std::int64_t>(from.values);
    }
  }
  /// Not a byte more than there are bits, so that whoever reads beyond is found out.
  static std::vector<std::uint8_t> bytes_of_validity(const HostColumn& from) {
    std::vector<std::uint8_t> bytes((from.first_validity_bit + from.valid.size() + 7) / 8 +
                                    (from.valid.empty() ? 1 : 0));
    for (std::size_t row = 0; row < from.valid.size(); ++row) {
      const std::size_t bit = from.first_validity_bit + row;
      if (from.valid[row]) bytes[bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
    }
    return bytes;
  }

  Stored stored_;
  std::int64_t first_bit_;
  cuda::Buffer<std::uint8_t> values_;
  cuda::Buffer<std::uint8_t> validity_;
  bool nulls_;
};

/// The condition on a column.
struct Asked {
  Nulls nulls = Nulls::too;
  bool filtered = false;
  double lowest = 0;
  double highest = 0;
};

struct Ranking {
  std::vector<HostColumn> columns;
  std::vector<Asked> asked;
  std::vector<double> weights;  ///< weights of the first columns; none: the first one as it is
  bool high = true;

  std::size_t rows() const { return columns[0].values.size(); }
};

bool passes(const Ranking& ranking, std::size_t row) {
  for (std::size_t c = 0; c < ranking.columns.size(); ++c) {
    const HostColumn& column = ranking.columns[c];
    const Asked& asked = ranking.asked[c];
    const bool valid = column.valid.empty() || column.valid[row];
    if (asked.nulls == Nulls::never && !valid) return false;
    if (asked.nulls == Nulls::only && valid) return false;
    const double value = column.values[row];
    if (asked.filtered && !(valid && value >= asked.lowest && value <= asked.highest)) return false;
  }
  return true;
}

/// NULL comes last, and NaN before it.
std::uint64_t key_of(const Ranking& ranking, std::size_t row) {
  const std::size_t terms = std::max<std::size_t>(1, ranking.weights.size());
  double sum = ranking.columns[0].values[row];
  for (std::size_t c = 0; c < terms; ++c) {
    const HostColumn& column = ranking.columns[c];
    if (!column.valid.empty() && !column.valid[row]) return kNullKey<std::uint64_t>;
    if (ranking.weights.empty()) break;
    const double product = detail::product_of(ranking.weights[c], column.values[row]);
    sum = c == 0 ? product : detail::sum_of(sum, product);
  }
  return float_key(with_bits_of<std::uint64_t>(sum), ranking.high);
}

/// The k least of keys with their rows; of equal keys the first rows, or the last ones, in the order of rows.
std::vector<RowId> best_of(std::vector<std::pair<std::uint64_t, RowId>> keys, std::size_t k, bool last) {
  const auto before = [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : (a.second < b.second) != last;
  };
  std::ranges::sort(keys, before);
  keys.resize(std::min(k, keys.size()));
  std::ranges::stable_sort(keys);
  std::vector<RowId> rows;
  for (const auto& [key, row] : keys) rows.push_back(row);
  return rows;
}

std::vector<RowId> expected(const Ranking& ranking, std::size_t k, bool last) {
  std::vector<std::pair<std::uint64_t, RowId>> keys;
  for (std::size_t row = 0; row < ranking.rows(); ++row) {
    if (passes(ranking, row)) keys.emplace_back(key_of(ranking, row), static_cast<RowId>(row));
  }
  return best_of(std::move(keys), k, last);
}

/// Rows that pass and have a score, NaN or another.
std::size_t rows_with_score(const Ranking& ranking) {
  std::size_t rows = 0;
  for (std::size_t row = 0; row < ranking.rows(); ++row) {
    rows += passes(ranking, row) && key_of(ranking, row) != kNullKey<std::uint64_t> ? 1 : 0;
  }
  return rows;
}

std::vector<DeviceColumn> on_device(const Ranking& ranking) {
  DeviceContext& device = DeviceContext::of_process();
  const cuda::Lease lease(device);
  std::vector<DeviceColumn> there;
  for (const HostColumn& column : ranking.columns) there.emplace_back(column, device);
  return there;
}

/// How many are wanted, and of equal ones which.
using Wanted = std::vector<std::pair<TieRule, std::size_t>>;

void expect_best(const Ranking& ranking, const Wanted& wanted, const std::string& what) {
  const std::vector<DeviceColumn> there = on_device(ranking);
  ColumnScan scan;
  scan.count = static_cast<int>(ranking.columns.size());
  scan.terms = static_cast<int>(std::max<std::size_t>(1, ranking.weights.size()));
  scan.as_it_is = ranking.weights.empty();
  scan.high = ranking.high;
  for (std::size_t c = 0; c < ranking.columns.size(); ++c) {
    ScannedColumn& column = scan.columns[c];
    const Asked& asked = ranking.asked[c];
    column = there[c].column();
    column.nulls = asked.nulls;
    column.filtered = asked.filtered;
    column.lowest = asked.lowest;
    column.highest = asked.highest;
    column.lowest_integer = static_cast<std::int64_t>(std::ceil(asked.lowest));
    column.highest_integer = static_cast<std::int64_t>(std::floor(asked.highest));
  }
  for (std::size_t c = 0; c < ranking.weights.size(); ++c) scan.weights[c] = ranking.weights[c];
  for (const auto& [ties, k] : wanted) {
    const auto solution = cuda::topk::best_of_scan(
        {.scan = &scan, .computed = nullptr, .n = ranking.rows(), .k = k, .ties = ties}, {}, {});
    ASSERT_TRUE(solution) << what << ", k " << k;
    const std::vector<RowId> found(solution->rows.begin(), solution->rows.end());
    EXPECT_EQ(found, expected(ranking, k, ties == TieRule::last)) << what << ", k " << k;
  }
}

void expect_best(const Ranking& ranking, const std::string& what) {
  // Bins hold so many of those with a score: there is nothing to guess among rows without one.
  const std::size_t many = std::max<std::size_t>(1500, std::min(ranking.rows() / 4, rows_with_score(ranking) / 2));
  const Wanted wanted = {{TieRule::first, 1},
                         {TieRule::last, 40},
                         {TieRule::first, 1500},
                         {TieRule::first, many},
                         {TieRule::last, many - 7}};
  expect_best(ranking, wanted, what);
}

/// More than a few tiles of each kernel, with some rows more than these and than groups.
constexpr std::size_t kRows = 3 * 4096 + 1291;

/// Values with many ties, of a type, and NaN among floats.
HostColumn some_column(Stored stored, std::mt19937_64& random, bool nulls, std::size_t first_bit = 0) {
  HostColumn column;
  column.stored = stored;
  column.first_validity_bit = first_bit;
  for (std::size_t row = 0; row < kRows; ++row) {
    const double value = static_cast<double>(random() % 6000) - 2000;
    const bool nan = is_float(stored) && random() % 50 == 0;
    column.values.push_back(nan ? std::numeric_limits<double>::quiet_NaN() : value);
    if (nulls) column.valid.push_back(random() % 8 != 0);
  }
  return column;
}

Ranking some_ranking(const std::vector<Stored>& types, std::size_t terms, std::mt19937_64& random, bool nulls) {
  static constexpr double kWeights[] = {0.3, -1.7, 2, 0.01, 1, -0.5, 3, 0.125};
  Ranking ranking;
  for (std::size_t c = 0; c < types.size(); ++c) {
    ranking.columns.push_back(some_column(types[c], random, nulls && c % 3 != 2, nulls ? 4 * (random() % 8) : 0));
    ranking.asked.emplace_back();
    if (c < terms) ranking.weights.push_back(kWeights[c]);
  }
  ranking.high = random() % 2 == 0;
  return ranking;
}

TEST(Scan, SumsOfAllTypesAndLengths) {
  std::mt19937_64 random(3);
  const Stored types[] = {Stored::float32, Stored::float32, Stored::int32, Stored::float64, Stored::int64};
  for (const unsigned kinds : {1u, 3u, 5u}) {
    for (const std::size_t terms : {0, 1, 2, 3, 4, 7, 8}) {
      for (const bool nulls : {false, true}) {
        std::vector<Stored> some(std::max<std::size_t>(terms, 1));
        for (Stored& type : some) type = types[random() % kinds];
        if (terms < 8 && random() % 2 == 0) some.push_back(types[random() % 5]);
        Ranking ranking = some_ranking(some, terms, random, nulls);
        for (Asked& asked : ranking.asked) {
          if (random() % 2 == 0) asked = {Nulls::too, true, -1500.5, 3500.5};
        }
        expect_best(ranking, std::to_string(terms) + " terms of " + std::to_string(kinds) + " types" +
                                 (nulls ? " with NULLs" : ""));
      }
    }
  }
}

// The filter lets none of the best scores pass, or few rows, or none.
TEST(Scan, FiltersAgainstTheScore) {
  std::mt19937_64 random(5);
  for (const Stored type : {Stored::float32, Stored::int32, Stored::float64, Stored::int64}) {
    for (const bool nulls : {false, true}) {
      Ranking ranking = some_ranking({Stored::float32, type, Stored::float32}, 0, random, nulls);
      ranking.columns[1].values = ranking.columns[0].values;
      for (double& value : ranking.columns[1].values) value = std::isnan(value) ? 0 : value;
      ranking.high = true;
      ranking.asked[2] = {Nulls::too, true, -100, 1e9};
      for (const auto& [lowest, highest] : {std::pair{-1e6, 1000.}, {-1990., -1980.}, {7000., 8000.}, {5., -5.}}) {
        ranking.asked[1] = {Nulls::too, true, lowest, highest};
        expect_best(ranking, "filter up to " + std::to_string(highest));
      }
    }
  }
}

// The bytes where there is no value would be best, and the filters are on having one.
TEST(Scan, NullsThatLookBest) {
  std::mt19937_64 random(7);
  for (const std::size_t first_bit : {0, 12, 28}) {
    Ranking ranking = some_ranking({Stored::float32, Stored::float32, Stored::int32}, 2, random, false);
    for (std::size_t c = 0; c < 3; ++c) {
      HostColumn& column = ranking.columns[c];
      column.first_validity_bit = (first_bit + 4 * c) % 32;
      for (double& value : column.values) {
        column.valid.push_back(random() % (c == 2 ? 2 : 5) != 0);
        if (!column.valid.back()) value = c == 1 ? -1e6 : 1e6;
      }
    }
    ranking.high = true;
    for (const Nulls nulls : {Nulls::too, Nulls::never, Nulls::only}) {
      ranking.asked[2].nulls = nulls;
      expect_best(ranking, "NULLs from bit " + std::to_string(first_bit));
      if (nulls == Nulls::only) continue;  // where all that passes is NULL there is nothing to guess
      ranking.asked[0].nulls = nulls;
      expect_best(ranking, "NULLs of the score from bit " + std::to_string(first_bit));
      ranking.asked[0].nulls = Nulls::too;
    }
  }
}

// Rows beyond that of the threshold are not looked at again where most rows have its score.
TEST(Scan, ScoresThatTie) {
  std::mt19937_64 random(9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  tests::Turns turns(5);
  const std::vector<std::vector<double>> kinds = {{7},           {0, -0.0}, {0, -0.0, 1, -1},
                                                  {-3, 5, 5, 6}, {nan},     {nan, nan, 2}};
  for (const Stored type : {Stored::float32, Stored::int32, Stored::float64, Stored::int64}) {
    for (const std::vector<double>& values : kinds) {
      if (!is_float(type) && std::isnan(values[0])) continue;
      for (const std::size_t terms : {0, 1, 2}) {
        for (const bool filtered : {false, true}) {
          if (turns.skip()) continue;
          Ranking ranking = some_ranking({type, type, Stored::float32}, terms, random, false);
          for (std::size_t c = 0; c < 2; ++c) {
            for (double& value : ranking.columns[c].values) value = values[random() % values.size()];
          }
          if (filtered) ranking.asked[2] = {Nulls::too, true, -1e9, 100};
          expect_best(ranking, std::to_string(values[0]) + ", " + std::to_string(terms) + " terms");
        }
      }
    }
  }
}

/// Values in some order, of `rows` rows.
HostColumn column_in_order(const std::string& order, std::size_t rows, bool nulls, std::mt19937_64& random) {
  HostColumn column;
  for (std::size_t row = 0; row < rows; ++row) {
    const double place = static_cast<double>(row) / static_cast<double>(rows);
    double value = static_cast<double>(random() % 1'000'000) - 2000;
    if (order == "ascending") value = place;
    if (order == "descending") value = -place;
    if (order == "equal") value = 7;
    if (order == "mostly NaN" && random() % 64 != 0) value = std::numeric_limits<double>::quiet_NaN();
    column.valid.push_back(!nulls || random() % 8 != 0);
    // The bytes where there is no value would be best.
    column.values.push_back(column.valid.back() ? value : 1e9);
  }
  if (!nulls) column.valid.clear();
  return column;
}

// There are so many tiles that blocks look at the first ones before the threshold is known, if few rows are wanted, and
// that the last ones do not come in turns.
TEST(Scan, ManyTiles) {
  constexpr std::size_t kTile = 1024;       // of three columns or four
  constexpr std::size_t kResident = 4 * 8;  // blocks of the emulator
  constexpr std::size_t kMany = 19 * kResident * kTile + 5 * kTile + 291;
  const Wanted wanted = {{TieRule::first, 1}, {TieRule::last, 40}, {TieRule::last, 20000}};
  std::mt19937_64 random(11);
  for (const std::string order : {"random", "ascending", "descending", "equal", "mostly NaN"}) {
    for (const bool nulls : {false, true}) {
      if (nulls && order != "random" && order != "descending") continue;
      Ranking ranking;
      ranking.weights = {0.3, 1.7, 2};
      for (std::size_t c = 0; c < 3; ++c) {
        ranking.columns.push_back(column_in_order(order, kMany, nulls && c == 1, random));
        ranking.asked.emplace_back();
      }
      if (nulls) ranking.asked[2] = {Nulls::too, true, -1e9, 9e5};
      ranking.high = random() % 2 == 0;
      expect_best(ranking, wanted, order + (nulls ? " with NULLs" : ""));
    }
  }
}

cuda::expression::DeviceExpression program_over(const std::vector<DeviceColumn>& columns,
                                                std::vector<Instruction> instructions, Stored result) {
  cuda::expression::DeviceExpression program;
  program.instructions = std::move(instructions);
  for (const DeviceColumn& from : columns) {
    const ScannedColumn column = from.column();
    program.columns.push_back({.values = column.values,
                               .validity = column.validity,
                               .first_validity_bit = column.first_validity_bit,
                               .stored = column.stored});
  }
  program.result = result;
  return program;
}

Instruction instruction(Opcode op, std::uint32_t column = 0, double constant = 0) {
  Instruction how;
  how.op = op;
  how.left = how.right = how.middle = Number::float64;
  how.index = column;
  how.bits = with_bits_of<std::uint64_t>(constant);
  return how;
}

// Their operands are compared with the threshold, before the root or the quotient is found.
TEST(Scan, RootsAndQuotientsThatTie) {
  std::mt19937_64 random(17);
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> kinds = {
      {4}, {0, -0.0, 1}, {0.1, 0.2, 0.7, 3}, {0, 1, -1, infinity, -infinity}, {1e-30, 2e-30, 1e30}};
  for (const std::vector<double>& values : kinds) {
    for (const bool root : {false, true}) {
      for (const bool high : {false, true}) {
        std::vector<HostColumn> columns(2);
        std::vector<std::pair<std::uint64_t, RowId>> keys;
        for (std::size_t row = 0; row < kRows; ++row) {
          for (HostColumn& column : columns) {
            column.values.push_back(static_cast<float>(values[random() % values.size()]));
          }
          const double a = columns[0].values.back();
          const double b = columns[1].values.back();
          keys.emplace_back(float_key(with_bits_of<std::uint64_t>(root ? std::sqrt(a * b) : a / b), high), row);
        }
        std::vector<DeviceColumn> there;
        DeviceContext& device = DeviceContext::of_process();
        {
          const cuda::Lease lease(device);
          for (const HostColumn& column : columns) there.emplace_back(column, device);
        }
        std::vector<Instruction> program = {instruction(Opcode::column, 0), instruction(Opcode::column, 1)};
        if (root) program.push_back(instruction(Opcode::multiply));
        program.push_back(instruction(root ? Opcode::square_root : Opcode::divide));
        const cuda::expression::ComputedScan computed =
            exec::compile_scan(program_over(there, program, Stored::float64), std::nullopt, high);
        for (const auto& [ties, k] :
             Wanted{{TieRule::first, 1}, {TieRule::last, 40}, {TieRule::first, 2000}, {TieRule::last, kRows / 4}}) {
          SCOPED_TRACE(std::to_string(values[0]) + (root ? " root" : " quotient") + (high ? ", high, k " : ", k ") +
                       std::to_string(k));
          const auto solution = cuda::topk::best_of_scan(
              {.scan = nullptr, .computed = &computed, .n = kRows, .k = k, .ties = ties}, {}, {});
          ASSERT_TRUE(solution);
          const std::vector<RowId> found(solution->rows.begin(), solution->rows.end());
          EXPECT_EQ(found, best_of(keys, k, ties == TieRule::last));
        }
      }
    }
  }
}

// Programs whose last tiles come to blocks that start later, and such of few tiles.
TEST(Scan, ProgramsOfManyTiles) {
  constexpr std::size_t kMostRows = 1024;        // of a tile
  constexpr std::size_t kMostResident = 4 * 16;  // blocks of the emulator
  const Wanted wanted = {{TieRule::first, 40}, {TieRule::last, 20000}};
  std::mt19937_64 random(13);
  for (const std::size_t rows : {kMostResident * 17 * kMostRows + 291, std::size_t{9000}}) {
    for (const std::string order : {"random", "equal"}) {
      for (const bool nulls : {false, true}) {
        Ranking ranking;
        ranking.weights = {2.5, 1};
        for (std::size_t c = 0; c < 3; ++c) {
          ranking.columns.push_back(column_in_order(order, rows, nulls && c == 1, random));
          ranking.asked.emplace_back();
        }
        ranking.asked[2] = {Nulls::never, true, -1e9, 9e5};
        const std::vector<DeviceColumn> there = on_device(ranking);
        const cuda::expression::DeviceExpression score =
            program_over(there,
                         {instruction(Opcode::constant, 0, 2.5), instruction(Opcode::column, 0),
                          instruction(Opcode::multiply), instruction(Opcode::column, 1), instruction(Opcode::add)},
                         Stored::float64);
        const cuda::expression::DeviceExpression condition = program_over(
            there,
            {instruction(Opcode::column, 2), instruction(Opcode::constant, 0, 9e5), instruction(Opcode::less_equal)},
            Stored::truth_bytes);
        const cuda::expression::ComputedScan computed = exec::compile_scan(score, condition, ranking.high);
        for (const auto& [ties, most] : wanted) {
          const std::size_t k = std::min(most, rows / 4);
          SCOPED_TRACE(order + (nulls ? " with NULLs" : "") + ", k " + std::to_string(k));
          const auto solution = cuda::topk::best_of_scan(
              {.scan = nullptr, .computed = &computed, .n = rows, .k = k, .ties = ties}, {}, {});
          ASSERT_TRUE(solution);
          const std::vector<RowId> found(solution->rows.begin(), solution->rows.end());
          EXPECT_EQ(found, expected(ranking, k, ties == TieRule::last));
        }
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests

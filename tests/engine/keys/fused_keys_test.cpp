#include "engine/keys/fused_keys.hpp"

#include <gtest/gtest.h>

#include <random>

#include <skyrank/engine.hpp>

#include "engine/keys/blocks/block_keys.hpp"
#include "engine/runtime/column_cache.hpp"
#include "kernels/common/keys.hpp"
#include "tests/build.hpp"
#include "tests/semantics/tables.hpp"

// A ranking that takes the filter and the making of keys in answers as one that does not.
namespace skyrank::exec {
namespace {

constexpr std::int64_t kRows = 20000;  // enough to be sampled

Query from() { return Query::from("t"); }

ForcedPath path(std::string algorithm) {
  return {.algorithms = {std::move(algorithm)}, .device = DeviceChoice::automatic, .parameters = {}};
}

const PlanNode& order_of(const PlanNode& gather) { return gather.children.front(); }

bool is_fused(const PlanNode& plan) { return order_of(plan).detail.find("fused") != std::string::npos; }

Result run(Query query, const Table& table, const std::string& algorithm, int threads) {
  const Engine engine(EngineOptions{.threads = threads, .device = DeviceChoice::automatic});
  return engine.run(query.using_path(path(algorithm)), table);
}

/// The heap wants its keys in memory. Under the thread sanitizer every other query has its turn: to threads it matters
/// little which of a test it is.
void expect_same(const Query& query, const Table& table, const std::string& what = {}) {
  static int turn = 0;
  if (tests::kThreadSanitized && turn++ % 2 != 0) return;
  SCOPED_TRACE(what);
  const Result apart = run(query, table, "heap", 1);
  ASSERT_FALSE(is_fused(apart.plan));
  for (const int threads : tests::kSanitized ? std::vector{3} : std::vector{1, 3}) {
    const Result fused = run(query, table, "sampled-threshold", threads);
    EXPECT_TRUE(is_fused(fused.plan));
    EXPECT_EQ(fused.rows, apart.rows) << threads << " threads";
  }
}

/// With few values, so that there are many ties, or many.
std::vector<std::optional<int>> random_cells(std::int64_t n, int values, int null_percent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::optional<int>> cells;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool null = static_cast<int>(random() % 100) < null_percent;
    cells.push_back(null ? std::nullopt : std::optional(static_cast<int>(random() % static_cast<unsigned>(values))));
  }
  return cells;
}

/// Columns a and b of doubles, f of floats with every kind of them, i of integers with NULLs.
Table mixed_table(std::int64_t n) {
  std::mt19937_64 random(3);
  std::vector<double> a;
  std::vector<double> b;
  std::vector<float> f;
  for (std::int64_t i = 0; i < n; ++i) {
    a.push_back(static_cast<double>(random() % 100000) / 7);
    b.push_back(i % 97 == 0 ? kNaN : static_cast<double>(random() % 1000) - 500);
    f.push_back(i % 5 == 0 ? -0.0F : i % 7 == 0 ? 0.0F : static_cast<float>(random() % 4000) / 64 - 1);
  }
  return Table({Column::own("a", a), Column::own("b", b), Column::own("f", f),
                column_of(Type::int32, "i", random_cells(n, 1000, 10, 4))});
}

TEST(FusedRanking, ColumnsOfEveryType) {
  for (const DataType type : preference_types()) {
    for (const int nulls : {0, 10, 95}) {
      const bool all_keys_taken = type.type == Type::int64 || type.type == Type::uint64 ||
                                  type.type == Type::timestamp || type.type == Type::decimal64;
      const bool no_key_for_null = (nulls > 0 && all_keys_taken) || type.type == Type::decimal128;
      const int values = type.type == Type::boolean ? 2 : 100;
      const Table table({column_of(type, "x", random_cells(kRows, values, nulls, 1))});
      for (const bool descending : {false, true}) {
        for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
          const Query query = from().rank_by({descending ? high("x") : low("x")}).limit(150).ties(ties);
          const std::string what = to_string(type) + ", " + std::to_string(nulls) + " % NULL";
          if (no_key_for_null) {
            EXPECT_FALSE(is_fused(run(query, table, "sampled-threshold", 1).plan)) << what;
            continue;
          }
          expect_same(query, table, what);
          if (nulls > 0) expect_same(Query(query).nulls(Missing::best), table, what + ", NULL first");
        }
      }
    }
  }
}

/// More rows than it takes for a query to make a zone map.
TEST(FusedRanking, ZoneMapsThatQueriesShare) {
  const std::int64_t n = 140000;
  for (const DataType type : {DataType{Type::float32}, DataType{Type::float64}, DataType{Type::int32},
                              DataType{Type::uint8}, DataType{Type::int64}, DataType::decimal(12, 2)}) {
    for (const int nulls : {0, 10}) {
      if (nulls > 0 && (type.type == Type::int64 || type.type == Type::decimal64))
        continue;  // no key for NULL: not fused
      const int values = type.type == Type::uint8 ? 100 : 1000000;
      const Table table({column_of(type, "x", random_cells(n, values, nulls, 1)),
                         column_of(Type::int32, "y", random_cells(n, 100, 0, 2))});
      for (const bool descending : {false, true}) {
        const auto best = [&](std::int64_t k, Ties ties) {
          return from().rank_by({descending ? high("x") : low("x")}).limit(k).ties(ties);
        };
        const std::string what = to_string(type) + ", " + std::to_string(nulls) + " % NULL";
        for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
          for (const std::int64_t k : {1, 60, 300}) expect_same(best(k, ties), table, what);
        }
        EXPECT_NE(cache_of(table.column("x").data())->zone_map(descending), nullptr);
        expect_same(best(10, Ties::first).where("y < 30"), table, what);
        expect_same(best(20, Ties::last).where("y = 5 and x > 7"), table, what);
        // The maps hold NULL last.
        expect_same(best(20000, Ties::all).nulls(Missing::best), table, what + ", NULL first");
        expect_same(best(20, Ties::last).nulls(Missing::best), table, what + ", NULL first");
      }
    }
  }
}

// A condition that fails for a row fails, though the row's zone is out of the running.
TEST(FusedRanking, ZoneMapsHideNoErrors) {
  const std::int64_t n = 140000;
  std::vector<std::int64_t> d(static_cast<std::size_t>(n), 1);
  std::vector<float> x(d.size());
  for (std::size_t row = 0; row < x.size(); ++row) x[row] = static_cast<float>(row);
  d.back() = 0;
  const Table table({Column::own("d", d), Column::own("x", x)});
  run(from().rank_by({low("x")}).limit(3), table, "sampled-threshold", 1);
  ASSERT_NE(cache_of(table.column("x").data())->zone_map(false), nullptr);
  EXPECT_THROW(run(from().where("10 / d > 3").rank_by({low("x")}).limit(3), table, "sampled-threshold", 1), DataError);
}

TEST(FusedRanking, ExtremesOfIntegers) {
  const std::vector<std::int64_t> wide{kMaxInt64, kMinInt64, 0, -1, 1, kMaxInt64, kMinInt64};
  const std::vector<std::int32_t> narrow{2147483647, -2147483647 - 1, 0, -1, 1, 2147483647, 5};
  const Table table({Column::own("w", wide), Column::own("n", narrow),
                     Column::own("u", std::vector<std::uint64_t>{kMaxUint64, 0, 1, kMaxUint64 - 1, 7, kMaxUint64, 2}),
                     Column::own("m", narrow, {true, true, false, true, false, true, true})});
  for (const char* column : {"w", "n", "u", "m"}) {
    for (const std::int64_t limit : {1, 3, 7, 9}) {
      expect_same(from().rank_by({low(column)}).limit(limit), table);
      expect_same(from().rank_by({high(column)}).limit(limit).ties(Ties::all), table);
    }
  }
}

TEST(FusedRanking, Expressions) {
  const Table table = mixed_table(kRows);
  for (const char* score :
       {"a", "f", "b", "0.3 * a + 0.7 * b", "a - f", "2 * f - a + b * 3", "a - (f - b)", "f * 0", "a * b", "i + 1.5",
        "abs(b)", "case when i > 500 then a end", "a > 100", "sqrt(f)", "0.1 * f + 0.1 * f + 0.1 * f"}) {
    for (const bool descending : {false, true}) {
      expect_same(from().rank_by({descending ? high(score) : low(score)}).limit(300).ties(Ties::all), table, score);
    }
  }
}

TEST(FusedRanking, Filters) {
  const Table table = mixed_table(kRows);
  for (const char* condition : {"a >= 0", "a < 0", "i is null", "i > 500", "i > 500 and f < 3 or b > 499", "a < 2",
                                "not (i > 3)", "b > 400 and i < 20"}) {
    for (const char* score : {"f", "b", "0.5 * a + f", "i"}) {
      for (const std::int64_t limit : {1, 40, 5000, 100000}) {
        for (const std::int64_t offset : {0, 30}) {
          expect_same(from().where(condition).rank_by({low(score)}).limit(limit).offset(offset).ties(Ties::last), table,
                      std::string(condition) + ": " + score + ", limit " + std::to_string(limit));
        }
      }
    }
  }
}

TEST(FusedRanking, FiltersThatPassOneStretchOrOneRow) {
  std::vector<std::int32_t> row;
  for (std::int32_t i = 0; i < 100000; ++i) row.push_back(i);
  const Table table({Column::own("row", row)});
  for (const char* condition : {"row = 77777", "row > 99000", "row between 40000 and 45000", "row % 1000 = 3"}) {
    for (const std::int64_t limit : {1, 100, 6000}) {
      expect_same(from().where(condition).rank_by({low("row")}).limit(limit), table);
      expect_same(from().where(condition).rank_by({high("row")}).limit(limit), table);
    }
  }
}

TEST(FusedRanking, FailsAsIfItWereNotFused) {
  std::vector<std::int64_t> d(kRows, 1);
  d[7000] = 0;
  d[15000] = 0;
  const Table table({Column::own("d", d)});
  const auto message = [&](const Query& query, const char* algorithm, int threads) {
    try {
      run(query, table, algorithm, threads);
    } catch (const DataError& error) {
      return error.message();
    }
    return std::string("none");
  };
  const Query score = from().rank_by({low("10 / d")}).limit(3);
  const Query condition = from().where("10 / d > 3").rank_by({low("20 / (d - 1)")}).limit(3);
  const Query spared = from().where("d != 0").rank_by({low("10 / d")}).limit(3);
  for (const Query& query : {score, condition, spared}) {
    const std::string expected = message(query, "heap", 1);
    EXPECT_EQ(message(query, "sampled-threshold", 1), expected);
    EXPECT_EQ(message(query, "sampled-threshold", 3), expected);
  }
  EXPECT_NE(message(score, "heap", 1).find("row 7000"), std::string::npos);
  EXPECT_EQ(message(spared, "heap", 1), "none");
}

TEST(FusedRanking, ThePlanShowsIt) {
  const Table table = mixed_table(kRows);
  const Engine engine;
  const Query query = from().where("a > 5").rank_by({low("b")}).limit(10);
  const PlanNode plan = engine.explain(query, table);
  EXPECT_EQ(order_of(plan).op, "top-k");
  EXPECT_EQ(order_of(plan).detail, "low b; limit: 10; fused with its keys and the filter a > 5");
  EXPECT_EQ(order_of(plan).algorithm, "sampled-threshold");
  EXPECT_EQ(order_of(plan).children.front().op, "scan");
  EXPECT_EQ(order_of(engine.run(query, table).plan).detail, order_of(plan).detail);
  // More than a condition and one term is not fused, and neither are all rows.
  EXPECT_FALSE(is_fused(engine.explain(from().rank_by({low("b"), low("a")}).limit(10), table)));
  EXPECT_FALSE(is_fused(engine.explain(from().rank_by({low("b")}).limit(10).nan(Missing::exclude), table)));
  EXPECT_FALSE(is_fused(engine.explain(from().rank_by({low("b")}).limit(10).partition_by({"i"}), table)));
  EXPECT_FALSE(is_fused(engine.explain(from().rank_by({low("b")}), table)));
}

template <class Bits>
void expect_float_keys() {
  std::mt19937_64 random(1);
  std::vector<Bits> bits{0,
                         static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)),
                         kernels::kInfinityBits<Bits>,
                         static_cast<Bits>(kernels::kInfinityBits<Bits> + 1),
                         static_cast<Bits>(~Bits{0}),
                         1};
  while (bits.size() < 101) bits.push_back(static_cast<Bits>(random()));
  for (const bool high : {false, true}) {
    std::vector<Bits> keys(bits.size());
    encode_floats(bits.data(), bits.size(), high, keys.data());
    for (std::size_t i = 0; i < bits.size(); ++i) EXPECT_EQ(keys[i], kernels::float_key(bits[i], high)) << bits[i];
  }
}

TEST(BlockKeys, AreThoseOfFloats) {
  expect_float_keys<std::uint32_t>();
  expect_float_keys<std::uint64_t>();
}

}  // namespace
}  // namespace skyrank::exec

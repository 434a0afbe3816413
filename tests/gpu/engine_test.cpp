#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernels/cuda/device/array.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"

// Queries that are to run on the device, beside the same on the CPU.
namespace skyrank {
namespace {

using EngineOnGpu = gpu_testing::GpuTest;

Table some_table() {
  constexpr std::size_t kRows = !tests::kEmulated ? 50000 : tests::kSanitized ? 2000 : 5000;
  std::mt19937_64 random(7);
  std::vector<double> price(kRows);
  std::vector<std::int32_t> stars(kRows);
  std::vector<std::int64_t> seen(kRows);
  std::vector<float> weight(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    price[row] = row % 97 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 5000) / 8;
    stars[row] = static_cast<std::int32_t>(random() % 5);
    seen[row] = static_cast<std::int64_t>(random());
    weight[row] = static_cast<float>(random() % 1000);
  }
  return Table({Column::own("price", std::move(price)), Column::own("stars", std::move(stars)),
                Column::own("seen", std::move(seen)), Column::own("weight", std::move(weight))});
}

Engine engine_on(DeviceChoice device) { return Engine({.threads = 2, .device = device}); }

void expect_same(const Query& query, const Table& table) {
  const Engine gpu = engine_on(DeviceChoice::cuda);
  const Result here = engine_on(DeviceChoice::cpu).run(query, table);
  const Result there = gpu.run(query, table);
  EXPECT_EQ(there.rows, here.rows);
  EXPECT_EQ(there.levels, here.levels);
  EXPECT_EQ(gpu.run(query, gpu.pin(table)).rows, here.rows);
  EXPECT_THAT(to_string(there.plan), testing::HasSubstr("cuda"));
  EXPECT_GT(there.timing.transfer_ms, 0);
}

TEST_F(EngineOnGpu, RankingsGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  const auto from = [] { return Query::from("t"); };
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    expect_same(from().rank_by({low("price")}).limit(100).ties(ties), table);
    expect_same(from().where("stars >= 3 and price < 300").rank_by({high("seen")}).limit(20).ties(ties), table);
    expect_same(from().rank_by({high("stars"), low("weight")}).limit(1000).ties(ties), table);
    expect_same(from().partition_by({"stars"}).rank_by({high("price")}).limit(3).ties(ties), table);
    expect_same(from().partition_by({"stars"}).rank_by({low("weight")}).offset(2).limit(500).ties(ties), table);
    expect_same(from().where("weight > 100").partition_by({"weight"}).rank_by({high("stars")}).limit(7).ties(ties),
                table);
  }
  expect_same(from().rank_by({low("price")}).offset(static_cast<std::int64_t>(table.num_rows()) - 1000), table);
}

/// Decimals of up to 18 digits rank there as the integers they are stored as; the host makes the keys of longer ones
/// and evaluates what is more than a comparison with a constant.
TEST_F(EngineOnGpu, DecimalsGiveTheRowsOfTheCpu) {
  constexpr std::size_t kRows = tests::kSanitized ? 1000 : 3000;
  std::mt19937_64 random(11);
  std::vector<std::int64_t> price(kRows);
  std::vector<Int128> mass(kRows);
  std::vector<std::int32_t> stars(kRows);
  std::vector<bool> valid(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    price[row] = static_cast<std::int64_t>(random() % 50'000) - 1000;
    mass[row] = (static_cast<Int128>(random() % 1000) << 90) - (Int128{1} << 96);
    stars[row] = static_cast<std::int32_t>(random() % 5);
    valid[row] = row % 31 != 0;
  }
  const Table table({Column::own_as("price", DataType::decimal(12, 2), price),
                     Column::own_as("cost", DataType::decimal(12, 2), price, valid),
                     Column::own_as("mass", DataType::decimal(38, 4), mass, valid), Column::own("stars", stars)});
  const auto from = [] { return Query::from("t"); };
  for (const char* column : {"price", "cost", "mass"}) {
    expect_same(from().rank_by({low(column)}).limit(50), table);
    expect_same(from().rank_by({high(column)}).limit(50).ties(Ties::all), table);
    expect_same(from().prefer({low(column), high("stars")}), table);
    expect_same(from().prefer({around(column, 12.345), high("stars")}), table);
    expect_same(from().prefer({in(column, {{0.5, 12.25}, {std::int64_t{3}}}), high("stars")}), table);
  }
  for (const char* condition :
       {"price <= 100.50", "price between 12.25 and 250", "price in [0.5, 1.25, 77]", "cost is null or price > 99.99",
        "price * 2 < 55.5", "price < 12.3456", "mass < 0", "price > stars",
        "case when stars > 2 then price else 0.5 end < 20", "floor(price) % 2 = 0", "price / 2 > 30.1"}) {
    expect_same(from().where(condition).rank_by({low("price")}).limit(40), table);
  }
  for (const char* score : {"price * 1.5 - stars", "price - cost", "mass + price", "price / 3", "max(price, stars)"}) {
    expect_same(from().rank_by({low(score)}).limit(40), table);
  }
}

/// Returns the outcome of a rule, in words; empty if it was not applied.
std::string applied(const Result& result, const std::string& rule) {
  for (const RuleOutcome& outcome : result.plan.rules) {
    if (outcome.rule == rule && outcome.applied) return outcome.reason;
  }
  return {};
}

/// On the GPU by its algorithms alone, where the planner may choose among devices.
Query on_gpu(Query query, std::vector<std::string> without = {}) {
  ForcedPath path;
  if (!query.rank_by().empty()) path.algorithms.emplace_back("cuda-sampled-threshold");
  if (query.prefer()) path.algorithms.emplace_back("cuda-blocked-bitmap");
  path.without = std::move(without);
  return query.using_path(path);
}

TEST_F(EngineOnGpu, QueriesOverOneTableShareItsColumns) {
  const Table table = some_table();
  const Engine cpu = engine_on(DeviceChoice::cpu);
  const std::int64_t column_bytes = table.num_rows() * 4;
  for (const DeviceChoice device : {DeviceChoice::automatic, DeviceChoice::cuda}) {
    const Table fresh = some_table();
    const Engine sharing({.threads = 2, .device = device, .share_columns = true});
    const auto expect = [&](const Query& query, const Table& of, const std::string& how, bool sends) {
      const Result result = sharing.run(query, of);
      EXPECT_EQ(result.rows, cpu.run(Query(query).using_path({}), table).rows);
      EXPECT_EQ(applied(result, "device-columns"), how);
      EXPECT_EQ(static_cast<std::int64_t>(result.transferred.to_device) >= column_bytes, sends);
    };
    const Query light = on_gpu(Query::from("t").rank_by({low("weight")}).limit(20));
    const Query starred = on_gpu(Query::from("t").where("stars > 2").rank_by({high("weight")}).limit(20));
    expect(light, fresh, "0 of 1 were there from earlier queries", true);
    expect(light, fresh, "1 of 1 were there from earlier queries", false);
    expect(starred, fresh, "1 of 2 were there from earlier queries", true);
    const Table copy = fresh;
    expect(starred, copy, "2 of 2 were there from earlier queries", false);
    expect(light, some_table(), "0 of 1 were there from earlier queries", true);  // equal, but another
    expect(on_gpu(light, {"device-columns"}), fresh, "", true);
  }
}

/// Every way in which an engine keeps a table on the GPU.
struct Keeping {
  const char* name;
  bool share_columns;
  std::size_t shared_key_bytes;
  bool pinned;
};

constexpr Keeping kKeepings[] = {{"nothing", false, 0, false},
                                 {"the table", false, 0, true},
                                 {"columns", true, 0, false},
                                 {"columns and keys", true, std::size_t{1} << 25, false},
                                 {"columns and the last keys", true, 400, false}};

Table table_with_strings(int rows) {
  std::mt19937 random(3);
  std::vector<std::int32_t> a;
  std::vector<double> b;
  std::vector<std::string> s;
  std::vector<bool> valid;
  for (int i = 0; i < rows; ++i) {
    a.push_back(static_cast<std::int32_t>(random() % 50));
    b.push_back(static_cast<double>(random() % 1000) / 40);
    s.emplace_back(1, static_cast<char>('x' + random() % 3));
    valid.push_back(random() % 10 != 0);
  }
  return Table({Column::own("a", a), Column::own("b", b), Column::own("s", s, valid)});
}

/// Queries of every shape under conditions that the host evaluates whole, in part and not at all.
std::vector<Query> queries_with_filters() {
  std::vector<Query> queries;
  for (const char* condition : {"s = 'x'", "exp(b) > 1000", "a > 20", "s < 'z' and a > 3", "s is not null",
                                "a > 3 and b < 20", "log(b + 1) < 2 or a in [1, 2, 3]"}) {
    const Query filtered = Query::from("t").where(condition);
    queries.push_back(Query(filtered).rank_by({low("a")}).limit(10));
    queries.push_back(Query(filtered).rank_by({low("a")}));
    queries.push_back(Query(filtered).rank_by({high("exp(b / 100)"), low("a")}).limit(4));
    queries.push_back(Query(filtered).prefer({low("a"), high("b")}));
    queries.push_back(Query(filtered).prefer({low("a"), high("b")}).levels(2).rank_by({high("b")}).limit(7));
    queries.push_back(Query(filtered).partition_by({"s"}).rank_by({low("b")}).limit(2));
  }
  return queries;
}

TEST_F(EngineOnGpu, FiltersOfTheHostGiveTheRowsOfTheCpuHoweverQueriesShare) {
  const std::vector<Query> queries = queries_with_filters();
  const Engine cpu = engine_on(DeviceChoice::cpu);
  kernels::tests::Turns turns(5);
  for (const Keeping& keeping : kKeepings) {
    const Engine gpu({.threads = 2,
                      .device = DeviceChoice::cuda,
                      .shared_key_bytes = keeping.shared_key_bytes,
                      .share_columns = keeping.share_columns});
    for (const int rows : {8, 33, 300}) {
      SCOPED_TRACE(std::string("an engine that keeps ") + keeping.name + ", " + std::to_string(rows) + " rows");
      const Table table = table_with_strings(rows);
      const Table kept = keeping.pinned ? gpu.pin(table, PinTime::on_use) : table;
      for (const Query& query : queries) {
        if (turns.skip()) continue;
        SCOPED_TRACE(query.where()->text());
        const Result expected = cpu.run(query, table);
        for (const int later : {3, 0}) {
          const Result result = gpu.run(query, kept, {.count_work = false, .stop = {}, .later_queries = later});
          EXPECT_EQ(result.rows, expected.rows);
          EXPECT_EQ(result.levels, expected.levels);
        }
      }
    }
  }
}

TEST_F(EngineOnGpu, FiltersOfTheHostInABatchGiveTheirRows) {
  const Batch batch = parse_batch(R"yaml(
version: 1
tables: {t: {file: t.csv}}
queries:
  - {name: first, from: t, rank_by: {low: a}, select: [row]}
  - {name: second, from: t, where: "s = 'x'", rank_by: {low: a}, select: [row]}
  - {name: third, from: t, where: "exp(b) > 1000", rank_by: {low: a}, select: [row]}
)yaml",
                                  "batch");
  const Table table({Column::own("a", std::vector<std::int64_t>{0, 7, 3, 10, 6, 2, 9, 5}),
                     Column::own("b", std::vector<double>{0.5, 5.5, 10.5, 2.5, 7.5, 12.5, 4.5, 9.5}),
                     Column::own("s", std::vector<std::string>{"x", "y", "z", "x", "y", "z", "x", "y"})});
  const std::vector<std::vector<RowId>> expected = {{0, 5, 2, 7, 4, 1, 6, 3}, {0, 6, 3}, {5, 2, 7, 4}};
  const Engine gpu({.device = DeviceChoice::cuda, .shared_key_bytes = std::size_t{1} << 30, .share_columns = true});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int later = static_cast<int>(expected.size() - 1 - i);
    const Result result = gpu.run(batch.queries[i], table, {.count_work = false, .stop = {}, .later_queries = later});
    EXPECT_EQ(result.rows, expected[i]) << batch.queries[i].name();
  }
}

double predicted_ms(const PlanNode& node) {
  double sum = node.predicted_ms;
  for (const PlanNode& child : node.children) sum += predicted_ms(child);
  return sum;
}

TEST_F(EngineOnGpu, TheWayOfSharedColumnsIsPricedByPart) {
  const Table table = some_table();
  const Engine sharing({.threads = 2, .device = DeviceChoice::cuda, .share_columns = true});
  const auto predicted = [&](const Query& query, int later) {
    RunOptions options;
    options.later_queries = later;
    return predicted_ms(sharing.explain(query, table, options));
  };
  const Query query = Query::from("t").rank_by({low("weight")}).limit(20);
  const double alone = predicted(query, 0);
  EXPECT_LT(predicted(query, 9), alone);
  sharing.run(query, table);
  EXPECT_LT(predicted(query, 0), alone);
  EXPECT_EQ(predicted(query, 0), predicted(query, 9));  // it is there
}

TEST_F(EngineOnGpu, KeysOfTheDeviceAreShared) {
  const Table table = some_table();
  const Engine cpu = engine_on(DeviceChoice::cpu);
  const Engine sharing(
      {.threads = 2, .device = DeviceChoice::cuda, .shared_key_bytes = std::size_t{1} << 25, .share_columns = true});
  const Query best = Query::from("t").prefer({low("weight"), high("seen")});
  const Query others = Query::from("t").prefer({high("seen"), low("stars")});
  const Query ranked = Query::from("t").rank_by({low("weight"), high("seen"), low("stars")}).limit(30);
  const auto expect = [&](const Query& query, const std::string& how) {
    const Result result = sharing.run(query, table);
    EXPECT_EQ(result.rows, cpu.run(Query(query).using_path({}), table).rows);
    EXPECT_EQ(applied(result, "shared-keys"), how);
  };
  expect(best, "2 made and kept for later queries on the GPU");
  expect(best, "2 of 2 were there from earlier queries on the GPU");
  expect(others, "1 of 2 were there from earlier queries on the GPU");
  expect(ranked, "3 of 3 were there from earlier queries on the GPU");
  expect(Query(best).where("stars > 1"), "2 made and kept for later queries on the GPU");
  ForcedPath without;
  without.without = {"shared-keys"};
  expect(Query(best).using_path(without), "");
}

// Keys of 72 bits together, and of many more.
TEST_F(EngineOnGpu, RankingsOfLongKeysGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    expect_same(Query::from("t").rank_by({high("stars"), low("price * 2")}).limit(300).ties(ties), table);
    expect_same(
        Query::from("t").rank_by({high("stars"), low("stars * 2"), low("weight"), high("seen")}).limit(300).ties(ties),
        table);
  }
}

// Filter and score in one pass over the columns.
TEST_F(EngineOnGpu, ScansGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  kernels::tests::Turns turns(4);
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    for (const char* condition : {"price <= 250", "stars = 3 and weight > 500 and price < 1e9", "not (stars < 1)",
                                  "stars between 1 and 3", "seen > 0 and 400 > weight", "price > 1e300",
                                  "stars >= 4 and stars <= 3", "weight = 17 or stars = 1", "true"}) {
      if (turns.skip()) continue;
      expect_same(Query::from("t").where(condition).rank_by({high("0.3 * weight - 2 * price")}).limit(40).ties(ties),
                  table);
      expect_same(Query::from("t").where(condition).rank_by({low("weight")}).offset(3).limit(9'000).ties(ties), table);
    }
    expect_same(Query::from("t").rank_by({low("weight + price")}).limit(40).ties(ties), table);
  }
}

/// Makes a table that is long enough for rankings to guess a threshold, with columns of all types that scans read, and
/// of others.
Table long_table(bool nulls) {
  constexpr std::size_t kRows = 3 * 4096 + 3;  // so that a sample of 4,096 rows misses few
  std::mt19937_64 random(11);
  std::vector<float> f(kRows);
  std::vector<float> g(kRows);
  std::vector<double> d(kRows);
  std::vector<std::int32_t> i(kRows);
  std::vector<std::int64_t> l(kRows);
  std::vector<std::int8_t> t(kRows);
  std::vector<bool> valid[3];
  for (std::size_t row = 0; row < kRows; ++row) {
    f[row] = row % 89 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(random() % 4000) / 8 - 250;
    g[row] = static_cast<float>(random() % 64) / 4 - 8;
    if (row % 83 == 0) g[row] = std::copysign(std::numeric_limits<float>::infinity(), row % 2 == 0 ? 1.F : -1.F);
    if (row % 79 == 0) g[row] = row % 2 == 0 ? -0.F : std::numeric_limits<float>::quiet_NaN();
    d[row] = row % 97 == 0 ? -std::numeric_limits<double>::infinity() : static_cast<double>(random()) * 0x1p-60;
    i[row] = static_cast<std::int32_t>(random() % 2000) - 1000;
    l[row] = static_cast<std::int64_t>(random());
    t[row] = static_cast<std::int8_t>(random() % 7);
    if (!nulls) continue;
    for (std::size_t c = 0; c < 3; ++c) valid[c].push_back(random() % (c + 2) != 0);
  }
  return Table({Column::own("f", std::move(f), valid[0]), Column::own("d", std::move(d), valid[1]),
                Column::own("i", std::move(i), valid[2]), Column::own("l", std::move(l)),
                Column::own("t", std::move(t)), Column::own("g", std::move(g))});
}

void expect_one_pass(const Query& query, const Table& table, const std::string& how) {
  static kernels::tests::Turns turns(3);  // from call to call
  for (const Ties ties : {Ties::first, Ties::last}) {
    if (turns.skip()) continue;
    Query tied = query;
    tied.ties(ties);
    const Result here = engine_on(DeviceChoice::cpu).run(tied, table);
    ForcedPath path;
    path.algorithms = {"cuda-sampled-threshold"};
    const Result there = engine_on(DeviceChoice::cuda).run(tied.using_path(path), table);
    EXPECT_EQ(there.rows, here.rows) << to_string(there.plan);
    EXPECT_THAT(to_string(there.plan), testing::HasSubstr(how));
  }
}

TEST_F(EngineOnGpu, RankingsInOnePassOverTheColumnsGiveTheRowsOfTheCpu) {
  for (const bool nulls : {false, true}) {
    const Table table = long_table(nulls);
    for (const char* condition : {"f > -100", "f between -10 and 200 and i >= 0", "i < 900 and l > 0 and d <= 9",
                                  "f is not null", "d is null and l > 0", "f is null and i > 0", "f < 5 and f is null",
                                  "l <= -9223372036854775807", "f > 1e300", "true"}) {
      for (const char* score : {"f", "d", "i", "l", "0.3 * f - 2 * d", "d + 0.1 * i", "f + i", "l * 1.5 - f"}) {
        // There is nothing to guess where all that passes is NULL.
        const bool null_scores = std::string(condition).find("is null") != std::string::npos;
        expect_one_pass(Query::from("t").where(condition).rank_by({high(score)}).limit(40), table,
                        null_scores ? "" : "in one pass");
      }
      expect_one_pass(Query::from("t").where(condition).rank_by({low("f")}).limit(2000).offset(5), table,
                      "in one pass");
      expect_one_pass(Query::from("t").where(condition).rank_by({low("f")}).limit(2950), table, "in one pass");
    }
    expect_one_pass(Query::from("t").rank_by({low("i")}).limit(300), table, "in one pass over the columns");
  }
}

TEST_F(EngineOnGpu, RankingsInOnePassOfProgramsGiveTheRowsOfTheCpu) {
  for (const bool nulls : {false, true}) {
    const Table table = long_table(nulls);
    for (const char* condition :
         {"f > 0 or i < 3", "t in (1, 2) and f * 2 > d", "case when i > 5 then f > 1 else l < 0 end", "not (t = 3)",
          "i % 7 = 2 and f is not null", "f between d and 100 or l between -9 and 99999999999",
          "(f > 0.1 or d < 4) and i between 2 and 700"}) {
      for (const char* score :
           {"f * d", "t * 3 - f", "sqrt(abs(d)) - floor(f)", "min(f, d, 3)", "t * 5",
            "case when t > 2 then f else d end", "sqrt(d * d + 40 * f)", "case when f > 3 then d else f * d end"}) {
        expect_one_pass(Query::from("t").where(condition).rank_by({high(score)}).limit(40), table,
                        "in one pass of programs");
        expect_one_pass(Query::from("t").where(condition).rank_by({low(score)}).limit(700), table,
                        "in one pass of programs");
      }
    }
    expect_one_pass(Query::from("t").rank_by({low("f * f")}).limit(30).offset(3), table, "in one pass of programs");
  }
}

// Quotients are compared with a bound before anything is divided; several steps are put into one.
TEST_F(EngineOnGpu, QuotientsAndSquaresInOnePassGiveTheRowsOfTheCpu) {
  for (const bool nulls : {false, true}) {
    const Table table = long_table(nulls);
    for (const char* condition : {"true", "f > -200 and g between -7 and 7", "g > 3 or f < 50"}) {
      for (const char* score :
           {"f / g", "d / g", "(f - 249.5) / g", "(0.00001 * d - f) / g", "min(f, g) / g", "min(g, f)", "max(f, g) / f",
            "f * 1e-210 * 1e-80 / g", "g / f", "f * f / g", "sqrt(f * f + g * g)", "g * g + f * f", "2.5 * f + g * g",
            "2.5 * f * g + f", "(g * g + 1) * (f * f + d)"}) {
        for (const std::size_t limit : {std::size_t{5}, std::size_t{nulls ? 700u : 2950u}}) {
          expect_one_pass(Query::from("t").where(condition).rank_by({high(score)}).limit(limit), table,
                          "in one pass of programs");
          expect_one_pass(Query::from("t").where(condition).rank_by({low(score)}).limit(limit), table,
                          "in one pass of programs");
        }
      }
    }
  }
}

// Also of rows that the filter keeps, of which the condition's program knows nothing.
TEST_F(EngineOnGpu, AFailingRowOfAProgramIsNamedAsOnTheCpu) {
  const Table table = long_table(false);
  for (const Query& query : {Query::from("t").rank_by({low("100 / t")}).limit(5),
                             Query::from("t").where("100 % t > 3").rank_by({low("f")}).limit(5),
                             Query::from("t").where("i > 3 or f > 5").rank_by({low("l * i")}).limit(5)}) {
    std::string told;
    try {
      engine_on(DeviceChoice::cpu).run(query, table);
    } catch (const DataError& error) {
      told = error.message();
    }
    EXPECT_NE(told, "");
    try {
      engine_on(DeviceChoice::cuda).run(query, table);
      ADD_FAILURE() << "no error";
    } catch (const DataError& error) {
      EXPECT_EQ(error.message(), told);
    }
  }
  expect_one_pass(Query::from("t").where("t != 0 or f * 0 > 1").rank_by({low("100 / t")}).limit(9), table,
                  "in one pass of programs");
}

TEST_F(EngineOnGpu, SkylinesGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  const auto best = [] { return Query::from("t").prefer({low("price"), high("stars"), high("weight")}); };
  expect_same(best(), table);
  expect_same(best().where("stars >= 3 and price < 300 or price * 2 > weight"), table);
  expect_same(best().rank_by({low("weight"), high("stars")}).limit(5), table);
  expect_same(best().where("stars > 1").rank_by({high("price + 2 * weight")}).limit(5).offset(2).ties(Ties::all),
              table);
  expect_same(best().partition_by({"stars"}), table);
  expect_same(best().levels(3), table);
  expect_same(best().at_least(100).distinct(true), table);
  expect_same(Query::from("t").prefer({low("price"), high("seen"), around("weight", std::int64_t{500})}), table);
  expect_same(Query::from("t").prefer(prior({pareto({low("price"), high("stars")}), high("weight")})), table);
  expect_same(Query::from("t").prefer({prior({high("stars"), low("weight")}), low("price"), where("seen % 2 = 0")}),
              table);
  expect_same(Query::from("t")
                  .group_by({"stars", "weight"})
                  .aggregate({max("dearest", "price"), count("rows")})
                  .prefer({high("dearest"), low("rows")}),
              table);
}

TEST_F(EngineOnGpu, WhatTheDeviceCannotDoIsSaid) {
  const Query general =
      Query::from("t").prefer({low("price"), prior({pareto({high("stars"), low("weight")}), high("seen")})});
  try {
    engine_on(DeviceChoice::cuda).run(general, some_table());
    FAIL() << "no error";
  } catch (const BindError& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("no skyline algorithm fits"));
  }
}

TEST_F(EngineOnGpu, AFailingRowIsNamedAsOnTheCpu) {
  const Table table({Column::own("a", std::vector<std::int64_t>{3, 4, 0, 5, 0}),
                     Column::own("b", std::vector<std::int64_t>{7, 7, 7, 7, 7})});
  for (const Query& query :
       {Query::from("t").where("b / a > 1").rank_by({low("a")}).limit(2),
        Query::from("t").rank_by({low("b % a")}).limit(2), Query::from("t").prefer({low("b / a"), low("a")})}) {
    try {
      engine_on(DeviceChoice::cuda).run(query, table);
      ADD_FAILURE() << "no error";
    } catch (const DataError& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr("row 2: division of an integer by zero"));
    }
  }
  expect_same(Query::from("t").where("a != 0 and b / a > 1").rank_by({low("a")}).limit(2), table);
  expect_same(Query::from("t").rank_by({low("case when a = 0 then 0 else b / a end")}).limit(2), table);
}

// Later contents of the host's memory do not matter, so nothing of it was sent again.
TEST_F(EngineOnGpu, APinnedTableIsNotSentAgain) {
  std::vector<float> values{5, 1, 4, 2, 3};
  std::vector<std::int32_t> others{1, 1, 0, 0, 0};
  const Table table({Column::view<float>("a", values), Column::view<std::int32_t>("b", others)});
  const Engine gpu = engine_on(DeviceChoice::cuda);
  const Query query = Query::from("t").where("b = 0").rank_by({low("a")}).limit(2).select({"row"});
  const Table pinned = gpu.pin(table);
  const Table on_use = gpu.pin(table, PinTime::on_use);
  EXPECT_EQ(gpu.run(query, on_use).rows, (std::vector<RowId>{3, 4}));
  values = {0, 0, 9, 9, 9};
  others = {0, 0, 1, 1, 1};
  EXPECT_EQ(gpu.run(query, table).rows, (std::vector<RowId>{0, 1}));
  EXPECT_EQ(gpu.run(query, pinned).rows, (std::vector<RowId>{3, 4}));
  EXPECT_EQ(gpu.run(query, on_use).rows, (std::vector<RowId>{3, 4}));
}

// A column without end: every row is the same value.
TEST_F(EngineOnGpu, WhatDoesNotFitIsToldAndLeavesNothing) {
  constexpr std::int64_t kRows = std::int64_t{1} << 38;
  const double value = 1;
  const Table small = some_table();
  const Table large({Column::view_strided("price", Type::float64, &value, kRows, 0)});
  const Engine gpu = engine_on(DeviceChoice::cuda);
  const std::size_t before = kernels::cuda::available_bytes();
  try {
    gpu.pin(large);
    ADD_FAILURE() << "no error";
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("needs 2199023255552 bytes of device memory, of which"));
  }
  try {
    Query whole = Query::from("t").rank_by({low("price")}).limit(3);
    whole.using_path({.algorithms = {}, .parameters = {}, .without = {"device-parts"}});
    gpu.run(whole, large);
    ADD_FAILURE() << "no error";
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("2199023255552 bytes of device memory are needed and"));
  }
  EXPECT_EQ(kernels::cuda::available_bytes(), before);
  expect_same(Query::from("t").rank_by({low("price")}).limit(3), small);
}

}  // namespace
}  // namespace skyrank

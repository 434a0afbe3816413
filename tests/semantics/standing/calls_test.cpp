#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/standing.hpp>

#include "engine/standing/standing_query.hpp"
#include "tests/build.hpp"
#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/parts/steps.hpp"
#include "tests/semantics/standing/message_of.hpp"

// Tests of the calls of a standing query, one by one; histories_test.cpp has histories of every kind of query.
namespace skyrank {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Engine& engine() {
  static const Engine two({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  return two;
}

Table points(std::vector<double> x, std::vector<double> y) {
  return Table({Column::own("x", std::move(x)), Column::own("y", std::move(y))});
}

/// `rows` points of a front, each of which dominates `dominated` more.
Table front(std::int64_t rows, std::int64_t dominated) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j <= dominated; ++j) {
      x.push_back(static_cast<double>(i + j * rows));
      y.push_back(static_cast<double>(rows - i + j * rows));
    }
  }
  return points(std::move(x), std::move(y));
}

Query skyline() {
  Query query = Query::from("points");
  query.prefer({low("x"), low("y")}).select({"row", "x"});
  return query;
}

TEST(Standing, FollowsInsertsErasesAndUpdates) {
  StandingQuery standing(engine(), skyline(), points({}, {}));
  EXPECT_EQ(standing.answer()->rows.size(), 0);
  EXPECT_EQ(standing.answer()->table.num_columns(), 2);
  EXPECT_EQ(standing.insert(points({1, 2, 3}, {3, 2, 3})), (Changes{{0, 1}, {}}));
  EXPECT_EQ(standing.insert(points({2}, {1})), (Changes{{3}, {1}}));
  const auto before = standing.answer();
  EXPECT_EQ(standing.erase(std::vector<RowId>{3}), (Changes{{1}, {3}}));
  EXPECT_EQ(standing.update(std::vector<RowId>{2, 0}, points({0, 9}, {9, 9})), (Changes{{2}, {0}}));
  EXPECT_THAT(standing.answer()->rows, ElementsAre(1, 2));
  EXPECT_EQ(standing.answer()->table.column("row").value(1), Value(std::int64_t{2}));
  EXPECT_EQ(standing.answer()->table.column("x").value(1), Value(0.0));
  EXPECT_THAT(before->rows, ElementsAre(0, 3));
  EXPECT_EQ(standing.next_id(), 4);
  EXPECT_EQ(standing.num_rows(), 3);
}

TEST(Standing, FollowsQueriesThatReadNoColumns) {
  Query query = Query::from("points");
  query.rank_by({low("1")}).limit(2).ties(Ties::last).select({"row"});
  for (const bool append_only : {false, true}) {
    StandingQuery standing(engine(), query, points({}, {}), {.append_only = append_only});
    EXPECT_EQ(standing.insert(points({1, 2, 3}, {3, 2, 3})), (Changes{{1, 2}, {}}));
    EXPECT_EQ(standing.insert(points({4}, {4})), (Changes{{3}, {1}}));
    if (append_only) continue;
    EXPECT_EQ(standing.erase(std::vector<RowId>{3}), (Changes{{1}, {3}}));
    EXPECT_EQ(standing.update(std::vector<RowId>{1}, points({0}, {9})), Changes{});
  }
}

TEST(Standing, TakesColumnsInAnyOrder) {
  StandingQuery standing(engine(), skyline(), points({}, {}));
  standing.insert(Table({Column::own("y", std::vector<double>{1}), Column::own("x", std::vector<double>{2})}));
  EXPECT_EQ(standing.answer()->table.column("x").value(0), Value(2.0));
}

TEST(Standing, RefusesOtherColumns) {
  StandingQuery standing(engine(), skyline(), points({}, {}));
  const auto message = [&](std::vector<Column> columns) {
    return message_of<BindError>([&] { standing.insert(Table(std::move(columns))); });
  };
  const Column x = Column::own("x", std::vector<double>{1});
  const Column y = Column::own("y", std::vector<double>{1});
  EXPECT_THAT(message({x}), HasSubstr("'y'"));
  EXPECT_THAT(message({x, Column::own("y", std::vector<float>{1})}),
              HasSubstr("column 'y' is float32; the schema says float64"));
  EXPECT_THAT(message({x, y, Column::own("z", std::vector<double>{1})}), HasSubstr("the schema has no column 'z'"));
  EXPECT_EQ(standing.next_id(), 0);
}

TEST(Standing, RefusesWhatIsNoWindow) {
  const auto standing = [](const StandingWindow& window) {
    return [=] { StandingQuery(engine(), skyline(), points({}, {}), {.window = window}); };
  };
  using std::chrono::nanoseconds;
  EXPECT_THAT(message_of<QueryError>(standing(RowWindow{0})), HasSubstr("1 or more rows, not 0"));
  EXPECT_THAT(message_of<QueryError>(standing(TimeWindow{"x", nanoseconds(0)})), HasSubstr("a length above 0"));
  EXPECT_THAT(message_of<BindError>(standing(TimeWindow{"x", nanoseconds(1)})), HasSubstr("'x' is float64"));
  EXPECT_THAT(message_of<BindError>(standing(TimeWindow{"z", nanoseconds(1)})), HasSubstr("'z'"));
}

TEST(Standing, RefusesUnknownIds) {
  StandingQuery standing(engine(), skyline(), points({}, {}));
  standing.insert(points({1, 2}, {3, 2}));
  const auto erase = [&](std::vector<RowId> ids) { return [&standing, ids] { standing.erase(ids); }; };
  EXPECT_THAT(message_of<DataError>(erase({0, 2})), HasSubstr("no row has the id 2"));
  EXPECT_THAT(message_of<DataError>(erase({-1})), HasSubstr("no row has the id -1"));
  EXPECT_THAT(message_of<DataError>(erase({1, 0, 1})), HasSubstr("the id 1 comes twice"));
  EXPECT_THAT(message_of<DataError>([&] { standing.update(std::vector<RowId>{1}, points({}, {})); }),
              HasSubstr("1 ids and 0 rows"));
  EXPECT_EQ(standing.num_rows(), 2);
}

TEST(Standing, ErrorsNameIds) {
  Query query = Query::from("t");
  query.rank_by({high("x * x")}).limit(1);
  const auto values = [](std::vector<std::int64_t> x) { return Table({Column::own("x", std::move(x))}); };
  const std::int64_t large = std::int64_t{1} << 40;
  for (const bool append_only : {false, true}) {
    StandingQuery standing(engine(), query, values({}), {.append_only = append_only});
    standing.insert(values({1, 2, 3}));
    if (!append_only) standing.erase(std::vector<RowId>{0});
    const auto insert = [&] { standing.insert(values({4, large})); };
    EXPECT_THAT(message_of<DataError>(insert), HasSubstr("row 4"));
    EXPECT_THAT(standing.answer()->rows, ElementsAre(2));
    EXPECT_EQ(standing.next_id(), 3);
    if (append_only) continue;
    const auto update = [&] { standing.update(std::vector<RowId>{2}, values({large})); };
    EXPECT_THAT(message_of<DataError>(update), HasSubstr("row 2"));
  }
}

TEST(Standing, SumsStayExact) {
  Query query = Query::from("t");
  query.group_by({"g"}).aggregate({sum("s", "x")}).rank_by({low("g")});
  const auto rows = [](std::vector<std::int64_t> g, std::vector<double> x) {
    return Table({Column::own("g", std::move(g)), Column::own("x", std::move(x))});
  };
  StandingQuery standing(engine(), query, rows({}, {}));
  standing.insert(rows({0, 0, 0, 0}, {0.1, 1e300, 0.2, -1e-300}));
  standing.erase(std::vector<RowId>{1, 3});
  EXPECT_EQ(standing.answer()->table.column("s").value(0), Value(0.1 + 0.2));
}

TEST(Standing, AppendOnlyKeepsWhatCanMatter) {
  StandingQuery standing(engine(), skyline(), points({}, {}), {.append_only = true});
  for (int i = 0; i < 10; ++i) standing.insert(front(50, 100));
  EXPECT_EQ(standing.num_rows(), 500);  // equal rows are all in the skyline
  EXPECT_EQ(standing.next_id(), 10 * 50 * 101);
  standing.insert(points({-1}, {-1}));
  EXPECT_EQ(standing.num_rows(), 1);
  EXPECT_THROW(standing.erase(std::vector<RowId>{0}), QueryError);
}

/// Checks that NULL is behind the worst value of a type, in either direction.
template <class T>
void expect_null_worst() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> values = {Limits::max(), Limits::lowest(), T{0}, T{0}};
  const Table table({Column::own("x", values, {true, true, true, false})});
  for (const Preference& term : {low("x"), high("x")}) {
    Query query = Query::from("t");
    query.prefer({term}).select({"row"});
    StandingQuery standing(engine(), query, table);
    standing.insert(table);
    while (standing.num_rows() > 1) {  // the best go, and NULL is left
      const std::vector<RowId> best = standing.answer()->rows;
      ASSERT_THAT(best, testing::Not(testing::Contains(3)));
      standing.erase(best);
    }
    EXPECT_THAT(standing.answer()->rows, ElementsAre(3));
  }
}

TEST(Standing, NullIsWorseThanAllValues) {
  expect_null_worst<std::int8_t>();
  expect_null_worst<std::uint8_t>();
  expect_null_worst<std::int32_t>();
  expect_null_worst<std::uint32_t>();
  expect_null_worst<std::int64_t>();
  expect_null_worst<std::uint64_t>();
  expect_null_worst<float>();
  expect_null_worst<double>();
}

TEST(Standing, WindowsLetRowsGo) {
  StandingQuery of_rows(engine(), skyline(), points({}, {}), {.window = RowWindow{2}});
  EXPECT_EQ(of_rows.insert(points({0, 1, 2, 3}, {0, 1, 2, 3})), (Changes{{2}, {}}));
  EXPECT_EQ(of_rows.insert(points({9}, {9})), (Changes{{3}, {2}}));
  const auto rows = [](std::vector<std::int32_t> day, std::vector<bool> valid) {
    std::vector<std::int64_t> x(day.size(), 0);
    return Table({Column::own_as("day", Type::date, std::move(day), valid), Column::own("x", std::move(x))});
  };
  Query query = Query::from("t");
  query.prefer({low("x")});
  StandingQuery of_days(engine(), query, rows({}, {}), {.window = TimeWindow{"day", std::chrono::hours(48)}});
  StandingQuery without_times(engine(), query, rows({}, {}), {.window = TimeWindow{"day", std::chrono::hours(48)}});
  EXPECT_EQ(without_times.insert(rows({0, 0}, {false, false})), Changes{});  // out at once, without a time to be before
  EXPECT_EQ(without_times.num_rows(), 0);
  EXPECT_EQ(of_days.insert(rows({10, 8, 9, 0}, {true, true, true, false})), (Changes{{0, 2}, {}}));
  EXPECT_EQ(of_days.insert(rows({11, 8}, {})), (Changes{{4}, {2}}));
  EXPECT_EQ(of_days.erase(std::vector<RowId>{4}), (Changes{{}, {4}}));
  EXPECT_EQ(of_days.insert(rows({9}, {})), Changes{});  // a window never goes back
  EXPECT_THROW(of_days.erase(std::vector<RowId>{1}), DataError);
  EXPECT_EQ(of_days.update(std::vector<RowId>{0}, rows({9}, {})), (Changes{{}, {0}}));
}

TEST(Standing, ExplainSaysHow) {
  const auto plan_of = [](const Query& query, bool append_only = false) {
    return StandingQuery(engine(), query, points({}, {}), {.append_only = append_only}).explain();
  };
  EXPECT_THAT(to_string(plan_of(skyline())), HasSubstr("standing  incremental: the skyline, and a dominator of each"));
  EXPECT_THAT(plan_of(skyline(), true).detail, HasSubstr("incremental: the skyline alone"));
  EXPECT_THAT(plan_of(skyline().levels(2)).detail, HasSubstr("incremental: candidates of ever more rows"));
  EXPECT_THAT(plan_of(skyline().levels(2), true).detail, HasSubstr("incremental: candidates alone"));
  Query groups = Query::from("t");
  groups.group_by({"x"}).aggregate({count("n")}).rank_by({high("n")});
  EXPECT_THAT(plan_of(groups).detail, HasSubstr("incremental: groups"));
  Query ranking = Query::from("t");
  ranking.rank_by({low("x")});
  EXPECT_THAT(plan_of(ranking).detail, HasSubstr("runs over all rows"));
  EXPECT_THAT(plan_of(ranking).reason, HasSubstr("without a limit"));
  EXPECT_THAT(plan_of(skyline().skyband(kAllRows)).reason, HasSubstr("skyband"));
  EXPECT_THAT(plan_of(skyline().pick(Pick{2, Pick::By::coverage})).reason, HasSubstr("coverage"));
  EXPECT_THAT(plan_of(skyline().rank_by({high("dominates()")})).reason, HasSubstr("counts all rows"));
}

TEST(Standing, MemoryIsCountedAndRefused) {
  const exec::EngineState state(
      {.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = std::size_t{4} << 20});
  {
    exec::Standing standing(state, skyline(), points({}, {}), {});
    standing.insert(front(1, 10'000), {});
    const auto before = standing.answer();
    const std::size_t used = state.memory->used();
    EXPECT_GT(used, 10'000 * (2 * sizeof(double)));
    EXPECT_LT(used, 10'000 * (12 * sizeof(double)));
    EXPECT_THROW(standing.insert(front(10, 100'000), {}), ResourceError);
    EXPECT_EQ(standing.answer(), before);
    EXPECT_EQ(state.memory->used(), used);
    std::vector<RowId> all(10'001);
    std::iota(all.begin(), all.end(), RowId{0});
    EXPECT_EQ(standing.erase(all, {}), (Changes{{}, {0}}));
  }
  EXPECT_EQ(state.memory->used(), 0);
}

TEST(Standing, ReadersSeeTheAnswerBeforeOrAfterACall) {
  StandingQuery standing(engine(), skyline(), points({}, {}));
  std::atomic<bool> done = false;
  std::jthread reader([&] {
    while (!done) {
      const auto answer = standing.answer();
      EXPECT_EQ(answer->table.num_rows(), std::ssize(answer->rows));
      for (std::size_t i = 0; i < answer->rows.size(); ++i) {
        EXPECT_EQ(answer->table.column("x").value(static_cast<std::int64_t>(i)),
                  Value(static_cast<double>(answer->rows[i])));
      }
    }
  });
  for (int i = 0; i < 200; ++i) standing.insert(points({static_cast<double>(i)}, {static_cast<double>(-i)}));
  done = true;
  reader.join();
  EXPECT_EQ(standing.answer()->rows.size(), 200);
}

TEST(Standing, ManyRowsFollowErases) {
  // Leaves of 4,096 rows, whose best row goes again and again.
  Query ranking = Query::from("points");
  ranking.rank_by({low("x")}).limit(1).select({"row", "x"});
  for (const Query& query : {skyline(), skyline().distinct(true), ranking}) {
    StandingQuery standing(engine(), query, points({}, {}));
    std::vector<double> x(40'000);
    std::iota(x.begin(), x.end(), 0.0);
    EXPECT_EQ(standing.insert(points(x, x)), (Changes{{0}, {}}));
    std::vector<RowId> some(10'000);
    std::iota(some.begin(), some.end(), RowId{0});
    EXPECT_EQ(standing.erase(some), (Changes{{10'000}, {0}}));
    EXPECT_EQ(standing.erase(std::vector<RowId>{10'000, 30'000}), (Changes{{10'001}, {10'000}}));
    EXPECT_EQ(standing.erase(std::vector<RowId>{20'000}), Changes{});
    EXPECT_EQ(standing.update(std::vector<RowId>{39'999}, points({-1}, {-1})), (Changes{{39'999}, {10'001}}));
    EXPECT_EQ(standing.insert(points({-2}, {-2})), (Changes{{40'000}, {39'999}}));
  }
}

TEST(Standing, SkylinesOfManyRowsAgreeWithTheEngine) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto some = [&](int rows) {
    std::vector<double> x;
    std::vector<double> y;
    for (int i = 0; i < rows; ++i) {
      x.push_back(uniform(random));
      y.push_back(1 - x.back() + 0.1 * uniform(random));
    }
    return std::pair(x, y);
  };
  for (const bool append_only : {false, true}) {
    const int batch = append_only ? 1500 : 500;
    StandingQuery standing(engine(), skyline(), points({}, {}), {.append_only = append_only});
    std::vector<double> x;
    std::vector<double> y;
    RowId gone = 0;
    for (int step = 0; step < 30; ++step) {
      const auto [more_x, more_y] = some(batch);
      standing.insert(points(more_x, more_y));
      x.insert(x.end(), more_x.begin(), more_x.end());
      y.insert(y.end(), more_y.begin(), more_y.end());
      if (!append_only && step > 10) {
        std::vector<RowId> oldest(400);
        std::iota(oldest.begin(), oldest.end(), gone);
        standing.erase(oldest);
        gone += 400;
      }
      const auto left = [&](const std::vector<double>& all) {
        return std::vector<double>(all.begin() + gone, all.end());
      };
      std::vector<RowId> expected = engine().run(skyline(), points(left(x), left(y))).rows;
      for (RowId& row : expected) row += gone;
      ASSERT_EQ(standing.answer()->rows, expected);
    }
  }
}

TEST(Standing, RowsThatComeOneByOne) {
  // Leaves of many pieces, and answers that are asked for after many steps.
  std::mt19937_64 random(11);
  const auto below = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  const auto table = [](const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<std::string> names;
    for (const double value : x) names.push_back("name of " + std::to_string(value));
    return Table({Column::own("x", x), Column::own("y", y), Column::own("name", names)});
  };
  Query front = Query::from("points");
  front.prefer({low("x"), low("y")}).select({"row", "name"});
  Query ranking = Query::from("points");
  ranking.rank_by({low("x"), high("y")}).limit(20).select({"name"});
  for (const Query& query : {front, ranking}) {
    StandingQuery standing(engine(), query, table({}, {}));
    std::map<RowId, std::pair<double, double>> there;
    for (int step = 0; step < (tests::kSanitized ? 2000 : 6000); ++step) {
      const auto x = static_cast<double>(below(100'000));
      const double y = 100'000 - x + static_cast<double>(below(step < 3000 ? 5 : 30'000));
      if (step % 7 == 6) {
        const RowId id = std::next(there.begin(), below(std::min<std::int64_t>(50, std::ssize(there))))->first;
        if (step % 2 == 0) {
          standing.erase(std::vector<RowId>{id});
          there.erase(id);
        } else {
          standing.update(std::vector<RowId>{id}, table({x}, {y}));
          there[id] = {x, y};
        }
      } else {
        there[standing.next_id()] = {x, y};
        standing.insert(table({x}, {y}));
      }
      if (step % 1000 != 999) continue;
      std::vector<RowId> ids;
      std::vector<double> xs;
      std::vector<double> ys;
      for (const auto& [id, point] : there) {
        ids.push_back(id);
        xs.push_back(point.first);
        ys.push_back(point.second);
      }
      Result expected = engine().run(query, table(xs, ys));
      for (RowId& row : expected.rows) row = ids[static_cast<std::size_t>(row)];
      const auto answer = standing.answer();
      ASSERT_EQ(answer->rows, expected.rows);
      EXPECT_EQ(standing.num_rows(), std::ssize(there));
      for (std::int64_t row = 0; row < answer->table.num_rows(); ++row) {
        ASSERT_EQ(answer->table.column("name").value(row), expected.table.column("name").value(row));
      }
    }
  }
}

TEST(Standing, SkylinesOfManyRowsAtOnce) {
  // More rows than are looked at one by one: many of them in the skyline, few of them, and all of them equal.
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const double spread : {0.0, 0.01, 1.0}) {
    StandingQuery standing(engine(), skyline(), points({}, {}));
    std::vector<double> x;
    std::vector<double> y;
    for (int call = 0; call < 2; ++call) {
      std::vector<double> more_x;
      std::vector<double> more_y;
      for (int i = 0; i < 20'000; ++i) {
        more_x.push_back(spread == 0 ? 1.0 : uniform(random));
        more_y.push_back(1 - more_x.back() + spread * uniform(random));
      }
      standing.insert(points(more_x, more_y));
      x.insert(x.end(), more_x.begin(), more_x.end());
      y.insert(y.end(), more_y.begin(), more_y.end());
      ASSERT_EQ(standing.answer()->rows, engine().run(skyline(), points(x, y)).rows);
    }
    // All dominators go, and their rows are compared again.
    std::vector<RowId> there(x.size());
    std::iota(there.begin(), there.end(), RowId{0});
    for (int layer = 0; layer < 3 && !there.empty(); ++layer) {
      const std::vector<RowId> best = standing.answer()->rows;
      standing.erase(best);
      std::vector<RowId> left;
      std::ranges::set_difference(there, best, std::back_inserter(left));
      there = std::move(left);
      std::vector<double> left_x;
      std::vector<double> left_y;
      for (const RowId id : there) {
        left_x.push_back(x[static_cast<std::size_t>(id)]);
        left_y.push_back(y[static_cast<std::size_t>(id)]);
      }
      std::vector<RowId> expected = engine().run(skyline(), points(left_x, left_y)).rows;
      for (RowId& row : expected) row = there[static_cast<std::size_t>(row)];
      ASSERT_EQ(standing.answer()->rows, expected);
    }
  }
}

TEST(Standing, AnswersThatMemoryDoesNotSufficeForAreRefused) {
  // Keys of the skyline fit, but not the texts of its answer beside those that are kept.
  const exec::EngineState state(
      {.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = std::size_t{2} << 20});
  Query query = Query::from("t");
  query.prefer({low("x")}).select({"name"});
  const Table row({Column::own("x", std::vector<double>{1}),
                   Column::own("name", std::vector<std::string>{std::string(100'000, 'a')})});
  exec::Standing standing(state, query, row, {});
  for (int i = 0; i < 6; ++i) standing.insert(row, {});
  EXPECT_THROW(standing.answer(), ResourceError);
  EXPECT_EQ(standing.num_rows(), 6);
  const Table best({Column::own("x", std::vector<double>{0}), Column::own("name", std::vector<std::string>{"b"})});
  EXPECT_EQ(standing.insert(best, {}), (Changes{{6}, {0, 1, 2, 3, 4, 5}}));
  EXPECT_THAT(standing.answer()->rows, ElementsAre(6));
}

}  // namespace
}  // namespace skyrank

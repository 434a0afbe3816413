// Sources that applications make: of functions that read units, and of Arrow streams.
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <skyrank/skyrank.hpp>

namespace skyrank {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Rows [begin, begin + count) of a table of numbers, texts with NULLs, and their squares.
Table rows_from(std::int64_t begin, std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), begin);
  std::vector<std::string> texts;
  std::vector<bool> valid;
  std::vector<double> squares;
  for (const std::int64_t number : numbers) {
    texts.push_back("t" + std::to_string(number));
    valid.push_back(number % 3 != 0);
    squares.push_back(static_cast<double>(number * number));
  }
  return Table({Column::own("number", numbers), Column::own("text", texts, valid), Column::own("square", squares)});
}

template <class Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no DataError";
  return {};
}

/// Units of 4, 0, 3 and 5 rows.
const std::vector<SourceUnit> kUnits = {{4}, {0}, {3}, {5}};

Table unit_of(std::size_t unit) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < unit; ++i) begin += kUnits[i].rows;
  return rows_from(begin, kUnits[unit].rows);
}

std::vector<std::string> texts_of(const Table& table) {
  std::vector<std::string> texts;
  const Column& column = table.column("text");
  for (std::int64_t i = 0; i < column.size(); ++i) {
    texts.push_back(column.is_null(i) ? "NULL" : to_string(column.value(i)));
  }
  return texts;
}

TEST(UnitSource, AnswersAreThoseOfTheWholeTable) {
  const auto source =
      unit_source(rows_from(0, 0), kUnits, [](std::size_t u, std::span<const int>) { return unit_of(u); });
  EXPECT_EQ(num_rows(*source), 12);
  const Engine engine({.device = DeviceChoice::cpu});
  const Query query = Query::from("t").where("number % 2 = 1").rank_by({high("square")}).limit(4);
  const Result expected = engine.run(query, rows_from(0, 12));
  const Result found = engine.run(query, *source);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_THAT(texts_of(found.table), ElementsAre("t11", "NULL", "t7", "t5"));
}

TEST(UnitSource, ReadsOnlyTheColumnsAndUnitsThatAQueryNeeds) {
  std::vector<std::string> reads;
  const auto read = [&](std::size_t unit, std::span<const int> columns) {
    std::string text = std::to_string(unit) + ":";
    for (const int column : columns) text += std::to_string(column);
    reads.push_back(text);
    return unit_of(unit);
  };
  const auto statistics = [](int column) -> std::optional<UnitStatistics> {
    if (column != 0) return std::nullopt;
    const std::vector<bool> known = {true, false, true, true};
    return UnitStatistics{Column::own("number", std::vector<std::int64_t>{0, 0, 4, 7}, known),
                          Column::own("number", std::vector<std::int64_t>{3, 0, 6, 11}, known),
                          {0, 0, 0, 0}};
  };
  const auto source = unit_source(rows_from(0, 0), kUnits, read, statistics);
  const Query query =
      Query::from("t").where("number > 8").rank_by({low("number")}).limit(2).select({Expression::column("text")});
  const Result result = Engine({.device = DeviceChoice::cpu}).run(query, *source);
  EXPECT_THAT(result.rows, ElementsAre(9, 10));
  EXPECT_THAT(texts_of(result.table), ElementsAre("NULL", "t10"));
  EXPECT_THAT(reads, ElementsAre("3:01")) << "of few rows both columns are read at once";
}

TEST(UnitSource, ATableWithoutTheAnnouncedColumnsOrRowsIsRefused) {
  const auto message = [](const Table& unit) {
    const auto source = unit_source(rows_from(0, 0), {{4}}, [unit](std::size_t, std::span<const int>) { return unit; });
    return error_of([&] { Engine().run(Query::from("t").rank_by({low("number")}), *source); });
  };
  const auto numbers = std::vector<std::int64_t>{1, 2, 3, 4};
  EXPECT_THAT(message(Table({Column::own("x", numbers)})), HasSubstr("unit 0 of the source lacks the column 'number'"));
  EXPECT_THAT(message(Table({Column::own("number", std::vector<double>{1, 2, 3, 4})})),
              HasSubstr("unit 0 of the source has the column 'number' as float64, the schema as int64"));
  EXPECT_THAT(message(rows_from(0, 5)), HasSubstr("has 5 rows, but was announced with 4"));
  EXPECT_THAT(error_of([] {
                unit_source(rows_from(0, 0), {{1}, {-1}}, [](auto, auto) { return Table(); });
              }),
              HasSubstr("unit 1 of the source is announced with -1 rows"));
  EXPECT_THAT(error_of([] { unit_source(rows_from(0, 0), {}, {}); }), HasSubstr("needs a function"));
}

TEST(UnitSource, StatisticsOfAnotherShapeAreRefused) {
  const auto statistics = [](int) -> std::optional<UnitStatistics> {
    const Column bound = Column::own("number", std::vector<std::int64_t>{0});
    return UnitStatistics{bound, bound, {0}};
  };
  const auto source = unit_source(
      rows_from(0, 0), kUnits, [](std::size_t u, std::span<const int>) { return unit_of(u); }, statistics);
  const Query query = Query::from("t").where("number > 8").rank_by({low("number")});
  EXPECT_THAT(error_of([&] { Engine().run(query, *source); }), HasSubstr("need 4 bounds of type int64"));
}

TEST(UnitSource, ErrorsOfTheProgramReachIt) {
  const auto source = unit_source(rows_from(0, 0), kUnits, [](std::size_t, std::span<const int>) -> Table {
    throw ResourceError("the disk is gone");
  });
  EXPECT_THROW(Engine().run(Query::from("t").rank_by({low("number")}), *source), ResourceError);
}

/// A class of an application whose answers are not what it announces.
struct UntrueSource : Source {
  Table names = rows_from(0, 0);
  std::vector<SourceUnit> announced = kUnits;
  Table rows = rows_from(0, 12);
  std::vector<std::int64_t> bounds = {0, 0, 0, 0};
  std::optional<std::int64_t> nulls = 0;

  const Table& schema() const override { return names; }
  const std::vector<SourceUnit>& units() const override { return announced; }
  std::uint64_t bytes() const override { return 0; }
  std::optional<UnitStatistics> statistics(int column) const override {
    if (column != 0) return std::nullopt;
    const Column bound = Column::own("number", bounds);
    return UnitStatistics{bound, bound, {nulls, nulls, nulls, nulls}};
  }
  SourceRows read(std::span<const std::size_t>, std::span<const int>) const override { return {rows, 0}; }
  SourceRows read_rows(std::span<const RowId>, std::span<const int>) const override { return {rows, 0}; }
};

TEST(Source, RowsAndColumnsThatWereNotAskedForAreRefused) {
  const Query query = Query::from("t").prefer({low("number"), high("square")});
  const auto message = [&](const Table& rows) {
    UntrueSource source;
    source.rows = rows;
    return error_of([&] { Engine().run(query, source); });
  };
  EXPECT_THAT(message(rows_from(0, 11)), HasSubstr("the source gave 11 rows where it was asked for 12"));
  EXPECT_THAT(message(rows_from(0, 0)), HasSubstr("the source gave 0 rows where it was asked for 12"));
  EXPECT_THAT(message(Table({rows_from(0, 12).column(0)})), HasSubstr("gave 1 columns; its schema has 3"));
  const std::vector<Column> all = rows_from(0, 12).columns();
  EXPECT_THAT(message(Table({all[2].renamed("number"), all[1], all[0].renamed("square")})),
              HasSubstr("the source gave the column 'number' as float64, its schema has it as int64"));
  EXPECT_EQ(Engine().run(query, UntrueSource()).rows.size(), 12);
  // The rows of a partial answer are read by their numbers.
  const Query best = Query::from("t").rank_by({low("number")}).limit(2);
  EXPECT_THAT(error_of([&] { Engine().partial(best, UntrueSource(), 0); }),
              HasSubstr("the source gave 12 rows where it was asked for 2"));
}

TEST(Source, UnitsAndStatisticsThatFitNothingAreRefused) {
  const Query query = Query::from("t").where("number >= 0").rank_by({low("number")});
  const auto message = [&](auto change) {
    auto source = std::make_shared<UntrueSource>();
    change(*source);
    EXPECT_THAT(error_of([&] { Engine().explain(query, *source); }), Not(::testing::IsEmpty()));
    return error_of([&] { Engine().run(query, *source); });
  };
  EXPECT_THAT(message([](UntrueSource& s) { s.announced[1].rows = -5; }),
              HasSubstr("unit 1 of the source is announced"));
  EXPECT_THAT(message([](UntrueSource& s) { s.announced[1].rows = INT64_MAX; }), HasSubstr("all units together have"));
  EXPECT_THAT(message([](UntrueSource& s) { s.bounds.clear(); }), HasSubstr("need 4 bounds of type int64"));
  EXPECT_THAT(message([](UntrueSource& s) { s.nulls = -1; }), HasSubstr("tell of -1 NULLs in unit 0"));
  UntrueSource source;
  source.bounds.clear();
  const std::shared_ptr<const Source> borrowed(&source, [](const Source*) {});
  EXPECT_THAT(error_of([&] { Engine().run(query, *unit_range(borrowed, 0, 2)); }), HasSubstr("need 4 bounds"));
}

TEST(Source, CodesThatStandForNothingAreRefused) {
  struct Coded final : UntrueSource {
    UnitCodes given{Column::own("c", std::vector<std::uint32_t>(70'000)), Column::own<std::int64_t>("number", {5, 6})};

    Coded() {
      announced = {{70'000}, {70'000}};
      names = Table({names.column(0)});
      rows = Table({Column::own("number", std::vector<std::int64_t>(70'000))});
    }
    std::optional<UnitStatistics> statistics(int) const override { return std::nullopt; }
    bool has_codes(int) const override { return true; }
    std::optional<UnitCodes> codes(std::size_t, int) const override { return given; }
  };
  const Query query = Query::from("t").group_by({"number"}).aggregate({count("c")}).rank_by({high("c")}).limit(3);
  const auto message = [&](const auto& change) {
    Coded source;
    change(source.given);
    return error_of([&] { Engine().run(query, source); });
  };
  const Result right = Engine().run(query, Coded());
  EXPECT_EQ(right.table.column("number").value(0), Value(std::int64_t{5}));
  EXPECT_EQ(right.table.column("c").value(0), Value(std::int64_t{140'000}));
  const auto of = [](std::vector<std::uint32_t> codes) { return Column::own("c", std::move(codes)); };
  std::vector<std::uint32_t> beyond(70'000);
  beyond[69'999] = 2;
  EXPECT_THAT(message([&](UnitCodes& c) { c.codes = of(beyond); }),
              HasSubstr("stand for 2 values; row 69999 of the unit has code 2"));
  EXPECT_THAT(message([&](UnitCodes& c) { c.codes = of({0, 1}); }), HasSubstr("array of uint32 of the 70000 rows"));
  EXPECT_THAT(message([](UnitCodes& c) { c.codes = Column::own("c", std::vector<std::int32_t>(70'000)); }),
              HasSubstr("must be an array of uint32"));
  EXPECT_THAT(message([](UnitCodes& c) {
                c.values = Column::own<double>("number", {5, 6});
              }),
              HasSubstr("need values of type int64 without NULL"));
  EXPECT_THAT(message([](UnitCodes& c) {
                c.values = Column::own<std::int64_t>("number", {5, 6}, {true, false});
              }),
              HasSubstr("need values of type int64 without NULL"));
}

/// Two units of three rows of a column, of which the second has bounds that cannot be.
std::shared_ptr<const Source> with_bounds(const Column& values, const Column& min, const Column& max) {
  return unit_source(
      Table({values}), {{3}, {3}},
      [values](std::size_t unit, std::span<const int>) {
        const auto begin = static_cast<RowId>(3 * unit);
        return Table({take(values, std::vector<RowId>{begin, begin + 1, begin + 2})});
      },
      [min, max](int) -> std::optional<UnitStatistics> {
        return UnitStatistics{min, max, {0, 0}};
      });
}

/// Expects a condition to be true for all rows but the first three, which are known not to meet it, or not to be known.
void expect_second_unit(const std::string& condition, const Column& values, const Column& min, const Column& max) {
  const auto source = with_bounds(values, min, max);
  const Result result = Engine().run(Query::from("t").where(condition).rank_by({low("v")}), *source);
  EXPECT_THAT(result.rows, ElementsAre(3, 4, 5)) << condition;
}

TEST(Source, BoundsThatCannotBeAreNone) {
  const double nan = std::nan("");
  const Column integers = Column::own("v", std::vector<std::int64_t>{1, 2, 3, 50, 60, 70});
  const Column min = Column::own("v", std::vector<std::int64_t>{1, 100});
  const Column max = Column::own("v", std::vector<std::int64_t>{3, -100});
  expect_second_unit("v > 10", integers, min, max);
  expect_second_unit("v in (50, 60, 70)", integers, min, max);
  const Column floats = Column::own("v", std::vector<double>{1, 2, 3, 50, 60, 70});
  const auto float_bounds = [](double of_first, double of_second) {
    return Column::own("v", std::vector<double>{of_first, of_second});
  };
  expect_second_unit("v > 10", floats, float_bounds(1, nan), float_bounds(3, nan));
  expect_second_unit("v > 10", floats, float_bounds(1, 50), float_bounds(3, nan));
  expect_second_unit("v between 10 and 80", floats, float_bounds(1, nan), float_bounds(3, 9));
  expect_second_unit("v > 10", floats, float_bounds(1, 70), float_bounds(3, -50));
  const Column one_bound = Column::own("v", std::vector<double>{3, nan}, {true, true});
  expect_second_unit("v > 10", floats, Column::own("v", std::vector<double>{0, 0}, {false, false}), one_bound);
  const Column texts = Column::own("v", std::vector<std::string>{"a", "b", "c", "x", "y", "z"});
  const auto text_bounds = [](const char* of_first, const char* of_second) {
    return Column::own("v", std::vector<std::string>{of_first, of_second});
  };
  expect_second_unit("v > 'h'", texts, text_bounds("a", "z"), text_bounds("c", "b"));
  const Column flags = Column::own("v", std::vector<bool>{false, false, false, true, true, true});
  expect_second_unit("v = true", flags, Column::own("v", std::vector<bool>{false, true}),
                     Column::own("v", std::vector<bool>{false, false}));
}

/// A stream of tables that fails after the last of them, if it is told so.
struct TableProducer {
  std::vector<Table> tables;
  std::size_t next = 0;
  bool fails = false;
  bool released = false;

  ArrowArrayStream stream() {
    ArrowArrayStream stream{};
    stream.private_data = this;
    stream.get_schema = [](ArrowArrayStream* from, ArrowSchema* out) {
      ArrowArray array{};
      export_arrow(of(from).tables.front(), &array, out);
      array.release(&array);
      return 0;
    };
    stream.get_next = [](ArrowArrayStream* from, ArrowArray* out) {
      TableProducer& producer = of(from);
      *out = ArrowArray{};
      if (producer.next == producer.tables.size()) return producer.fails ? EIO : 0;
      ArrowSchema schema{};
      export_arrow(producer.tables[producer.next++], out, &schema);
      schema.release(&schema);
      return 0;
    };
    stream.get_last_error = [](ArrowArrayStream*) { return "the connection was lost"; };
    stream.release = [](ArrowArrayStream* from) {
      of(from).released = true;
      from->release = nullptr;
    };
    return stream;
  }
  static TableProducer& of(ArrowArrayStream* stream) { return *static_cast<TableProducer*>(stream->private_data); }
};

TEST(ArrowSource, EachBatchIsAUnit) {
  TableProducer producer{{unit_of(0), unit_of(1), unit_of(2), unit_of(3)}};
  ArrowArrayStream stream = producer.stream();
  const auto source = arrow_source(&stream);
  EXPECT_TRUE(producer.released);
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_THAT(source->units(), ElementsAre(SourceUnit{4}, SourceUnit{3}, SourceUnit{5}));
  const Query query = Query::from("t").where("text is not null").rank_by({high("number")}).limit(3);
  const Result result = Engine({.device = DeviceChoice::cpu}).run(query, *source);
  EXPECT_THAT(result.rows, ElementsAre(11, 10, 8));
  EXPECT_THAT(texts_of(result.table), ElementsAre("t11", "t10", "t8"));
}

TEST(ArrowSource, OneBatchIsATableInMemory) {
  TableProducer producer{{rows_from(0, 5)}};
  ArrowArrayStream stream = producer.stream();
  const auto source = arrow_source(&stream);
  ASSERT_TRUE(source->table());
  EXPECT_EQ(source->table()->num_rows(), 5);
}

TEST(ArrowSource, NoBatchIsATableWithoutRows) {
  TableProducer producer{{rows_from(0, 0)}};
  producer.next = 1;
  ArrowArrayStream stream = producer.stream();
  const auto source = arrow_source(&stream);
  EXPECT_EQ(num_rows(*source), 0);
  EXPECT_EQ(source->schema().column("text").type(), DataType(Type::string));
  EXPECT_TRUE(Engine().run(Query::from("t").rank_by({low("number")}), *source).rows.empty());
}

TEST(ArrowSource, NoBatchOfStringViewsIsATableWithoutRows) {
  TableProducer producer{{Table({Column::own("text", std::vector<std::string>{})})}};
  producer.next = 1;
  ArrowArrayStream stream = producer.stream();
  stream.get_schema = [](ArrowArrayStream* from, ArrowSchema* out) {
    ArrowArray array{};
    export_arrow(TableProducer::of(from).tables.front(), &array, out);
    array.release(&array);
    out->children[0]->format = "vu";
    return 0;
  };
  EXPECT_EQ(arrow_source(&stream)->schema().column("text").type(), DataType(Type::string));
}

TEST(ArrowSource, SchemasHaveAHundredLevelsAtMost) {
  static std::vector<ArrowSchema> levels(300'000);
  static std::vector<ArrowSchema*> children(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i].format = "+s";
    levels[i].release = [](ArrowSchema* released) { released->release = nullptr; };
    children[i] = &levels[i];
    if (i == 0) continue;
    levels[i - 1].n_children = 1;
    levels[i - 1].children = &children[i];
  }
  TableProducer producer{{unit_of(0)}};
  ArrowArrayStream stream = producer.stream();
  stream.get_schema = [](ArrowArrayStream*, ArrowSchema* out) {
    *out = levels.front();
    return 0;
  };
  EXPECT_THAT(error_of([&] { arrow_source(&stream); }), HasSubstr("fields within fields of more than 100 levels"));
}

TEST(ArrowSource, AFailureNamesItsReasonAndReleasesTheStream) {
  TableProducer producer{{unit_of(0)}, 0, true};
  ArrowArrayStream stream = producer.stream();
  EXPECT_THAT(error_of([&] { arrow_source(&stream); }),
              AllOf(HasSubstr("Arrow stream: reading the next batch failed"), HasSubstr("the connection was lost")));
  EXPECT_TRUE(producer.released);
  EXPECT_THAT(error_of([&] { arrow_source(&stream); }), HasSubstr("was released already"));
  EXPECT_THAT(error_of([] { arrow_source(nullptr); }), HasSubstr("null pointer"));
}

}  // namespace
}  // namespace skyrank

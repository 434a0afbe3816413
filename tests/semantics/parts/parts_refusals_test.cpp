#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/tables.hpp"

// The rows that partial answers keep, and all that is refused, with the words of each message.
namespace skyrank {
namespace {

/// Expects an error of type E with all the words in its message.
template <class E>
void expect_refused(const std::function<void()>& f, const std::vector<std::string>& words) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const E& error) {
    for (const std::string& word : words) {
      EXPECT_NE(error.message().find(word), std::string::npos) << "no '" << word << "' in: " << error.message();
    }
  }
}

Table numbers(std::vector<std::int64_t> values) { return Table({Column::own("x", std::move(values))}); }

Table six() { return numbers({5, 3, 9, 1, 7, 3}); }

Query lowest_two() { return Query::from("t").rank_by({low("x")}).limit(2); }

std::vector<Partial> halves(const Query& query) { return partials_of(sequential_engine(), query, six(), {3}); }

// ---- What is kept ----

TEST(PartsKept, RowsOfARankingWithIdsOfTheWhole) {
  const Partial part = sequential_engine().partial(lowest_two(), six(), 100);
  EXPECT_EQ(part.rows(), (std::vector<RowId>{101, 103}));
  EXPECT_EQ(part.covers(), (std::vector<RowRange>{{100, 106}}));
  EXPECT_EQ(part.columns().num_rows(), 2);
  EXPECT_EQ(part.columns().column("x").value(1), Value(std::int64_t{1}));
}

TEST(PartsKept, RowsAtAnOffset) {
  const Query query = lowest_two().offset(2);
  EXPECT_EQ(sequential_engine().partial(query, six(), 0).rows(), (std::vector<RowId>{0, 1, 3, 5}));
  EXPECT_EQ(sequential_engine().merge(query, halves(query)).rows, sequential_engine().run(query, six()).rows);
}

// A row of a deep level of its part can be in the first levels that hold enough rows of the whole.
TEST(PartsKept, LevelsThatAtLeastNeedsInTheWhole) {
  const Table table({Column::own("x", std::vector<std::int64_t>{1, 2, 3, 4, 0, 0}),
                     Column::own("y", std::vector<std::int64_t>{4, 3, 2, 5, 3, 4})});
  const Query query = Query::from("t").prefer({low("x"), low("y")}).at_least(3);
  const Result expected = sequential_engine().run(query, table);
  for (RowId cut = 0; cut <= table.num_rows(); ++cut) {
    const Result found = sequential_engine().merge(query, partials_of(sequential_engine(), query, table, {cut}));
    EXPECT_EQ(found.rows, expected.rows) << cut;
    EXPECT_EQ(found.levels, expected.levels) << cut;
  }
}

TEST(PartsKept, PartitionsInTheOrderOfRowsThatAreInNoAnswer) {
  const Table table({Column::own("city", std::vector<std::string>{"Oslo", "Bergen", "Oslo", "Bergen"}),
                     Column::own("price", std::vector<std::int64_t>{9, 1, 2, 8})});
  const Query query = Query::from("t").partition_by({"city"}).rank_by({low("price")}).limit(1);
  EXPECT_EQ(sequential_engine().merge(query, partials_of(sequential_engine(), query, table, {2})).rows,
            (std::vector<RowId>{2, 1}));
}

TEST(PartsKept, NothingOfEmptyParts) {
  const Query query = lowest_two();
  const Result found = sequential_engine().merge(query, partials_of(sequential_engine(), query, six(), {0, 0, 6, 6}));
  EXPECT_EQ(found.rows, (std::vector<RowId>{3, 1}));
  const Partial empty = sequential_engine().partial(query, numbers({}), 7);
  EXPECT_TRUE(empty.covers().empty());
  EXPECT_EQ(sequential_engine().merge(query, {empty}).table.num_rows(), 0);
}

TEST(PartsKept, RowsOfQueriesThatReadNoColumn) {
  const Query query = Query::from("t").rank_by({low("1 + 1")}).limit(2).select({"row"});
  std::vector<Partial> parts;
  for (const Partial& part : halves(query)) parts.push_back(through_arrow(part));
  EXPECT_EQ(sequential_engine().merge(query, parts).rows, (std::vector<RowId>{0, 1}));
}

/// Six rows in three units, and which columns and units were read.
struct Units {
  std::vector<std::string> reads;
  std::shared_ptr<const Source> source = unit_source(
      Table({ints("x", {}), ints("y", {})}), {{2}, {2}, {2}}, [this](std::size_t unit, std::span<const int> columns) {
        for (const int column : columns) reads.push_back(std::to_string(unit) + (column == 0 ? "x" : "y"));
        const Table all({ints("x", {5, 3, 9, 1, 7, 3}), ints("y", {0, 1, 2, 3, 4, 5})});
        return rows_of(all, 2 * static_cast<RowId>(unit), 2 * static_cast<RowId>(unit) + 2);
      });
};

TEST(PartsKept, RowsOfSourcesWithColumnsThatAreReadForThemAlone) {
  Units units;
  const Query query = lowest_two().select({"y", "row"});
  const Partial last = sequential_engine().partial(query, *unit_range(units.source, 1, 3), 102);
  EXPECT_EQ(last.rows(), (std::vector<RowId>{103, 105}));
  EXPECT_EQ(last.covers(), (std::vector<RowRange>{{102, 106}}));
  EXPECT_EQ(last.columns().column("y").value(1), Value(std::int64_t{5}));
  for (const std::string& read : units.reads) EXPECT_NE(read.front(), '0') << read;
  const Partial first = sequential_engine().partial(query, *unit_range(units.source, 0, 1), 100);
  EXPECT_EQ(sequential_engine().merge(query, {last, first}).rows, (std::vector<RowId>{103, 101}));
}

TEST(PartsKept, NothingOfSourcesWithoutUnits) {
  for (const Query& query : {lowest_two(), Query::from("t").group_by({"x"}).aggregate({count("n")})}) {
    Units units;
    const Partial none = sequential_engine().partial(query, *unit_range(units.source, 2, 2), 4);
    EXPECT_TRUE(none.covers().empty());
    EXPECT_EQ(sequential_engine().merge(query, {none}).table.num_rows(), 0);
    EXPECT_TRUE(units.reads.empty());
  }
}

TEST(PartsKept, RowsThatMoveWithTheExtremesOfGroups) {
  const Query query = Query::from("t").group_by({"x"}).aggregate({min("least", "x"), count("n")});
  const Partial moved_on = moved(query, sequential_engine().partial(query, six(), 0), 1000);
  const Partial placed = sequential_engine().partial(query, six(), 1000);
  EXPECT_EQ(moved_on.rows(), placed.rows());
  EXPECT_EQ(moved_on.covers(), placed.covers());
  for (int c = 0; c < placed.columns().num_columns(); ++c) {
    for (std::int64_t i = 0; i < placed.columns().num_rows(); ++i) {
      EXPECT_EQ(moved_on.columns().column(c).value(i), placed.columns().column(c).value(i));
    }
  }
}

// Rows that are missing from all parts are no rows of the answer.
TEST(PartsKept, NothingOfPartsThatAreMissing) {
  const std::vector<Partial> all = partials_of(sequential_engine(), lowest_two(), six(), {2, 4});
  EXPECT_EQ(sequential_engine().merge(lowest_two(), {all[0], all[2]}).rows, (std::vector<RowId>{1, 5}));
  const Partial ends = sequential_engine().merge_partials(lowest_two(), {all[2], all[0]});
  EXPECT_EQ(ends.covers(), (std::vector<RowRange>{{0, 2}, {4, 6}}));
  const Partial whole = sequential_engine().merge_partials(lowest_two(), {ends, all[1]});
  EXPECT_EQ(whole.covers(), (std::vector<RowRange>{{0, 6}}));
  EXPECT_EQ(whole.rows(), (std::vector<RowId>{1, 3}));
}

// ---- Errors of rows ----

/// Expects the error over the whole from parts of any size too.
void expect_same_error(const Query& query, const Table& table, const std::string& row) {
  const auto whole = [&] { sequential_engine().run(query, table); };
  expect_refused<DataError>(whole, {row});
  for (RowId cut = 0; cut <= table.num_rows(); ++cut) {
    expect_refused<DataError>(
        [&] { sequential_engine().merge(query, partials_of(sequential_engine(), query, table, {cut})); }, {row});
  }
}

TEST(PartsErrors, NameTheRowOfTheWhole) {
  const Table table = numbers({3, 1, kMaxInt64, 2, kMaxInt64, 4});
  const auto any = [] { return Query::from("t").rank_by({low("x")}).limit(6); };
  expect_same_error(any().where("x + 1 > 0"), table, "row 2");
  expect_same_error(Query::from("t").rank_by({low("x + 1")}), table, "row 2");
  expect_same_error(Query::from("t").prefer({low("x + 1")}), table, "row 2");
  expect_same_error(any().where("x > 2").select({"x + 1"}), table, "row 2");
  expect_same_error(Query::from("t").group_by({"x"}).aggregate({max("m", "x + 1")}), table, "row 2");
  expect_same_error(Query::from("t").group_by({"x"}).aggregate({sum("s", "x")}), table, "row 2");
}

TEST(PartsErrors, NameTheFirstRowOfAGroupThatOverflows) {
  const Table table({Column::own("g", std::vector<std::int64_t>{0, 0, 1, 2, 1}),
                     Column::own("x", std::vector<std::int64_t>{1, 1, kMaxInt64, 1, kMaxInt64})});
  expect_same_error(Query::from("t").where("g > 0").group_by({"g"}).aggregate({sum("s", "x")}), table,
                    "group of row 2");
}

TEST(PartsErrors, AreThoseOfRunForTheQuery) {
  expect_refused<BindError>([] { sequential_engine().partial(lowest_two().select({"z"}), six(), 0); }, {"'z'"});
  expect_refused<QueryError>([] { sequential_engine().partial(Query::from("t"), six(), 0); }, {"asks for nothing"});
}

TEST(PartsErrors, RefuseImpossiblePlaces) {
  for (const RowId first : {RowId{-1}, kMaxInt64, kMaxInt64 - 5}) {
    expect_refused<DataError>([&] { sequential_engine().partial(lowest_two(), six(), first); },
                              {std::to_string(first)});
  }
  EXPECT_EQ(sequential_engine().partial(lowest_two(), six(), kMaxInt64 - 6).covers().front().end, kMaxInt64);
}

// ---- Memory ----

TEST(PartsMemory, CountsCopiesWithinTheLimit) {
  const Table table = numbers(std::vector<std::int64_t>(200'000, 1));
  const Query all = Query::from("t").where("x > 0").rank_by({low("x")});
  const Query groups = Query::from("t").group_by({"x"}).aggregate({count("n")});
  const Engine small({.threads = 1, .device = DeviceChoice::cpu, .memory_bytes = std::size_t{1} << 20});
  const std::vector<Partial> parts = partials_of(sequential_engine(), all, table, {100'000});
  expect_refused<ResourceError>([&] { small.merge(all, parts); }, {"rows that the query keeps", "limit of memory"});
  expect_refused<ResourceError>([&] { small.merge_partials(all, parts); }, {"rows that the query keeps"});
  // The copies of one call do not count in the next.
  const std::vector<Partial> counts = partials_of(sequential_engine(), groups, table, {100'000});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(small.merge(groups, counts).rows, (std::vector<RowId>{0}));
  const Engine large({.threads = 1, .device = DeviceChoice::cpu, .memory_bytes = std::size_t{64} << 20});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(large.merge(all, parts).rows.size(), 200'000U);
}

// ---- Merges that are refused ----

void expect_no_merge(const std::vector<Partial>& partials, const std::vector<std::string>& words) {
  expect_refused<DataError>([&] { sequential_engine().merge(lowest_two(), partials); }, words);
  expect_refused<DataError>([&] { sequential_engine().merge_partials(lowest_two(), partials); }, words);
}

TEST(PartsMerge, RefusesNothing) { expect_no_merge({}, {"at least one"}); }

TEST(PartsMerge, RefusesAnotherQuery) {
  expect_no_merge({halves(lowest_two())[0], halves(lowest_two().limit(3))[1]},
                  {fingerprint_of(lowest_two().limit(3)), "not to this one", fingerprint_of(lowest_two())});
}

TEST(PartsMerge, RefusesOverlappingParts) {
  const std::vector<Partial> parts = {sequential_engine().partial(lowest_two(), six(), 0),
                                      sequential_engine().partial(lowest_two(), six(), 4)};
  expect_no_merge(parts, {"two partial answers cover row 4", "must be in one part"});
  expect_no_merge({parts[0], parts[0]}, {"two partial answers cover row 0"});
}

TEST(PartsMerge, RefusesDifferingColumns) {
  const Table floats({Column::own("x", std::vector<double>{1, 2})});
  expect_no_merge({halves(lowest_two())[0], sequential_engine().partial(lowest_two(), floats, 3)},
                  {"'x' (int64)", "'x' (float64)", "must be of one table"});
}

TEST(PartsMerge, TellsQueriesApart) {
  const std::string plain = fingerprint_of(lowest_two());
  EXPECT_EQ(plain, fingerprint_of(lowest_two().name("other")));
  for (const Query& other :
       {lowest_two().limit(3), lowest_two().offset(1), lowest_two().ties(Ties::all), lowest_two().where("x > 0"),
        lowest_two().nan(Missing::exclude), lowest_two().nulls(Missing::exclude), lowest_two().nulls(Missing::best),
        lowest_two().nan(Missing::best), lowest_two().rank_by({high("x")}), lowest_two().partition_by({"x"}),
        lowest_two().prefer({low("x")}), lowest_two().select({"x"}), lowest_two().group_by({"x"})}) {
    EXPECT_NE(plain, fingerprint_of(other));
  }
  const auto around_value = [](const Value& value) {
    return fingerprint_of(Query::from("t").prefer({around("x", value)}));
  };
  EXPECT_NE(around_value(std::int64_t{1}), around_value(Decimal{1, 0}));
}

// ---- Record batches ----

TEST(PartsBatch, ComesBackAsItWas) {
  const Partial part = halves(lowest_two())[1];
  const Partial back = through_arrow(part);
  EXPECT_EQ(back.fingerprint(), part.fingerprint());
  EXPECT_EQ(back.covers(), part.covers());
  EXPECT_EQ(back.rows(), part.rows());
  EXPECT_EQ(back.columns().column("x").value(0), part.columns().column("x").value(0));
}

TEST(PartsBatch, KeepsAColumnNamedAsTheRowIds) {
  const Table table({Column::own("row", std::vector<std::int64_t>{2, 1})});
  const Query query = Query::from("t").rank_by({low("`row`")}).limit(1);
  const Partial back = through_arrow(sequential_engine().partial(query, table, 0));
  EXPECT_EQ(sequential_engine().merge(query, {back}).rows, (std::vector<RowId>{1}));
}

/// A partial answer as a record batch, with other metadata or other columns.
struct Exported {
  ArrowArray array{};
  ArrowSchema schema{};

  explicit Exported(const Partial& partial = halves(lowest_two())[1]) { partial.export_arrow(&array, &schema); }
  explicit Exported(const Table& table) : Exported() {
    array.release(&array);
    export_arrow(table, &array, &children);
    schema.n_children = children.n_children;
    schema.children = children.children;
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    if (children.release != nullptr) children.release(&children);
  }

  void expect_refused(const std::vector<std::string>& words) {
    skyrank::expect_refused<DataError>([&] { Partial::import_arrow(&array, &schema); }, words);
    EXPECT_EQ(array.release, nullptr);
    EXPECT_EQ(schema.release, nullptr);
  }

  ArrowSchema children{};  ///< owns the children of a schema that got others
};

std::string metadata(const std::vector<std::string>& texts) {
  const auto number = [](std::size_t n) {
    const auto value = static_cast<std::int32_t>(n);
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string bytes = number(texts.size() / 2);
  for (const std::string& text : texts) bytes += number(text.size()) + text;
  return bytes;
}

std::string metadata_with(const std::string& version, const std::string& covers) {
  return metadata(
      {"skyrank.partial", version, "skyrank.query", fingerprint_of(lowest_two()), "skyrank.covers", covers});
}

void expect_refused_metadata(const std::string& bytes, const std::vector<std::string>& words) {
  Exported batch;
  batch.schema.metadata = bytes.data();
  batch.expect_refused(words);
}

TEST(PartsRefused, MovesOutOfTheTable) {
  const Partial part = sequential_engine().partial(lowest_two(), six(), 0);
  expect_refused<DataError>([&] { moved(lowest_two(), part, -1); }, {"cannot begin at row -1"});
  expect_refused<DataError>([&] { moved(lowest_two(), part, kMaxInt64 - 5); }, {"6 rows cannot begin at row"});
  EXPECT_EQ(moved(lowest_two(), part, kMaxInt64 - 6).covers().back().end, kMaxInt64);
  expect_refused<DataError>([&] { moved(lowest_two().limit(3), part, 1); }, {"belongs to the query"});
}

TEST(PartsRefused, UnitsThatASourceLacks) {
  const auto source = in_memory_source(six());
  expect_refused<DataError>([&] { unit_range(source, 0, 2); }, {"there are no units 0 to 2 in a source of 1"});
  expect_refused<DataError>([&] { unit_range(source, 1, 0); }, {"there are no units 1 to 0"});
  expect_refused<DataError>([] { unit_range(nullptr, 0, 0); }, {"needs a source"});
  expect_refused<DataError>([&] { sequential_engine().partial(lowest_two(), *source, -1); },
                            {"cannot begin at row -1"});
}

TEST(PartsBatch, RefusesOtherMetadata) {
  Exported none;
  none.schema.metadata = nullptr;
  none.expect_refused({"lack 'skyrank.partial'"});
  expect_refused_metadata(metadata_with("1", "3-6"), {"version '1'", "this library reads version 2"});
  expect_refused_metadata(metadata({"skyrank.partial", "2"}), {"'skyrank.covers'"});
  expect_refused_metadata(std::string(4, '\xff'), {"negative length"});
  expect_refused_metadata(metadata({"a", "b"}).substr(0, 9) + std::string(4, '\xff'), {"negative length"});
}

TEST(PartsBatch, RefusesOtherRanges) {
  for (const char* damaged : {"3", "3-", "-", "3-6,", "3-6;7-8", "x-y", "3-99999999999999999999", "-5-6"}) {
    expect_refused_metadata(metadata_with("2", damaged), {"'skyrank.covers' needs ranges such as 0-100,200-300"});
  }
  expect_refused_metadata(metadata_with("2", "6-3"), {"6-3 must be ascending"});
  expect_refused_metadata(metadata_with("2", "0-4,3-6"), {"3-6", "must not overlap"});
  expect_refused_metadata(metadata_with("2", "4-6,0-3"), {"0-3", "must not overlap"});
  expect_refused_metadata(metadata_with("2", "0-3"), {"row 3", "not among the rows that it covers"});
  expect_refused_metadata(metadata_with("2", ""), {"row 3", "not among the rows that it covers"});
}

TEST(PartsBatch, RefusesOtherColumns) {
  Exported(Table({Column::own("r", std::vector<double>{3, 5})})).expect_refused({"must be int64, not float64"});
  Exported(numbers({5, 3})).expect_refused({"row 3 follows row 5", "must ascend"});
  Exported(numbers({3, 3})).expect_refused({"row 3 follows row 3"});
  Exported(numbers({-1, 3})).expect_refused({"row -1"});
  Exported(numbers({3, 6})).expect_refused({"row 6", "not among the rows"});
  Exported(Table({Column::own("r", std::vector<std::int64_t>{3, 5}, {true, false})})).expect_refused({"is NULL"});
  Exported(Table()).expect_refused({"as its first column"});
}

}  // namespace
}  // namespace skyrank

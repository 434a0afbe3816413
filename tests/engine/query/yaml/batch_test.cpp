#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/locations.hpp"

namespace skyrank {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The text of one query over the table t, whose lines are indented as they must be.
Query parse_query(const std::string& lines) {
  std::string yaml = "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n  - name: q\n    from: t\n";
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    yaml += "    " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return parse_batch(yaml, "test.yaml").queries.at(0);
}

Query expected() { return Query::from("t").name("q"); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  std::string yaml;
  Query query;
};

TEST(Batch, YamlAndBuilderGiveEqualQueries) {
  const std::vector<Case> cases = {
      {"prefer: {low: price}", expected().prefer(low("price"))},
      {"prefer: [{low: price}]", expected().prefer({low("price")})},
      {"prefer: [{low: price}, {high: rating}]", expected().prefer({low("price"), high("rating")})},
      {"prefer:\n  - low: price\n  - high: rating\n  - around: {expr: distance_km, target: 1.5}",
       expected().prefer({low("price"), high("rating"), around("distance_km", 1.5)})},
      {"prefer: {pareto: [{low: price}]}", expected().prefer(pareto({low("price")}))},
      {"prefer: {prior: [{high: rating}, {pareto: [{low: price}, {low: distance_km}]}]}",
       expected().prefer(prior({high("rating"), pareto({low("price"), low("distance_km")})}))},
      {"prefer: {inverse: {inverse: {low: price}}}", expected().prefer(inverse(inverse(low("price"))))},
      {"prefer: {around: {expr: a + b, target: 3}}", expected().prefer(around("a+b", 3))},
      {"prefer: {around: {target: +3, expr: a}}", expected().prefer(around("a", 3))},
      {"prefer: {around: {expr: d, target: 2017-05-01}}", expected().prefer(around("d", "2017-05-01"))},
      {"prefer: {around: {expr: d, target: date '1970-01-02'}}", expected().prefer(around("d", Date{1}))},
      {"prefer: {around: {expr: d, target: timestamp '1970-01-01 00:00:01'}}",
       expected().prefer(around("d", Timestamp{1, TimeUnit::second}))},
      {"prefer: {between: {expr: a, from: -1, to: 1e3}}", expected().prefer(between("a", -1, 1000.0))},
      {"prefer: {between: {expr: a, from: -.inf, to: 1}}", expected().prefer(between("a", -kInfinity, 1))},
      {"prefer: {between: {expr: a, from: 3}}", expected().prefer(between("a", 3, Null{}))},
      {"prefer: {between: {expr: a, to: 3}}", expected().prefer(between("a", Null{}, 3))},
      {"prefer: {around: {expr: a, target: +.Inf}}", expected().prefer(around("a", kInfinity))},
      {"prefer: {in: {expr: a, values: [[.inf, -.INF], [1]]}}",
       expected().prefer(in("a", {{kInfinity, -kInfinity}, {1}}))},
      {"prefer: {in: {expr: city, values: [[Oslo, New York], ['5', true, 5, -1.5]]}}",
       expected().prefer(in("city", {{"Oslo", "New York"}, {"5", true, 5, -1.5}}))},
      {"prefer: [{low: a, step: 5}, {step: 0.5, high: b + 1}, {inverse: {low: c, step: 10%}}, {low: d, step: 7d}]",
       expected().prefer(
           {step(low("a"), 5), step(high("b + 1"), 0.5), inverse(step(low("c"), "10%")), step(low("d"), "7d")})},
      {"prefer: [{low: a}, {low: b}]\nfeasible: w <= 10 and p <= 5\nviolation: [w - 10, p]",
       expected().prefer(feasible("w <= 10 and p <= 5", {"w - 10", "p"}, pareto({low("a"), low("b")})))},
      {"prefer: {low: a}\npick: {count: 3}", expected().prefer(low("a")).pick(Pick{3, Pick::By::distance, {}})},
      {"prefer: [{low: a}, {high: b}]\npick: {count: 3, by: hypervolume, reference: [200, -0.5]}",
       expected().prefer({low("a"), high("b")}).pick(Pick{3, Pick::By::hypervolume, {200, -0.5}})},
      {"prefer: [{low: a}, {high: b, step: 5}]\nweights: [a >= b, a <= 3 * b]\nfeasible: c",
       expected().prefer(feasible("c", {}, weighted({low("a"), step(high("b"), 5)}, {"a >= b", "a <= 3 * b"})))},
      {"prefer: {low: a}\nweights: a >= 0", expected().prefer(low("a"))},
      {"violation: w\nfeasible: w <= 10\nprefer: {low: a}", expected().prefer(feasible("w <= 10", {"w"}, low("a")))},
      {"prefer: {low: a}\nfeasible: w", expected().prefer(feasible("w", {}, low("a")))},
      {"prefer: {where: city = 'Oslo'}", expected().prefer(where("city = 'Oslo'"))},
      {"where: price <= 250 and city in ['Oslo', 'Aarhus'] and rating is not null\nprefer: {low: price}",
       expected().where("price <= 250 and city in ['Oslo', 'Aarhus'] and rating is not null").prefer(low("price"))},
      {"where: \"a = 'b'\"\nprefer: {low: '`two words`'}", expected().where("a = 'b'").prefer(low("`two words`"))},
      {"rank_by: {high: retweet_count + 0.5 * likes_count}\nlimit: 50\nties: all",
       expected().rank_by({high("retweet_count + 0.5 * likes_count")}).limit(50).ties(Ties::all)},
      {"rank_by: [{high: rating}, {low: price}]", expected().rank_by({high("rating"), low("price")})},
      {"rank_by:\n  - high: rating\n  - low: price", expected().rank_by({high("rating"), low("price")})},
      {"prefer: {low: a}\nlevels: 3", expected().prefer(low("a")).levels(3)},
      {"prefer: {low: a}\nskyband: 3", expected().prefer(low("a")).skyband(3)},
      {"prefer: {low: a}\npick: {count: 2, by: coverage}\nskyband: 3",
       expected().prefer(low("a")).skyband(3).pick(Pick{2, Pick::By::coverage, {}})},
      {"prefer: {low: a}\nskyband: all\nrank_by: [{high: dominates()}, {low: Crowding()}]",
       expected().prefer(low("a")).skyband(kAllRows).rank_by({high("dominates()"), low("crowding()")})},
      {"prefer: {low: a}\nat_least: 0\ndistinct: true", expected().prefer(low("a")).at_least(0).distinct(true)},
      {"prefer: {low: a}\ndistinct: False\noffset: 2\nlimit: 0", expected().prefer(low("a")).offset(2).limit(0)},
      {"prefer: {low: a}\nties: first\nnan: worst\nnulls: worst", expected().prefer(low("a"))},
      {"prefer: {low: a}\nties: last\nnan: exclude\nnulls: error",
       expected().prefer(low("a")).ties(Ties::last).nan(Missing::exclude).nulls(Missing::error)},
      {"prefer: {low: a}\nnulls: best", expected().prefer(low("a")).nulls(Missing::best)},
      {"prefer: {low: a}\nnan: best", expected().prefer(low("a")).nan(Missing::best)},
      {"prefer: {low: a}\nties: any\nnan: error\nnulls: exclude",
       expected().prefer(low("a")).ties(Ties::any).nan(Missing::error).nulls(Missing::exclude)},
      {"prefer: {low: a}\npartition_by: [city, '`two words`']",
       expected().prefer(low("a")).partition_by({"city", "`two words`"})},
      {"group_by: [uid]\naggregate: {num: count(), some: count(a), loudest: max(retweets), s: sum ( a + b ), "
       "lo: min(a), mean: avg(a)}\nrank_by: {high: num}",
       expected()
           .group_by({"uid"})
           .aggregate({count("num"), count("some", "a"), max("loudest", "retweets"), sum("s", "a+b"), min("lo", "a"),
                       avg("mean", "a")})
           .rank_by({high("num")})},
      {"prefer: {low: a}\npartition_by: [city, {month: month(d)}]",
       expected().prefer(low("a")).partition_by({"city", {"month", "month(d)"}})},
      {"group_by: [{month: 'month(d)', b: b}, uid]\naggregate: {n: count()}",
       expected().group_by({{"month", "month(d)"}, "b", "uid"}).aggregate({count("n")})},
      {"group_by: [uid]\naggregate: {n: count( * )}", expected().group_by({"uid"}).aggregate({count("n")})},
      {"group_by: [uid]\naggregate: {m: 'max(min(a, b))'}",
       expected().group_by({"uid"}).aggregate({max("m", "min(a, b)")})},
      {"prefer: {low: a}\nselect: [name, price + 1, row, {twice: 2 * price, id: row}]",
       expected().prefer(low("a")).select(
           {{"name", "name"}, {"price + 1", "price+1"}, {"row", "row"}, {"twice", "2 * price"}, {"id", "row"}})},
      {"prefer: {low: a}\nselect: [name, city]", expected().prefer(low("a")).select({"name", "city"})},
      {"prefer: {low: a}\nusing: {algorithm: sort-first, device: cpu, parameters: {block: 128}}",
       expected().prefer(low("a")).using_path({{"sort-first"}, DeviceChoice::cpu, {{"block", 128}}})},
      {"prefer: {low: a}\nusing: {algorithm: [sort-first, heap], device: auto}",
       expected().prefer(low("a")).using_path({{"sort-first", "heap"}, DeviceChoice::automatic, {}})},
      {"prefer: {low: a}\ntimeout: 30s", expected().prefer(low("a")).timeout(30s)},
      {"prefer: {low: a}\ntimeout: 30", expected().prefer(low("a")).timeout(30s)},
      {"prefer: {low: a}\ntimeout: 1.5", expected().prefer(low("a")).timeout(1500ms)},
      {"prefer: {low: a}\ntimeout: 250 ms", expected().prefer(low("a")).timeout(250ms)},
      {"prefer: {low: a}\ntimeout: '5min'", expected().prefer(low("a")).timeout(5min)},
      {"prefer: {low: a}\ntimeout: 2h", expected().prefer(low("a")).timeout(2h)},
      {"prefer: {low: a}\nusing: {device: cuda}", expected().prefer(low("a")).using_path({{}, DeviceChoice::cuda, {}})},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.yaml);
    EXPECT_EQ(parse_query(c.yaml), c.query);
  }
}

TEST(Batch, ATimeLimitOfTheBatchIsThatOfQueriesWithoutTheirOwn) {
  const Batch batch = parse_batch(
      "version: 1\ntimeout: 2min\ntables: {t: {file: t.csv}}\nqueries:\n"
      "  - {name: a, from: t, rank_by: {low: x}}\n  - {name: b, from: t, rank_by: {low: x}, timeout: 1s}\n",
      "test.yaml");
  EXPECT_EQ(batch.query("a"), Query::from("t").name("a").rank_by({low("x")}).timeout(2min));
  EXPECT_EQ(batch.query("b"), Query::from("t").name("b").rank_by({low("x")}).timeout(1s));
}

TEST(Batch, ReadsTables) {
  const Batch batch = parse_batch(R"yaml(version: 1
tables:
  hotels: {file: hotels.csv}
  parts:
    file: [a-*.csv, b.csv]
    header: false
    delimiter: ';'
    format: csv
    nulls: [NA, null, ~, '', -, 0]
    types: {zip: string, 7: "decimal(12,2)"}
  points: {generate: {distribution: anticorrelated, rows: 1000000, dims: 12, seed: 18446744073709551615}}
  few: {generate: {distribution: independent, rows: 0}}
queries: [{name: q, from: points, prefer: {low: c0}}]
)yaml",
                                  "test.yaml");
  ASSERT_EQ(batch.tables.size(), 4u);
  const TableSpec& hotels = batch.table("hotels");
  EXPECT_EQ(hotels.files, std::vector<std::string>{"hotels.csv"});
  EXPECT_EQ(hotels.csv.header, std::nullopt);
  EXPECT_TRUE(hotels.csv.null_spellings.empty());
  EXPECT_FALSE(hotels.generator);
  EXPECT_EQ(hotels.location, (Location{"test.yaml", 3, 3}));
  const TableSpec& parts = batch.table("parts");
  EXPECT_EQ(parts.files, (std::vector<std::string>{"a-*.csv", "b.csv"}));
  EXPECT_EQ(parts.csv.header, false);
  EXPECT_EQ(parts.csv.delimiter, ";");
  EXPECT_EQ(parts.format, "csv");
  EXPECT_EQ(parts.csv.null_spellings, (std::vector<std::string>{"NA", "null", "~", "", "-", "0"}));
  EXPECT_EQ(parts.types, (std::map<std::string, std::string>{{"zip", "string"}, {"7", "decimal(12,2)"}}));
  EXPECT_EQ(batch.table("points").generator,
            (GeneratorSpec{"anticorrelated", 1000000, 12, std::numeric_limits<std::uint64_t>::max()}));
  EXPECT_EQ(batch.table("few").generator, (GeneratorSpec{"independent", 0, 1, 1}));
  EXPECT_EQ(batch.query("q").from(), "points");
}

TEST(Batch, TablesStateTheFormOfTheirFiles) {
  const Batch batch = parse_batch(R"yaml(version: 1
tables:
  t: {file: t.csv, header: true, decimal: ',', skip: 2, comment: '#', encoding: utf-16}
  j: {file: t.json, records: data.items, flatten: true}
queries: [{name: q, from: t, prefer: {low: c0}}]
)yaml",
                                  "test.yaml");
  const TableSpec& csv = batch.table("t");
  EXPECT_EQ(csv.csv.header, true);
  EXPECT_EQ(csv.csv.decimal, ",");
  EXPECT_EQ(csv.csv.skip, 2);
  EXPECT_EQ(csv.csv.comment, "#");
  EXPECT_EQ(csv.encoding, "utf-16");
  EXPECT_EQ(batch.table("j").records, "data.items");
  EXPECT_TRUE(batch.table("j").flatten);
  for (const char* wrong : {"skip: -1", "comment: ''", "flatten: 3"}) {
    EXPECT_THROW(parse_batch("version: 1\ntables: {t: {file: t.csv, " + std::string(wrong) + "}}\nqueries: []\n", "t"),
                 QueryError);
  }
}

TEST(Batch, TableSourcesCompareWithoutTheirPlace) {
  TableSpec a;
  a.name = "t";
  TableSpec b = a;
  b.location.line = 7;
  EXPECT_EQ(a, b);
  b.csv.header = false;
  EXPECT_FALSE(a == b);
  b = a;
  b.csv.delimiter = ";";
  EXPECT_FALSE(a == b);
  b = a;
  b.csv.decimal = ",";
  EXPECT_FALSE(a == b);
  b = a;
  b.encoding = "utf-16";
  EXPECT_FALSE(a == b);
  b = a;
  b.flatten = true;
  EXPECT_FALSE(a == b);
  b = a;
  b.format = "csv";
  EXPECT_FALSE(a == b);
  b = a;
  b.types = {{"zip", "string"}};
  EXPECT_FALSE(a == b);
}

TEST(Batch, UnknownNamesGetTheNearestOne) {
  const Batch batch = parse_batch(
      "version: 1\ntables: {hotels: {file: h.csv}}\nqueries: [{name: cheap, from: hotels, prefer: {low: a}}]",
      "b.yaml");
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const BindError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message([&] { batch.table("hotel"); }),
            "there is no table 'hotel' in the batch; did you mean 'hotels'? (it has hotels)");
  EXPECT_EQ(message([&] { batch.query("cheep"); }),
            "there is no query 'cheep' in the batch; did you mean 'cheap'? (it has cheap)");
  EXPECT_EQ(message([&] { Batch().query("q"); }), "there is no query 'q' in the batch");
}

// Places of expressions: of the expression itself, and of a node in its middle.
TEST(Batch, ExpressionsKnowTheirPlaceInTheFile) {
  const auto place_of_last = [](const std::string& where) {
    const Query query = parse_query(where + "\nprefer: {low: a}");
    const query::Node* node = &query::root_of(*query.where());
    while (!node->children.empty()) node = node->children.back().get();
    return std::to_string(node->line) + ":" + std::to_string(node->column);
  };
  // The key stands in line 6, column 5.
  EXPECT_EQ(place_of_last("where: a < zz"), "6:16");
  EXPECT_EQ(place_of_last("where:    a < zz"), "6:19");
  EXPECT_EQ(place_of_last("where: 'a < zz'"), "6:17");
  EXPECT_EQ(place_of_last("where: 'a < ''x'' or zz'"), "6:26");
  EXPECT_EQ(place_of_last("where: \"a < zz\""), "6:17");
  EXPECT_EQ(place_of_last("where: \"`\\u00fc\\x41\\\"`\\t < zz\""), "6:32");
  EXPECT_EQ(place_of_last("where: 0 + `größe` < zz"), "6:26");
  EXPECT_EQ(place_of_last("where: a < b\n  and\n   zz"), "8:8");
  EXPECT_EQ(place_of_last("where: 'a < b\n  and\n   zz'"), "8:8");
  EXPECT_EQ(place_of_last("where: \"a < b \\\n  and zz\""), "7:11");
  EXPECT_EQ(place_of_last("where: |\n  a < b\n   and zz"), "8:12");
  EXPECT_EQ(place_of_last("where: >-\n  a < b\n  and\n\n\n  zz"), "11:7");
  EXPECT_EQ(place_of_last("where:\n  a < zz"), "7:11");
  const Query query = parse_query("where: a\nprefer: {low: a}");
  EXPECT_EQ(query::location_of(query), (Location{"test.yaml", 4, 5}));
  EXPECT_EQ(query.where()->location(), (Location{"test.yaml", 6, 12}));
}

TEST(Batch, AcceptsAByteOrderMarkAndCarriageReturns) {
  const std::string yaml =
      "version: 1\r\ntables:\r\n  t: {file: t.csv}\r\nqueries:\r\n  - name: q\r\n    from: t\r\n    where: a <\r\n     "
      " "
      "zz\r\n    prefer: {low: a}\r\n";
  for (const std::string& text : {yaml, "\xEF\xBB\xBF" + yaml}) {
    const Batch batch = parse_batch(text, "t.yaml");
    EXPECT_EQ(batch.queries.at(0), expected().where("a < zz").prefer(low("a")));
    EXPECT_EQ(query::root_of(*batch.queries[0].where()).children[1]->line, 8);
    EXPECT_EQ(query::root_of(*batch.queries[0].where()).children[1]->column, 7);
  }
}

class BatchFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("skyrank-batch-test-" + std::to_string(::getpid()));
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  static std::string error_of(const fs::path& file, const BatchLimits& limits = {}) {
    try {
      read_batch(file, limits);
    } catch (const ResourceError& error) {
      return std::string("resource: ") + error.what();
    } catch (const QueryError& error) {
      return std::string("query: ") + error.what();
    }
    return "no error";
  }

  fs::path directory_;
};

TEST_F(BatchFile, IsReadWithItsDirectory) {
  const fs::path file =
      write("b.yaml", "version: 1\ntables: {t: {file: t.csv}}\nqueries: [{name: q, from: t, prefer: {low: a}}]\n");
  const Batch batch = read_batch(file);
  EXPECT_EQ(batch.directory, directory_);
  EXPECT_EQ(query::location_of(batch.queries.at(0)).source, file.string());
}

TEST_F(BatchFile, ThatCannotBeReadIsAResourceError) {
  EXPECT_EQ(error_of(directory_ / "missing.yaml"), "resource: " + (directory_ / "missing.yaml").string() +
                                                       ": cannot read the batch: No such file or directory");
  EXPECT_EQ(error_of(directory_), "resource: " + directory_.string() + ": cannot read the batch: it is a directory");
}

// Root may read everything, so that root looks as somebody else.
TEST_F(BatchFile, WithoutPermissionIsAResourceError) {
  constexpr uid_t kNobody = 65534;
  const fs::path file = write("secret.yaml", "version: 1\n");
  fs::permissions(file, fs::perms::none);
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  const std::string error = error_of(file);
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  EXPECT_EQ(error, "resource: " + file.string() + ": cannot read the batch: Permission denied");
}

TEST(Batch, NamesTheGpusToUse) {
  const auto with = [](const std::string& devices) {
    return "version: 1\n" + devices + "tables: {t: {file: t.csv}}\nqueries: [{name: a, from: t, rank_by: {low: x}}]\n";
  };
  EXPECT_EQ(parse_batch(with("devices: [1, 0]\n"), "b.yaml").devices, (std::vector<int>{1, 0}));
  EXPECT_TRUE(parse_batch(with(""), "b.yaml").devices.empty());
  const auto error_of = [&](const std::string& devices) {
    try {
      parse_batch(with(devices), "b.yaml");
    } catch (const QueryError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("devices: 0\n"), "b.yaml:2:10: 'devices' needs a list such as [0, 1], found '0'");
  EXPECT_EQ(error_of("devices: [0, 0]\n"), "b.yaml:2:14: GPU 0 is named twice in 'devices'");
  EXPECT_EQ(error_of("devices: [-1]\n"),
            "b.yaml:2:11: the number of a GPU in 'devices' must not be negative, found -1");
  EXPECT_EQ(error_of("devices: [all]\n"),
            "b.yaml:2:11: the number of a GPU in 'devices' needs a whole number, found 'all'");
  EXPECT_EQ(error_of("devices: [4294967296]\n"), "b.yaml:2:11: a GPU's number is out of range: '4294967296'");
}

TEST_F(BatchFile, ErrorsNameTheFile) {
  const fs::path file = write("b.yaml", "version: 1\ntabels: {}\n");
  EXPECT_EQ(error_of(file),
            "query: " + file.string() +
                ":2:1: a batch has no key 'tabels'; did you mean 'tables'? (keys are version, timeout, devices, "
                "tables, queries)");
}

TEST_F(BatchFile, BeyondTheLimitIsRefused) {
  BatchLimits limits;
  limits.max_bytes = 100;
  EXPECT_EQ(error_of(write("long.yaml", std::string(200'000, '#')), limits),
            "query: " + (directory_ / "long.yaml").string() + ":1:1: the text is longer than 100 bytes");
}

}  // namespace
}  // namespace skyrank

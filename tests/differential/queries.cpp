#include <algorithm>
#include <utility>

#include "tests/differential/generate.hpp"
#include "tests/differential/oracle/oracle.hpp"
#include "tests/differential/random_expressions.hpp"

// Random queries.
namespace skyrank::differential {
namespace {

class Generator {
 public:
  Generator(Random& random, const Input& input, const Names& names)
      : random_(random), input_(input), names_(names), expressions_(random, input.relation.fields) {}

  Query run() {
    Query query;
    if (random_.chance(55)) query.where = expressions_.condition(3);
    if (random_.chance(12)) add_groups(query);
    add_partitions(query);
    const bool prefer = random_.chance(60);
    if (prefer) preferences_.add_to(query);
    for (std::int64_t i = prefer ? random_.below(3) : 1 + random_.below(3); i > 0; --i) {
      query.rank_by.push_back({expressions_.key(), random_.chance(50)});
    }
    add_window(query);
    if (prefer) preferences_.finish(query);
    add_selection(query);
    query.path = path(query);
    return query;
  }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(input_.relation.rows.size()); }

  std::vector<std::size_t> some_columns(std::int64_t count) {
    std::vector<std::size_t> chosen;
    for (; count > 0; --count) {
      const auto column =
          static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(expressions_.fields().size())));
      if (std::ranges::count(chosen, column) == 0) chosen.push_back(column);
    }
    return chosen;
  }

  void add_groups(Query& query) {
    const bool all_rows = random_.chance(20);
    if (!all_rows) query.group_by = some_columns(1 + random_.below(2));
    for (std::int64_t i = (all_rows ? 1 : 0) + random_.below(4); i > 0; --i) {
      const std::string name = "a" + std::to_string(i);
      const auto function = random_.one_of<std::string>({"count", "sum", "min", "max", "avg"});
      if (function == "count" && random_.chance(50)) {
        query.aggregates.push_back({name, function, nullptr});
      } else {
        const bool takes_text = function == "count" || function == "min" || function == "max";
        query.aggregates.push_back(
            {name, function, takes_text && random_.chance(40) ? expressions_.text(0) : expressions_.number(1)});
      }
    }
    expressions_ = RandomExpressions(random_, fields_after_grouping(query, input_.relation));
    if (random_.chance(30)) query.having = expressions_.condition(2);
  }

  void add_partitions(Query& query) {
    if (query.group_by.empty() && query.has_groups()) return;
    if (random_.chance(25)) query.partition_by = some_columns(1 + random_.below(2));
  }

  void add_window(Query& query) {
    if (random_.chance(65)) query.limit = random_.below(random_.chance(70) ? 12 : rows() + 3);
    if (random_.chance(25)) query.offset = random_.below(8);
    query.ties = random_.one_of<std::string>({"first", "first", "last", "all", "any"});
    query.nan = random_.one_of<std::string>({"worst", "worst", "worst", "best", "best", "exclude", "error"});
    query.nulls = random_.one_of<std::string>({"worst", "worst", "worst", "best", "best", "exclude", "error"});
  }

  void add_selection(Query& query) {
    if (random_.chance(40)) return;
    using Kind = Output::Kind;
    // Tells the rows of an answer apart where equal ones may change places.
    if (query.ties == "any") query.select.push_back({"x0", Kind::row});
    for (std::int64_t i = 1 + random_.below(4); i > 0; --i) {
      const std::string name = "x" + std::to_string(i);
      const std::int64_t kind = random_.below(7);
      if (kind == 0) {
        query.select.push_back({name, Kind::row});
      } else if (kind == 1 && query.prefer) {
        query.select.push_back({name, Kind::level});
      } else if (kind >= 4 && query.prefer && random_.chance(60)) {
        query.select.push_back({name, Kind::measure, {}, preferences_.measure(query)});
      } else if (kind == 2 && !query.rank_by.empty()) {
        query.select.push_back({name, Kind::score});
      } else {
        query.select.push_back({name, Kind::expression, output()});
      }
    }
  }

  ExpressionPtr output() {
    switch (random_.below(5)) {
      case 0: return expressions_.text(2);
      case 1: return expressions_.condition(2);
      case 2: return expressions_.time(2);
      default: return expressions_.number(3);
    }
  }

  /// An algorithm for one of the query's problems; empty where it has none.
  std::string algorithm(const Query& query) {
    if (!query.prefer && query.rank_by.empty()) return {};
    if (query.skyband && query.rank_by.empty()) return {};
    const bool skyline = query.prefer && !query.skyband && (query.rank_by.empty() || random_.chance(50));
    return random_.one_of(skyline ? names_.skyline_algorithms : names_.topk_algorithms);
  }

  Path path(const Query& query) {
    Path path;
    if (random_.chance(15)) path.algorithm = algorithm(query);
    if (names_.cuda && path.algorithm.empty() && random_.chance(25)) path.device = "cuda";
    if (random_.chance(30)) {
      const int percent = random_.chance(20) ? 100 : 20;
      for (const std::string& rule : names_.rules) {
        if (random_.chance(percent)) path.without.push_back(rule);
      }
    }
    return path;
  }

  Random& random_;
  const Input& input_;
  const Names& names_;
  RandomExpressions expressions_;
  RandomPreferences preferences_{random_, expressions_};
};

}  // namespace

Query random_query(Random& random, const Input& input, const Names& names) {
  for (;;) {
    Query query = Generator(random, input, names).run();
    try {
      answer(query, input.relation);
      return query;
    } catch (const Undefined&) {
      // Another one.
    }
  }
}

}  // namespace skyrank::differential

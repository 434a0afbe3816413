#include <skyrank/query.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/query/check.hpp"

namespace skyrank {
namespace {

Aggregate aggregate_of(Aggregate::Function function, std::string name, std::optional<Expression> argument) {
  return {std::move(name), function, std::move(argument)};
}

void require(bool condition, const std::string& message) {
  if (!condition) throw QueryError(message);
}

void check_counts(const Query& query) {
  require(!query.num_levels || *query.num_levels >= 1,
          "'levels' must be at least 1, not " + std::to_string(query.num_levels.value_or(0)));
  require(!query.at_least_rows || *query.at_least_rows >= 0,
          "'at_least' must not be negative, but is " + std::to_string(query.at_least_rows.value_or(0)));
  require(query.skip >= 0, "'offset' must not be negative, but is " + std::to_string(query.skip));
  require(!query.max_rows || *query.max_rows >= 0,
          "'limit' must not be negative, but is " + std::to_string(query.max_rows.value_or(0)));
  require(!query.time_limit || query.time_limit->count() >= 1, "'timeout' must be at least 1 ms");
  require(query.skip <= std::numeric_limits<std::int64_t>::max() - query.max_rows.value_or(0),
          "'offset' and 'limit' together exceed 9223372036854775807");
}

void check_parts(const Query& query) {
  require(query.preference || !query.ranking.empty() || !query.group_columns.empty(),
          "the query asks for nothing: it needs 'prefer', 'rank_by' or 'group_by'");
  require(!query.num_levels || !query.at_least_rows, "'levels' and 'at_least' exclude each other");
  require(query.preference || !query.num_levels, "'levels' needs 'prefer'");
  require(query.preference || !query.at_least_rows, "'at_least' needs 'prefer'");
  require(query.preference || !query.only_distinct, "'distinct' needs 'prefer'");
  require(!query.group_columns.empty() || query.aggregates.empty(), "'aggregate' needs 'group_by'");
}

// Names that come twice in one list of columns.
class Names {
 public:
  explicit Names(std::string_view list) : list_(list) {}

  void add(const std::string& name) {
    require(!name.empty(), "a name in '" + list_ + "' is empty");
    require(seen_.insert(name).second, "'" + list_ + "' names '" + name + "' twice");
  }

 private:
  std::string list_;
  std::set<std::string> seen_;
};

void check_columns(const std::vector<Expression>& columns, Names& names, const std::string& list) {
  for (const Expression& column : columns) {
    if (column.column_name().empty()) {
      throw QueryError("'" + list + "' takes column names, not the expression " + column.text(), column.location());
    }
    names.add(std::string(column.column_name()));
  }
}

bool names_column(const std::vector<Expression>& columns, const std::string& name) {
  return std::any_of(columns.begin(), columns.end(), [&](const Expression& e) { return e.column_name() == name; });
}

void check_names(const Query& query) {
  if (!query.name.empty()) query::check_query_name(query.name);
  Names grouped("group_by");
  check_columns(query.group_columns, grouped, "group_by");
  Names aggregated("aggregate");
  for (const Aggregate& aggregate : query.aggregates) {
    require(!names_column(query.group_columns, aggregate.name),
            "the aggregate '" + aggregate.name +
                "' has the name of a column of 'group_by', which the answer has too; " +
                "name it otherwise, such as 'total_" + aggregate.name + "'");
    aggregated.add(aggregate.name);
    require(aggregate.argument || aggregate.function == Aggregate::Function::count,
            "the aggregate '" + aggregate.name + "' needs an argument");
  }
  Names partitioned("partition_by");
  check_columns(query.partition_columns, partitioned, "partition_by");
  Names selected("select");
  for (const SelectItem& item : query.selection) selected.add(item.name);
}

}  // namespace

Query Query::from(std::string table) {
  Query query;
  query.table = std::move(table);
  return query;
}

Query& Query::named(std::string query_name) {
  name = std::move(query_name);
  return *this;
}

Query& Query::where(Expression expression) {
  condition = std::move(expression);
  return *this;
}

Query& Query::group_by(std::vector<Expression> columns) {
  require(!columns.empty(), "'group_by' needs at least one column");
  group_columns = std::move(columns);
  return *this;
}

Query& Query::aggregate(std::vector<Aggregate> list) {
  aggregates = std::move(list);
  return *this;
}

Query& Query::partition_by(std::vector<Expression> columns) {
  partition_columns = std::move(columns);
  return *this;
}

Query& Query::prefer(Preference one) {
  preference = std::move(one);
  return *this;
}

Query& Query::prefer(std::vector<Preference> pareto_terms) { return prefer(query::combined(std::move(pareto_terms))); }

Query& Query::levels(std::int64_t count) {
  num_levels = count;
  return *this;
}

Query& Query::at_least(std::int64_t rows) {
  at_least_rows = rows;
  return *this;
}

Query& Query::distinct(bool on) {
  only_distinct = on;
  return *this;
}

Query& Query::rank_by(std::vector<RankTerm> terms) {
  require(!terms.empty(), "'rank_by' needs at least one term");
  ranking = std::move(terms);
  return *this;
}

Query& Query::offset(std::int64_t rows) {
  skip = rows;
  return *this;
}

Query& Query::limit(std::int64_t rows) {
  max_rows = rows;
  return *this;
}

Query& Query::ties(Ties rule) {
  tie_rule = rule;
  return *this;
}

Query& Query::nan(Missing rule) {
  nan_rule = rule;
  return *this;
}

Query& Query::nulls(Missing rule) {
  null_rule = rule;
  return *this;
}

Query& Query::select(const std::vector<Expression>& columns) {
  std::vector<SelectItem> items;
  items.reserve(columns.size());
  for (const Expression& column : columns) items.push_back({query::output_name(column), column});
  return select(std::move(items));
}

Query& Query::select(std::vector<SelectItem> items) {
  selection = std::move(items);
  return *this;
}

Query& Query::timeout(std::chrono::milliseconds limit) {
  time_limit = limit;
  return *this;
}

Query& Query::using_path(Using forced) {
  path = std::move(forced);
  return *this;
}

void Query::validate() const {
  try {
    check_names(*this);
    check_parts(*this);
    check_counts(*this);
    if (preference) query::check_tree(*preference);
  } catch (const QueryError& error) {
    if (error.location() != Location{}) throw;
    throw QueryError(error.message(), location);
  }
}

bool Query::operator==(const Query& other) const {
  return name == other.name && table == other.table && condition == other.condition &&
         group_columns == other.group_columns && aggregates == other.aggregates &&
         partition_columns == other.partition_columns && preference == other.preference &&
         num_levels == other.num_levels && at_least_rows == other.at_least_rows &&
         only_distinct == other.only_distinct && ranking == other.ranking && skip == other.skip &&
         max_rows == other.max_rows && tie_rule == other.tie_rule && nan_rule == other.nan_rule &&
         null_rule == other.null_rule && selection == other.selection && time_limit == other.time_limit &&
         path == other.path;
}

Aggregate count(std::string name) { return aggregate_of(Aggregate::Function::count, std::move(name), std::nullopt); }
Aggregate count(std::string name, Expression argument) {
  return aggregate_of(Aggregate::Function::count, std::move(name), std::move(argument));
}
Aggregate sum(std::string name, Expression argument) {
  return aggregate_of(Aggregate::Function::sum, std::move(name), std::move(argument));
}
Aggregate min(std::string name, Expression argument) {
  return aggregate_of(Aggregate::Function::min, std::move(name), std::move(argument));
}
Aggregate max(std::string name, Expression argument) {
  return aggregate_of(Aggregate::Function::max, std::move(name), std::move(argument));
}
Aggregate avg(std::string name, Expression argument) {
  return aggregate_of(Aggregate::Function::avg, std::move(name), std::move(argument));
}

}  // namespace skyrank

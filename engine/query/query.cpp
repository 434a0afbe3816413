#include <skyrank/query.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/query/check.hpp"
#include "engine/query/written_names.hpp"

// The setters of Query, and what makes a query valid without a table: parts that contradict each other, numbers out of
// range, names that come twice.
namespace skyrank {
inline namespace v0 {
namespace {

Aggregate aggregate_of(Aggregate::Function function, std::string name, std::optional<Expression> argument) {
  return {std::move(name), function, std::move(argument)};
}

void require(bool condition, const std::string& message) {
  if (!condition) throw QueryError(message);
}

void check_counts(const Query& query) {
  require(!query.levels() || *query.levels() >= 1,
          "'levels' must be at least 1, not " + std::to_string(query.levels().value_or(0)));
  require(!query.at_least() || *query.at_least() >= 0,
          "'at_least' must not be negative, but is " + std::to_string(query.at_least().value_or(0)));
  require(!query.skyband() || *query.skyband() >= 1,
          "'skyband' must be at least 1, not " + std::to_string(query.skyband().value_or(0)));
  require(query.offset() >= 0, "'offset' must not be negative, but is " + std::to_string(query.offset()));
  require(!query.limit() || *query.limit() >= 0,
          "'limit' must not be negative, but is " + std::to_string(query.limit().value_or(0)));
  require(!query.timeout() || query.timeout()->count() >= 1, "'timeout' must be at least 1 ms");
  require(query.offset() <= std::numeric_limits<std::int64_t>::max() - query.limit().value_or(0),
          "'offset' and 'limit' together exceed 9223372036854775807");
}

void check_parts(const Query& query) {
  require(query.prefer() || !query.rank_by().empty() || query.has_groups(),
          "the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'");
  require(!query.levels() || !query.at_least(), "'levels' and 'at_least' exclude each other");
  require(!query.skyband() || (!query.levels() && !query.at_least()),
          std::string("'skyband' and ") + (query.levels() ? "'levels'" : "'at_least'") + " exclude each other");
  require(query.prefer() || !query.levels(), "'levels' needs 'prefer'");
  require(query.prefer() || !query.at_least(), "'at_least' needs 'prefer'");
  require(query.prefer() || !query.skyband(), "'skyband' needs 'prefer'");
  require(query.prefer() || !query.distinct(), "'distinct' needs 'prefer'");
  require(query.prefer() || !query.pick(), "'pick' needs 'prefer'");
  if (query.pick()) query::check_pick(*query.pick());
  require(query.has_groups() || !query.having(), "'having' needs 'group_by' or 'aggregate'; 'where' is for rows");
  require(query.partition_by().empty() || query.aggregate().empty() || !query.group_by().empty(),
          "'partition_by' has nothing to divide: 'aggregate' without 'group_by' gives one row");
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

bool names_key(const std::vector<GroupKey>& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(), [&](const GroupKey& key) { return key.name == name; });
}

void check_names(const Query& query) {
  if (!query.name().empty()) query::check_query_name(query.name());
  query::check_keys(query, query::keys_of_table(query));
  Names selected("select");
  for (const SelectItem& item : query.select()) selected.add(item.name);
}

}  // namespace

Query Query::from(std::string table) {
  Query query;
  query.from_ = std::move(table);
  return query;
}

Query& Query::name(std::string name) {
  name_ = std::move(name);
  return *this;
}

Query& Query::where(std::optional<Expression> condition) {
  where_ = std::move(condition);
  return *this;
}

GroupKey::GroupKey(Expression key) : name(query::output_name(key)), expression(std::move(key)) {}

Query& Query::group_by(std::vector<GroupKey> keys) {
  require(!keys.empty(), "'group_by' needs at least one column");
  group_by_ = std::move(keys);
  return *this;
}

Query& Query::aggregate(std::vector<Aggregate> aggregates) {
  aggregate_ = std::move(aggregates);
  return *this;
}

Query& Query::having(std::optional<Expression> condition) {
  having_ = std::move(condition);
  return *this;
}

Query& Query::partition_by(std::vector<GroupKey> keys) {
  partition_by_ = std::move(keys);
  return *this;
}

Query& Query::prefer(Preference preference) {
  prefer_ = std::move(preference);
  return *this;
}

Query& Query::prefer(std::vector<Preference> pareto_terms) { return prefer(query::combined(std::move(pareto_terms))); }

Query& Query::levels(std::optional<std::int64_t> count) {
  levels_ = count;
  return *this;
}

Query& Query::at_least(std::optional<std::int64_t> rows) {
  at_least_ = rows;
  return *this;
}

Query& Query::skyband(std::optional<std::int64_t> rows) {
  skyband_ = rows;
  return *this;
}

Query& Query::distinct(bool on) {
  distinct_ = on;
  return *this;
}

Query& Query::pick(std::optional<Pick> few) {
  pick_ = std::move(few);
  return *this;
}

Query& Query::rank_by(std::vector<RankTerm> terms) {
  require(!terms.empty(), "'rank_by' needs at least one term");
  rank_by_ = std::move(terms);
  return *this;
}

Query& Query::offset(std::int64_t rows) {
  offset_ = rows;
  return *this;
}

Query& Query::limit(std::optional<std::int64_t> rows) {
  limit_ = rows;
  return *this;
}

Query& Query::ties(Ties rule) {
  ties_ = rule;
  return *this;
}

Query& Query::nan(Missing rule) {
  nan_ = rule;
  return *this;
}

Query& Query::nulls(Missing rule) {
  nulls_ = rule;
  return *this;
}

Query& Query::select(const std::vector<Expression>& columns) {
  std::vector<SelectItem> items;
  items.reserve(columns.size());
  for (const Expression& column : columns) items.push_back({query::output_name(column), column});
  return select(std::move(items));
}

Query& Query::select(std::vector<SelectItem> items) {
  select_ = std::move(items);
  return *this;
}

Query& Query::timeout(std::optional<std::chrono::milliseconds> limit) {
  timeout_ = limit;
  return *this;
}

Query& Query::using_path(ForcedPath path) {
  using_path_ = std::move(path);
  path_locations_.clear();  // of other names
  return *this;
}

Query& Query::location(Location place) {
  location_ = std::move(place);
  return *this;
}

void Query::validate() const {
  try {
    check_names(*this);
    check_parts(*this);
    check_counts(*this);
    if (prefer_) query::check_tree(*prefer_);
  } catch (const QueryError& error) {
    if (error.location() != Location{}) throw;
    throw QueryError(error.message(), location_);
  }
}

bool Query::operator==(const Query& other) const {
  return name_ == other.name_ && from_ == other.from_ && where_ == other.where_ && group_by_ == other.group_by_ &&
         aggregate_ == other.aggregate_ && having_ == other.having_ && partition_by_ == other.partition_by_ &&
         prefer_ == other.prefer_ && levels_ == other.levels_ && at_least_ == other.at_least_ &&
         skyband_ == other.skyband_ && distinct_ == other.distinct_ && pick_ == other.pick_ &&
         rank_by_ == other.rank_by_ && offset_ == other.offset_ && limit_ == other.limit_ && ties_ == other.ties_ &&
         nan_ == other.nan_ && nulls_ == other.nulls_ && select_ == other.select_ && timeout_ == other.timeout_ &&
         using_path_ == other.using_path_;
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

}  // namespace v0

void query::check_keys(const Query& query, const std::vector<GroupKey>& keys_of_table) {
  Names grouped(query.group_by().empty() ? "partition_by" : "group_by");
  for (const GroupKey& key : keys_of_table) grouped.add(key.name);
  Names aggregated("aggregate");
  for (const Aggregate& aggregate : query.aggregate()) {
    require(query.group_by().empty() || !names_key(keys_of_table, aggregate.name),
            "the aggregate '" + aggregate.name +
                "' has the name of a column of 'group_by', which the answer has too; " +
                "name it otherwise, such as 'total_" + aggregate.name + "'");
    aggregated.add(aggregate.name);
    require(aggregate.argument || aggregate.function == Aggregate::Function::count,
            "the aggregate '" + aggregate.name + "' needs an argument");
  }
  if (query.group_by().empty()) return;
  Names partitioned("partition_by");
  for (const GroupKey& key : query.partition_by()) partitioned.add(key.name);
}

}  // namespace skyrank

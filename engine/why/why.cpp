#include "engine/why/why.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/executor/limits.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/bind/keys.hpp"
#include "engine/query/locations.hpp"
#include "engine/query/written_names.hpp"

namespace skyrank::exec {
namespace {

using query::BoundExpression;
using query::BoundPreference;
using query::BoundQuery;

void refuse_unsupported_parts(const Query& query, const Table& table) {
  const auto refuse = [&](const std::string& part) {
    throw BindError("'why' does not support " + part + " yet", query::location_of(query));
  };
  if (query.has_groups()) refuse(query.group_by().empty() ? "'aggregate'" : "'group_by'");
  const std::vector<GroupKey> keys = query::named_keys(query, query::names_of(table));
  if (!std::ranges::all_of(keys, &GroupKey::is_column)) refuse("'partition_by' of expressions");
  if (query.skyband().value_or(1) > 1) refuse("'skyband'");
  if (query.nan() == Missing::best) refuse("'nan: best'");
  if (query.ties() == Ties::any) refuse("'ties: any', which leaves the answer open");
}

void add_conjuncts(const std::shared_ptr<const query::Node>& node,
                   std::vector<std::shared_ptr<const query::Node>>& out) {
  if (node->op != query::Op::logical_and) {
    out.push_back(node);
    return;
  }
  for (const auto& child : node->children) add_conjuncts(child, out);
}

std::vector<BoundExpression> conditions_of(const Query& query, const Table& table) {
  std::vector<BoundExpression> bound;
  if (!query.where()) return bound;
  std::vector<std::shared_ptr<const query::Node>> conjuncts;
  const Expression where = query::named(*query.where(), query::names_of(table));
  add_conjuncts(std::make_shared<const query::Node>(query::root_of(where)), conjuncts);
  const query::Schema schema = query::schema_of(table);
  for (const auto& conjunct : conjuncts) {
    bound.push_back(query::bind_expression(query::make_expression(conjunct, query.where()->location()), schema));
  }
  return bound;
}

/// Binds a query, and leaves out what it shows and the path that it forces.
BoundQuery row_query(const Query& query, const Table& table) {
  refuse_unsupported_parts(query, table);
  BoundQuery bound = query::bind_with_keys(query, table).query;
  for (const query::BoundRankTerm& term : bound.ranking) {
    if (!term.measure) continue;
    throw BindError("'why' does not support rankings by " + bound.measures[*term.measure].text + " yet",
                    query::location_of(query));
  }
  bound.measures.clear();
  bound.outputs = {{"row", query::BoundOutput::Kind::row, {}}};
  bound.path = {.algorithms = {}, .device = DeviceChoice::cpu, .parameters = {}};
  bound.path_locations.clear();
  return bound;
}

void add_terms(const BoundPreference& preference, std::vector<const BoundPreference*>& terms) {
  if (preference.children.empty()) terms.push_back(&preference);
  for (const BoundPreference& child : preference.children) add_terms(child, terms);
}

}  // namespace

std::vector<const BoundPreference*> terms_of(const BoundPreference& preference) {
  std::vector<const BoundPreference*> terms;
  add_terms(preference, terms);
  return terms;
}

Table read_whole(const Query& query, const Source& source) {
  const std::vector<int> read = query::columns_read(row_query(query, source.schema()));
  std::vector<std::size_t> units(source.units().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  return chosen_columns(source.read(units, read).table, read);
}

std::vector<RowId> answer_rows(const QueryContext& context, const BoundQuery& query, const Table& table) {
  return answer_within_limit(context, query, table).rows;
}

WhyNot why(const QueryContext& context, const Query& query, const Table& table, RowId row) {
  const BoundQuery bound = row_query(query, table);
  if (row < 0 || row >= table.num_rows()) {
    throw BindError("there is no row " + std::to_string(row) + "; the table has the rows 0 to " +
                        std::to_string(table.num_rows() - 1),
                    query::location_of(query));
  }
  if (any_device_only(table, query::columns_read(bound))) {
    throw BindError("'why' does not support columns that are on a GPU alone", query::location_of(query));
  }
  const std::vector<BoundExpression> conditions = conditions_of(query, table);
  const RowQuestion question{context, bound, conditions, table, row};
  return guarded(context.limits, [&] {
    return context.on_threads([&] {
      WhyNot why;
      why.row = row;
      find_stage(question, why);
      if (why.stage != WhyStage::where && why.stage != WhyStage::missing) find_dominators(question, why);
      if (why.stage != WhyStage::in_answer) find_changes(question, why);
      return why;
    });
  });
}

}  // namespace skyrank::exec

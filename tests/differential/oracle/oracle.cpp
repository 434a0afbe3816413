#include "tests/differential/oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tests/differential/oracle/fronts.hpp"

namespace skyrank::differential {
namespace {

/// The values of measures by the texts of their calls and by row, where rows are kept.
using Measured = std::map<std::string, std::vector<Cell>>;

Cell value_of(const Ranking& term, const Relation& relation, const Measured& measured, std::size_t row) {
  return term.measure ? measured.at(text_of(*term.measure))[row] : evaluate(*term.expression, relation.rows[row]);
}

/// The place of every row in a ranking.
std::vector<int> ranked(const std::vector<Ranking>& ranking, const Relation& relation, const Measured& measured,
                        First first) {
  std::vector<std::vector<Place>> keys;
  for (std::size_t row = 0; row < relation.rows.size(); ++row) {
    auto& key = keys.emplace_back();
    for (const Ranking& term : ranking) {
      key.push_back(first(place_in_ranking(value_of(term, relation, measured, row), term.high)));
    }
  }
  const std::set<std::vector<Place>> sorted(keys.begin(), keys.end());
  std::map<std::vector<Place>, int> rank;
  for (const auto& known : sorted) rank.emplace(known, static_cast<int>(rank.size()));
  std::vector<int> ranks;
  for (const auto& known : keys) ranks.push_back(rank.at(known));
  return ranks;
}

Candidates window(const Query& query, const std::vector<int>& ranks, const Candidates& rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  if (query.limit == 0) return {};
  const std::int64_t begin = std::min(query.offset, n);
  const std::int64_t end = query.limit ? std::min(begin + *query.limit, n) : n;
  if (begin == end) return {};
  const int last_rank = ranks[rows[static_cast<std::size_t>(end - 1)].row];
  const auto tied = [&](const Candidate& row) { return ranks[row.row] == last_rank; };
  const bool ties_matter = !query.rank_by.empty() && end < n;
  std::int64_t stop = end;
  if (ties_matter && query.ties == "all") {
    while (stop < n && tied(rows[static_cast<std::size_t>(stop)])) ++stop;
  }
  Candidates answer(rows.begin() + begin, rows.begin() + stop);
  if (!ties_matter || query.ties != "last") return answer;
  Candidates candidates;
  std::copy_if(rows.begin() + begin, rows.end(), std::back_inserter(candidates), tied);
  const auto places = std::count_if(answer.begin(), answer.end(), tied);
  std::copy(candidates.end() - places, candidates.end(), answer.end() - places);
  return answer;
}

// ---- Groups ----

/// Equal for values of one group: NULL is a value, NaN one, and there is one zero.
std::string identity(const Cell& cell) {
  if (is_nan(cell)) return "nan";
  if (const auto* number = std::get_if<double>(&cell); number != nullptr && *number == 0) return "0";
  if (const auto* moment = std::get_if<Moment>(&cell)) return spelled(moment->ns);
  if (const auto* day = std::get_if<Day>(&cell)) return spelled(day->number);
  return spelled(cell, {});
}

std::vector<Candidates> parts(const std::vector<std::size_t>& columns, const std::vector<Row>& rows,
                              const Candidates& of) {
  std::map<std::vector<std::string>, std::size_t> known;
  std::vector<Candidates> result;
  for (const Candidate& candidate : of) {
    std::vector<std::string> key;
    for (const std::size_t column : columns) key.push_back(identity(rows[candidate.row][column]));
    const auto [place, is_new] = known.emplace(std::move(key), result.size());
    if (is_new) result.emplace_back();
    result[place->second].push_back(candidate);
  }
  return result;
}

/// A sum that does not depend on the order of its terms.
double exact_sum(const std::vector<Cell>& values) {
  double sum = 0;
  for (const Cell& cell : values) {
    const double value = std::get<double>(cell);
    const bool exact = !std::isfinite(value) || (std::abs(value) < 1e6 && value * 1024 == std::trunc(value * 1024));
    if (!exact || (value == 0 && std::signbit(value))) throw Undefined("a sum that rounds");
    sum += value;
  }
  return sum;
}

Cell aggregated(const Aggregation& aggregate, const std::vector<Row>& rows, const Candidates& group) {
  std::vector<Cell> values;
  for (const Candidate& candidate : group) {
    Cell value = aggregate.argument ? evaluate(*aggregate.argument, rows[candidate.row]) : Cell(true);
    if (!is_null(value)) values.push_back(std::move(value));
  }
  if (aggregate.function == "count") return static_cast<Integer>(values.size());
  if (values.empty()) return {};
  if (aggregate.function == "min" || aggregate.function == "max") {
    Cell best = values.front();
    const Ordering wanted = aggregate.function == "min" ? Ordering::less : Ordering::greater;
    for (const Cell& value : values) {
      if (is_nan(best) || (!is_nan(value) && compare(value, best) == wanted)) best = value;
    }
    return best;
  }
  const bool average = aggregate.function == "avg";
  const auto count = static_cast<double>(values.size());
  if (aggregate.argument->domain.kind == Kind::float64) return exact_sum(values) / (average ? count : 1);
  Integer sum = 0;
  for (const Cell& value : values) sum += std::get<Integer>(value);
  const bool is_unsigned = aggregate.argument->domain.kind == Kind::uint64;
  const Integer highest = is_unsigned ? Integer{std::numeric_limits<std::uint64_t>::max()}
                                      : Integer{std::numeric_limits<std::int64_t>::max()};
  const bool fits = sum <= highest && sum >= (is_unsigned ? 0 : Integer{std::numeric_limits<std::int64_t>::min()});
  if (!fits) throw Undefined("a sum overflows");
  if (average) return static_cast<double>(sum) / count;
  return sum;
}

Relation grouped(const Query& query, const Relation& table, const Candidates& rows) {
  Relation groups{.fields = fields_after_grouping(query, table)};
  std::vector<Candidates> members = parts(query.group_by, table.rows, rows);
  if (query.group_by.empty() && members.empty()) members.emplace_back();  // all rows are a group, also where none is
  for (const Candidates& group : members) {
    Row& row = groups.rows.emplace_back();
    for (const std::size_t column : query.group_by) row.push_back(table.rows[group.front().row][column]);
    for (const Aggregation& aggregate : query.aggregates) row.push_back(aggregated(aggregate, table.rows, group));
    groups.first_rows.push_back(group.empty() ? -1 : static_cast<std::int64_t>(group.front().row));
  }
  return groups;
}

// ---- NaN and NULL ----

void add_values(const Preference& preference, std::vector<ExpressionPtr>& values) {
  if (preference.expression && preference.kind != Preference::Kind::where) values.push_back(preference.expression);
  for (const Preference& child : preference.children) add_values(child, values);
}

/// Drops rows by the rules for missing values; false where such a row is an error.
bool apply_missing_rules(const Query& query, const Relation& relation, Candidates& rows) {
  std::vector<ExpressionPtr> values;
  if (query.prefer) add_values(*query.prefer, values);
  for (const Ranking& term : query.rank_by) {
    if (term.expression) values.push_back(term.expression);
  }
  bool refused = false;
  std::erase_if(rows, [&](const Candidate& candidate) {
    bool drop = false;
    bool fails = false;
    for (const ExpressionPtr& expression : values) {
      const Cell value = evaluate(*expression, relation.rows[candidate.row]);
      const std::string& rule = is_null(value) ? query.nulls : query.nan;
      if (!is_null(value) && !is_nan(value)) continue;
      drop = drop || rule == "exclude";
      fails = fails || rule == "error";
    }
    if (drop && fails) throw Undefined("both excluded and refused");
    refused = refused || fails;
    return drop;
  });
  return !refused;
}

std::vector<Cell> selected(const Output& output, const Query& query, const Relation& relation, const Measured& measured,
                           const Candidates& rows) {
  std::vector<Cell> cells;
  for (const Candidate& candidate : rows) {
    const Row& row = relation.rows[candidate.row];
    switch (output.kind) {
      case Output::Kind::row:
        cells.emplace_back(relation.first_rows.empty() ? static_cast<Integer>(candidate.row)
                                                       : Integer{relation.first_rows[candidate.row]});
        break;
      case Output::Kind::level: cells.emplace_back(Integer{candidate.level}); break;
      case Output::Kind::score:
        cells.push_back(value_of(query.rank_by.front(), relation, measured, candidate.row));
        break;
      case Output::Kind::measure: cells.push_back(measured.at(text_of(output.measure))[candidate.row]); break;
      case Output::Kind::expression: cells.push_back(evaluate(*output.expression, row)); break;
    }
  }
  return cells;
}

std::vector<Entry> entries(const std::vector<Output>& outputs, const Query& query, const Relation& relation,
                           const Measured& measured, const std::vector<int>& ranks, const Candidates& rows,
                           const std::vector<std::size_t>& parts_of_rows) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i].row;
    const std::int64_t input_row =
        relation.first_rows.empty() ? static_cast<std::int64_t>(row) : relation.first_rows[row];
    entries.push_back({input_row, rows[i].level, ranks[row], parts_of_rows[i]});
  }
  for (const Output& output : outputs) {
    const std::vector<Cell> cells = selected(output, query, relation, measured, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) entries[i].cells.push_back(cells[i]);
  }
  return entries;
}

Candidates all_rows(const Relation& relation) {
  Candidates rows;
  for (std::size_t row = 0; row < relation.rows.size(); ++row) rows.push_back({row});
  return rows;
}

Measured no_measures(const Query& query, const Relation& relation) {
  Measured measured;
  for (const Measure& measure : measures_of(query)) measured[text_of(measure)].resize(relation.rows.size());
  return measured;
}

/// Returns the rows of a partition that the preference and `pick` keep, and notes their measures.
Candidates kept_of(const Candidates& part, const Query& query, const Relation& relation, const Placed& preference,
                   Measured& notes) {
  const Front front = preferred(query, preference, part);
  for (const Measure& measure : measures_of(query)) {
    const std::vector<Cell> cells = measured(measure, query, relation, front);
    std::vector<Cell>& by_row = notes.at(text_of(measure));
    for (std::size_t i = 0; i < cells.size(); ++i) by_row[front.kept[i].row] = cells[i];
  }
  return picked(query, relation, preference, front);
}

/// Evaluates what the query names for every row, as an engine may: a failure anywhere leaves the answer open.
void evaluate_everywhere(const ExpressionPtr& expression, const Relation& relation) {
  if (!expression) return;
  for (const Row& row : relation.rows) evaluate(*expression, row);
}

void keep_passing(const Expression& condition, const Relation& relation, Candidates& rows) {
  std::erase_if(rows, [&](const Candidate& candidate) {
    const Cell passes = evaluate(condition, relation.rows[candidate.row]);
    return is_null(passes) || !std::get<bool>(passes);
  });
}

}  // namespace

std::vector<Field> fields_after_grouping(const Query& query, const Relation& table) {
  if (!query.has_groups()) return table.fields;
  std::vector<Field> fields;
  for (const std::size_t column : query.group_by) fields.push_back(table.fields[column]);
  for (const Aggregation& aggregate : query.aggregates) {
    Domain domain{Kind::int64};
    if (aggregate.function == "avg") domain = {Kind::float64};
    if (aggregate.function == "sum" || aggregate.function == "min" || aggregate.function == "max") {
      domain = aggregate.argument->domain;
    }
    fields.push_back({aggregate.name, domain});
  }
  return fields;
}

Answer answer(const Query& query, const Relation& table) {
  evaluate_everywhere(query.where, table);
  for (const Aggregation& aggregate : query.aggregates) evaluate_everywhere(aggregate.argument, table);
  Candidates rows = all_rows(table);
  if (query.where) keep_passing(*query.where, table, rows);
  const bool groups = query.has_groups();
  const Relation relation = groups ? grouped(query, table, rows) : table;
  if (groups) rows = all_rows(relation);
  if (query.having) keep_passing(*query.having, relation, rows);
  for (const Ranking& term : query.rank_by) evaluate_everywhere(term.expression, relation);
  for (const Output& output : query.select) evaluate_everywhere(output.expression, relation);
  Answer result;
  result.refused = !apply_missing_rules(query, relation, rows);
  if (result.refused) return result;
  const First first{.nan = query.nan == "best", .nulls = query.nulls == "best"};
  const std::optional<Placed> preference =
      query.prefer ? std::optional(placed(*query.prefer, relation.rows, first)) : std::nullopt;
  Measured measured = no_measures(query, relation);
  std::vector<Candidates> kept_of_parts;
  for (const Candidates& part : parts(query.partition_by, relation.rows, rows)) {
    kept_of_parts.push_back(preference ? kept_of(part, query, relation, *preference, measured) : part);
  }
  const std::vector<int> ranks = ranked(query.rank_by, relation, measured, first);
  Candidates answered;
  Candidates kept_rows;
  std::vector<std::size_t> answered_parts;
  std::vector<std::size_t> kept_parts;
  std::size_t number = 0;
  for (Candidates& kept : kept_of_parts) {
    std::stable_sort(kept.begin(), kept.end(),
                     [&](const auto& a, const auto& b) { return ranks[a.row] < ranks[b.row]; });
    for (const Candidate& candidate : window(query, ranks, kept)) {
      answered.push_back(candidate);
      answered_parts.push_back(number);
    }
    kept_rows.insert(kept_rows.end(), kept.begin(), kept.end());
    kept_parts.insert(kept_parts.end(), kept.size(), number++);
  }
  for (const Candidate& candidate : answered) {
    result.rows.push_back(groups ? relation.first_rows[candidate.row] : static_cast<std::int64_t>(candidate.row));
    if (tells_levels(query)) result.levels.push_back(candidate.level);
  }
  std::vector<Output> outputs = query.select;
  if (outputs.empty()) {
    outputs.push_back({"row", Output::Kind::row});
    for (std::size_t i = 0; i < relation.fields.size(); ++i) {
      const Field& field = relation.fields[i];
      outputs.push_back({field.name, Output::Kind::expression, column(i, field.domain, field.name)});
    }
  }
  for (const Output& output : outputs) {
    result.names.push_back(output.name);
    result.columns.push_back(selected(output, query, relation, measured, answered));
  }
  if (query.ties == "any" && !query.rank_by.empty()) {
    result.places = entries(outputs, query, relation, measured, ranks, answered, answered_parts);
    result.candidates = entries(outputs, query, relation, measured, ranks, kept_rows, kept_parts);
  }
  return result;
}

}  // namespace skyrank::differential

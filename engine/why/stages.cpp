#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/keys/key_columns.hpp"
#include "engine/keys/keys.hpp"
#include "engine/operators/missing/missing.hpp"
#include "engine/operators/partition/partition.hpp"
#include "engine/query/values.hpp"
#include "engine/why/why.hpp"

// The first stage that a row does not pass. Each is asked by the query without the later stages.
namespace skyrank::exec {
namespace {

using query::BoundExpression;
using query::BoundQuery;

bool has(const std::vector<RowId>& rows, RowId row) { return std::ranges::find(rows, row) != rows.end(); }

/// Returns the value of an expression on one row.
Value value_at(const BoundExpression& expression, const Table& table, RowId row) {
  if (expression.column >= 0) return table.column(expression.column).value(row);
  return evaluate_all(expression, table, {1, &row}, "value").value(0);
}

std::string shown(const Value& value) {
  return std::holds_alternative<Null>(value) ? "NULL" : query::spelled(query::normalized(value));
}

/// Returns what is wrong with a condition, in words.
std::string failure_of(const RowQuestion& question, std::size_t place) {
  const BoundExpression& condition = question.conditions[place];
  try {
    return condition.text + (truth(condition, question.table, question.row) ? " is false" : " is NULL");
  } catch (const DataError&) {
    return condition.text + " fails";
  }
}

/// Adds the expressions of which `nan` or `nulls` drops the row. Returns true if there are some.
bool is_missing(const RowQuestion& question, WhyNot& why) {
  for (const BoundExpression* expression : value_expressions(question.query)) {
    const Rows row{1, &question.row};
    if (!apply_missing_rules({expression}, question.table, row, question.query.nan_rule, question.query.null_rule)
             .empty()) {
      continue;
    }
    const bool null = std::holds_alternative<Null>(value_at(*expression, question.table, question.row));
    const std::string reason = expression->text + (null ? " is NULL" : " is NaN");
    if (std::ranges::find(why.reasons, reason) == why.reasons.end()) why.reasons.push_back(reason);
  }
  return !why.reasons.empty();
}

/// Keeps the rows of an answer that are in the partition of the row, in their order.
std::vector<RowId> in_partition(const std::vector<RowId>& rows, const Vector<RowId>& beside) {
  std::vector<RowId> kept;
  std::ranges::copy_if(rows, std::back_inserter(kept),
                       [&](RowId row) { return std::ranges::binary_search(beside, row); });
  return kept;
}

/// Returns the lowest row that is equal to the row in all terms of the preference.
std::optional<RowId> first_equal(const RowQuestion& question, const Vector<RowId>& beside) {
  const Rows rows{std::ssize(beside), beside.data()};
  const auto at = std::ranges::lower_bound(beside, question.row) - beside.begin();
  std::vector<Keys> keys;
  for (const query::BoundPreference* term : terms_of(*question.query.preference)) {
    keys.push_back(make_keys(*term, question.table, rows));
  }
  for (std::int64_t i = 0; i < at; ++i) {
    if (std::ranges::all_of(keys, [&](const Keys& key) { return key_at(key, i) == key_at(key, at); })) {
      return beside[static_cast<std::size_t>(i)];
    }
  }
  return std::nullopt;
}

/// Fills in what tells a row that `offset` or `limit` leaves out from the last one that is in.
void compare_to_last(const RowQuestion& question, const std::vector<RowId>& answer, WhyNot& why) {
  if (answer.empty()) return;
  why.last_row = answer.back();
  for (const query::BoundRankTerm& term : question.query.ranking) {
    const std::string own = shown(value_at(term.expression, question.table, question.row));
    const std::string last = shown(value_at(term.expression, question.table, answer.back()));
    why.against_last.push_back(term.expression.text + ": " + own + ", the last has " + last);
  }
}

}  // namespace

std::optional<bool> truth(const BoundExpression& condition, const Table& table, RowId row) {
  const Value value = evaluate_all(condition, table, {1, &row}, "condition").value(0);
  if (std::holds_alternative<Null>(value)) return std::nullopt;
  return std::get<bool>(value);
}

std::vector<std::size_t> failed_conditions(const RowQuestion& question) {
  std::vector<std::size_t> failed;
  for (std::size_t i = 0; i < question.conditions.size(); ++i) {
    try {
      if (truth(question.conditions[i], question.table, question.row) != true) failed.push_back(i);
    } catch (const DataError&) {  // of a condition that the query does not look at
      failed.push_back(i);
    }
  }
  return failed;
}

Vector<RowId> rows_passing(const RowQuestion& question) {
  const Rows all{question.table.num_rows()};
  if (question.query.condition) return filter(*question.query.condition, question.table, all);
  Vector<RowId> rows(static_cast<std::size_t>(all.n));
  std::iota(rows.begin(), rows.end(), RowId{0});
  return rows;
}

Vector<RowId> rows_beside(const RowQuestion& question) {
  const BoundQuery& query = question.query;
  const Vector<RowId> passed = rows_passing(question);
  const Rows rows{std::ssize(passed), passed.data()};
  Vector<RowId> kept =
      apply_missing_rules(value_expressions(query), question.table, rows, query.nan_rule, query.null_rule);
  if (query.partition_columns.empty()) return kept;
  const Segments segments = partition(question.table, query.partition_columns, {std::ssize(kept), kept.data()});
  for (std::int64_t segment = 0; segment < segments.count(); ++segment) {
    Vector<RowId> beside;
    for (std::int64_t i = segments.bounds[segment]; i < segments.bounds[segment + 1]; ++i) {
      beside.push_back(kept[static_cast<std::size_t>(segments.at(i))]);
    }
    if (std::ranges::binary_search(beside, question.row)) return beside;
  }
  return {};
}

void find_stage(const RowQuestion& question, WhyNot& why) {
  const BoundQuery& query = question.query;
  const std::vector<RowId> answer = answer_rows(question.context, query, question.table);
  const bool is_in = has(answer, question.row);
  if (!is_in && query.condition && truth(*query.condition, question.table, question.row) != true) {
    why.stage = WhyStage::where;
    for (const std::size_t i : failed_conditions(question)) why.reasons.push_back(failure_of(question, i));
    return;
  }
  if (!is_in && is_missing(question, why)) {
    why.stage = WhyStage::missing;
    return;
  }
  BoundQuery uncut = query;
  uncut.limit = std::nullopt;
  uncut.offset = 0;
  const Vector<RowId> beside = rows_beside(question);
  const std::vector<RowId> order = in_partition(answer_rows(question.context, uncut, question.table), beside);
  const auto found = std::ranges::find(order, question.row);
  if (found == order.end()) {
    uncut.pick = std::nullopt;
    if (query.pick && has(answer_rows(question.context, uncut, question.table), question.row)) {
      why.stage = WhyStage::pick;
      return;
    }
    why.stage = WhyStage::dominated;
    if (!query.distinct) return;
    uncut.distinct = false;
    if (!has(answer_rows(question.context, uncut, question.table), question.row)) return;
    why.stage = WhyStage::duplicate;
    why.equal_row = first_equal(question, beside);
    return;
  }
  why.place = found - order.begin() + 1;
  if (is_in) return;
  why.stage = *why.place <= query.offset ? WhyStage::offset : WhyStage::limit;
  compare_to_last(question, in_partition(answer, beside), why);
}

}  // namespace skyrank::exec

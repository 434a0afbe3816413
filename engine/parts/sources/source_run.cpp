#include "engine/parts/sources/source_run.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/executor/limits.hpp"
#include "engine/operators/gather.hpp"
#include "engine/parts/gpus/by_gpus.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/by_parts.hpp"
#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/spilled_groups.hpp"
#include "engine/plan/rules.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

using query::BoundOutput;
using query::BoundQuery;

constexpr const char* kByParts = "partial answers, as whole columns do not fit the limit of memory";
constexpr const char* kSpilling = "; groups that do not fit it either go to a temporary file";
constexpr std::int64_t kRowsOfGroup = 40;  // a group of partial answers takes as long as so many rows
constexpr std::array kRulesOfSources = {Rule::late_columns, Rule::unit_pruning, Rule::by_units};

/// The columns and units that a query reads of a source.
struct ReadPlan {
  BoundQuery bound;
  std::vector<int> whole;  ///< columns that decide which rows are in the answer
  std::vector<int> late;   ///< columns that the answer alone shows
  std::vector<std::size_t> units;
  RuleLog rules = RuleLog();
};

/// Returns true if the answer has far fewer rows than the table, as a rule.
bool has_few_rows(const BoundQuery& query) { return query.preference || query.limit; }

std::vector<int> columns_of_selection(BoundQuery query) {
  query.outputs.clear();
  return query::columns_read(query);
}

void plan_columns(ReadPlan& plan) {
  plan.whole = query::columns_read(plan.bound);
  if (!plan.rules.rules().has(Rule::late_columns)) return;
  if (plan.bound.group || !has_few_rows(plan.bound)) {
    return plan.rules.left_out(Rule::late_columns, "the answer may have as many rows as the table");
  }
  const std::vector<int> all = std::exchange(plan.whole, columns_of_selection(plan.bound));
  std::ranges::set_difference(all, plan.whole, std::back_inserter(plan.late));
  if (plan.late.empty()) plan.rules.left_out(Rule::late_columns, "all columns decide which rows are in the answer");
}

void plan_units(ReadPlan& plan, const Source& source) {
  plan.units = all_units(source);
  if (!plan.bound.condition || !plan.rules.rules().has(Rule::unit_pruning)) return;
  UnitsToRead pruned = UnitPruner(source).units_with(*plan.bound.condition);
  const std::size_t skipped = plan.units.size() - pruned.units.size();
  if (skipped == 0) return plan.rules.left_out(Rule::unit_pruning, "no unit could be skipped: " + pruned.reason);
  plan.rules.applied(Rule::unit_pruning, std::to_string(skipped) + " of " + std::to_string(plan.units.size()) +
                                             " units skipped " + pruned.reason);
  plan.units = std::move(pruned.units);
}

/// Returns the units that may have rows for which the query's condition is true.
std::vector<std::size_t> units_to_read(const BoundQuery& query, const Source& source) {
  if (!query.condition) return all_units(source);
  return UnitPruner(source).units_with(*query.condition).units;
}

ReadPlan plan_reading(const EngineState& state, const BoundQuery& query, const Source& source) {
  ReadPlan plan{.bound = query, .whole = {}, .late = {}, .units = {}, .rules = RuleLog(state.rules_of(query))};
  plan_columns(plan);
  plan_units(plan, source);
  return plan;
}

/// Row ids of a table that has the rows of some units, as ids of the source.
class SourceIds {
 public:
  SourceIds(const Source& source, const std::vector<std::size_t>& units) {
    std::int64_t first = 0;
    std::int64_t here = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
      const std::int64_t rows = source.units()[unit].rows;
      if (next < units.size() && units[next] == unit) {
        ends_.push_back(here += rows);
        shifts_.push_back(first + rows - here);
        ++next;
      }
      first += rows;
    }
  }

  std::vector<RowId> of(const std::vector<RowId>& rows) const {
    std::vector<RowId> ids;
    ids.reserve(rows.size());
    for (const RowId row : rows) {
      const auto unit = std::ranges::upper_bound(ends_, row) - ends_.begin();
      ids.push_back(row + shifts_[static_cast<std::size_t>(unit)]);
    }
    return ids;
  }

 private:
  std::vector<std::int64_t> ends_;    // of the units' rows in the table
  std::vector<std::int64_t> shifts_;  // from a row of the table to that of the source
};

/// The rows of an answer with all columns that its outputs read, ascending.
struct AnswerRows {
  Table table;
  std::vector<RowId> places;  ///< per row of the answer: its row in `table`
};

/// The same ids, ascending, and where each went.
std::pair<std::vector<RowId>, std::vector<RowId>> ascending(const std::vector<RowId>& rows) {
  std::vector<RowId> sorted = rows;
  std::ranges::sort(sorted);
  std::vector<RowId> places;
  places.reserve(rows.size());
  for (const RowId row : rows) places.push_back(std::ranges::lower_bound(sorted, row) - sorted.begin());
  return {std::move(sorted), std::move(places)};
}

/// A query over a source, from its first read to its answer.
class SourceRun {
 public:
  /// `options` have no time limit of their own; `limits` are those of the whole.
  SourceRun(const EngineState& state, const BoundQuery& query, const Source& source, const RunOptions& options,
            Limits& limits)
      : state_(state), query_(query), source_(source), options_(options), limits_(limits) {}

  Result run() {
    ReadPlan plan = planned();
    try {
      return reduced(plan);
    } catch (const DataError& error) {
      const bool saw_all = plan.late.empty() && plan.units.size() == source_.units().size() && !by_units_;
      if (saw_all) throw;
      // Over the whole table, the message names the row by its place there, or there is no error.
      for (const Rule rule : kRulesOfSources) {
        if (plan.rules.rules().has(rule)) plan.rules.left_out(rule, std::string("did not help: ") + error.what());
      }
    }
    plan.whole = query::columns_read(plan.bound);
    plan.late.clear();
    plan.units = all_units(source_);
    return reduced(plan, false);
  }

  PlanNode explain() {
    ReadPlan plan = planned();
    ReadPlan part = plan;
    if (needs_parts(plan)) {
      part.units.resize(1);
      plan.rules.applied(Rule::by_units, std::string(kByParts) + (may_spill_groups(query_) ? kSpilling : "") +
                                             "; the rows are those of the first of " +
                                             std::to_string(plan.units.size()) + " units");
    }
    PlanNode tree = explain_table(state_, query_, read(part), options_);
    note(tree, plan);
    return tree;
  }

 private:
  ReadPlan planned() {
    return state_.on_threads(options_.stop, [&] { return plan_reading(state_, query_, source_); });
  }

  /// Returns how parts of the query run, of which a new record is kept.
  StateSteps recorded_steps(const BoundQuery& query) {
    record_ = std::make_unique<PartsRecord>();
    return {.engine = state_, .query = query, .options = options_, .run = run_table, .record = record_.get()};
  }

  /// Hangs what was done with each part below the plan of what follows.
  void attach_record(PlanNode& tree) const {
    const std::size_t parts = record_->count();
    attach_parts(tree, record_->node(std::to_string(parts) + (parts == 1 ? " unit" : " units") +
                                     ", some read while others are answered"));
  }

  Table read(const ReadPlan& plan) {
    Stopwatch watch;
    limits_.phase = "reading the table";
    charge_.emplace(state_, query_.location, ColumnSizes(source_, plan.whole).of_units(plan.units));
    SourceRows read = source_.read(plan.units, plan.whole);
    charge_->finish_reading();
    read_ms_ += watch.lap();
    bytes_ += read.bytes;
    return std::move(read.table);
  }

  /// Rows that the units leave, where the query is answered by units.
  std::optional<UnitRows> left_by_units(ReadPlan& plan, const BoundQuery& selected) {
    if (!plan.rules.rules().has(Rule::by_units)) return std::nullopt;
    const UnitsQuery units{recorded_steps(selected), plan.whole, plan.units};
    if (const auto reason = reason_against_units(units, source_)) {
      plan.rules.left_out(Rule::by_units, *reason);
      return std::nullopt;
    }
    by_units_ = true;
    Stopwatch watch;
    limits_.phase = "answering units of the table";
    std::optional<UnitRows> left = rows_by_units(units, source_);
    read_ms_ += watch.lap();
    if (!left) {
      plan.rules.left_out(Rule::by_units, "did not help: the units leave too many rows");
      return left;
    }
    const std::size_t read = plan.units.size() - left->skipped;
    std::string outcome = std::to_string(left->rows.size()) + " rows left by " + std::to_string(read) + " units, " +
                          std::to_string(left->skipped) + " skipped";
    if (left->dominated > 0) outcome += "; known rows dominate " + std::to_string(left->dominated);
    plan.rules.applied(Rule::by_units, outcome);
    bytes_ += left->bytes;
    skipped_ = left->skipped;
    return left;
  }

  /// Returns true if partial answers of units may be merged.
  bool may_use_parts(const ReadPlan& plan) const {
    return plan.units.size() > 1 && plan.rules.rules().has(Rule::by_units);
  }

  /// Returns true if whole columns, or the groups of their rows, may not fit the limit of memory, but partial answers
  /// of units may.
  bool needs_parts(const ReadPlan& plan) const {
    if (!may_use_parts(plan)) return false;
    constexpr std::size_t kBytesToGroup = 32;  // a row, where no two are in one group
    const auto rows = static_cast<UInt128>(may_spill_groups(query_) ? rows_of(source_, plan.units) : 0);
    const std::size_t groups = saturated_bytes(kBytesToGroup * rows);
    return 2 * ColumnSizes(source_, plan.whole).of_units(plan.units) + groups > state_.memory->left();
  }

  bool is_text(int column) const {
    return source_.schema().columns()[static_cast<std::size_t>(column)].type() == Type::string;
  }

  /// Returns true if a column has integers of which the statistics of a unit tell that there are few different ones.
  bool has_narrow_range(int column, std::size_t unit) const {
    if (!is_integer(source_.schema().columns()[static_cast<std::size_t>(column)].type().type)) return false;
    const auto statistics = source_.statistics(column);
    const auto row = static_cast<std::int64_t>(unit);
    if (!statistics || statistics->min.is_null(row) || statistics->max.is_null(row)) return false;
    const Value min = statistics->min.value(row);
    const Value max = statistics->max.value(row);
    const auto* const lowest = std::get_if<std::int64_t>(&min);
    const auto* const highest = std::get_if<std::int64_t>(&max);
    std::int64_t width = 0;
    return lowest != nullptr && highest != nullptr && !__builtin_sub_overflow(*highest, *lowest, &width) &&
           width < source_.units()[unit].rows / kRowsOfGroup;
  }

  /// Returns true if the query may have few groups or partitions in large units, as far as can be told before these are
  /// read: strings, of which whole columns would have to unite the dictionaries, and integers of a narrow range.
  bool may_have_few_groups(const ReadPlan& plan) const {
    constexpr std::int64_t kMinRowsOfUnit = 1 << 16;
    const BoundQuery& query = plan.bound;
    const std::vector<int>& columns = query.group ? query.group->columns : query.partition_columns;
    const auto is_narrow = [&](int column) { return has_narrow_range(column, plan.units.front()); };
    const bool few = !plan.units.empty() && !columns.empty() &&
                     (std::ranges::any_of(columns, [&](int column) { return is_text(column); }) ||
                      std::ranges::all_of(columns, is_narrow));
    const bool groups = few && (query.group || has_few_rows(query));
    const bool plain = !query.condition && !query.at_least && query.path.algorithms.empty() && plan.late.empty();
    const auto units = static_cast<std::int64_t>(plan.units.size());
    return groups && plain && may_use_parts(plan) && rows_of(source_, plan.units) >= kMinRowsOfUnit * units;
  }

  std::optional<Result> by_few_groups(ReadPlan& plan) {
    if (!may_have_few_groups(plan)) return std::nullopt;
    const std::vector<int>& keys = plan.bound.group ? plan.bound.group->columns : plan.bound.partition_columns;
    limits_.phase = "answering units of the table";
    auto answer = answer_of_few_groups(recorded_steps(query_), source_, plan.whole, keys, plan.units);
    if (!answer) return std::nullopt;
    plan.rules.applied(Rule::by_units,
                       std::to_string(plan.units.size()) + " units: partial answers, as groups are few");
    return answer_of_parts(plan, *std::move(answer));
  }

  /// Decides as if the limit of memory were `room` bytes.
  Result by_parts(ReadPlan& plan, std::size_t room) {
    plan.late.clear();
    limits_.phase = "answering parts of the table";
    PartsAnswer answer =
        answer_by_parts(recorded_steps(query_), source_, query::columns_read(plan.bound), plan.units, room);
    const std::string spilled = answer.spilled ? "; groups spilled to a temporary file of " +
                                                     std::to_string(answer.spilled->partitions) + " partitions"
                                               : "";
    plan.rules.applied(Rule::by_units, std::to_string(plan.units.size()) + " units: " + kByParts + spilled);
    return answer_of_parts(plan, std::move(answer));
  }

  Result answer_of_parts(const ReadPlan& plan, PartsAnswer answer) {
    bytes_ += answer.bytes;
    if (answer.spilled) spilled_bytes_ = answer.spilled->bytes;
    answer.result.timing.read_ms = read_ms_ + answer.read_ms;
    attach_record(answer.result.plan);
    note(answer.result.plan, plan);
    return std::move(answer.result);
  }

  /// The answer by what the plan has read. Whatever does not fit the limit of memory is answered by parts, and these
  /// with ever less memory in mind: what is decided by the limit must not make a query fail that a lower one allows.
  Result reduced(ReadPlan& plan, bool by_units = true) {
    try {
      return reduced_at_once(plan, by_units);
    } catch (const ResourceError&) {
      if (!may_use_parts(plan)) throw;
      charge_.reset();
      late_charge_.reset();
      if (auto answer = by_smaller_parts(plan)) return *std::move(answer);
      throw;
    }
  }

  std::optional<Result> by_smaller_parts(ReadPlan& plan) {
    constexpr std::size_t kStep = 4;
    constexpr std::size_t kLowest = std::size_t{1} << 20;
    for (std::size_t room = state_.memory->limit();; room = room < kLowest ? 0 : room / kStep) {
      if (std::exchange(parts_failed_, false)) continue;
      try {
        return by_parts(plan, room);
      } catch (const ResourceError&) {
        if (room == 0) return std::nullopt;
      }
    }
  }

  Result reduced_at_once(ReadPlan& plan, bool by_units) {
    BoundQuery selected = query_;
    // The outputs are made below.
    if (!plan.late.empty()) selected.outputs = {{.name = "row", .kind = BoundOutput::Kind::row, .expression = {}}};
    std::optional<UnitRows> left;
    if (by_units) left = left_by_units(plan, selected);
    if (!left && needs_parts(plan)) {
      parts_failed_ = true;
      return by_parts(plan, state_.memory->limit());
    }
    if (!left && by_units) {
      if (auto answer = by_few_groups(plan)) return *std::move(answer);
    }
    const Table input = left ? left->table : read(plan);
    Result result = run_table(state_, selected, input, options_);
    Stopwatch watch;
    state_.on_threads(options_.stop, [&] {
      finish(plan, input, left ? &left->rows : nullptr, result);
      return true;
    });
    const double ms = watch.lap();
    result.timing.gather_ms += ms;
    result.timing.total_ms += ms;
    result.timing.read_ms = read_ms_;
    if (left) {
      result.work += left->work;
      attach_record(result.plan);
    }
    note(result.plan, plan);
    return result;
  }

  /// Makes the columns of the answer. `ids` are the rows of `input` in the source; null: it has the plan's units.
  void finish(const ReadPlan& plan, const Table& input, const std::vector<RowId>* ids, Result& result) {
    const std::vector<RowId> rows = std::move(result.rows);
    if (ids == nullptr) {
      result.rows = SourceIds(source_, plan.units).of(rows);
    } else {
      result.rows.clear();
      for (const RowId row : rows) result.rows.push_back((*ids)[static_cast<std::size_t>(row)]);
    }
    AnswerRows answer;
    if (!plan.late.empty()) answer = answer_rows(plan, input, rows, result.rows);
    std::vector<Column> columns;
    for (std::size_t i = 0; i < plan.bound.outputs.size(); ++i) {
      const BoundOutput& output = plan.bound.outputs[i];
      if (output.kind == BoundOutput::Kind::row) {
        columns.push_back(row_column(result.rows, output.name));
      } else if (plan.late.empty()) {
        columns.push_back(result.table.column(static_cast<int>(i)));
      } else if (output.kind == BoundOutput::Kind::level) {
        columns.push_back(Column::own(output.name, std::vector<std::int32_t>(result.levels)));
      } else {
        columns.push_back(gather(output.expression, answer.table, answer.places, output.name));
      }
    }
    result.table = Table(std::move(columns));
  }

  AnswerRows answer_rows(const ReadPlan& plan, const Table& input, const std::vector<RowId>& rows,
                         const std::vector<RowId>& ids) {
    const auto [sorted_rows, places] = ascending(rows);
    const auto [sorted_ids, unused] = ascending(ids);
    late_charge_.emplace(state_, query_.location,
                         ColumnSizes(source_, plan.late).of_rows(static_cast<std::int64_t>(rows.size())));
    SourceRows late = source_.read_rows(sorted_ids, plan.late);
    late_charge_->finish_reading();
    bytes_ += late.bytes;
    std::vector<Column> columns = late.table.columns();
    for (const int column : plan.whole) {
      columns[static_cast<std::size_t>(column)] =
          gather(input.column(column), sorted_rows, input.column(column).name());
    }
    late_rows_ = static_cast<std::int64_t>(rows.size());
    return {Table(std::move(columns)), places};
  }

  /// Says in the plan what was read and what was not.
  void note(PlanNode& tree, const ReadPlan& plan) const {
    const auto join = [&](const std::vector<int>& columns) {
      std::string text;
      for (const int column : columns) text += (text.empty() ? "" : ", ") + source_.schema().column(column).name();
      return text;
    };
    const std::string all = join(query::columns_read(plan.bound));
    PlanNode* scan = &tree;
    while (!scan->children.empty()) scan = &scan->children.front();
    scan->detail = query_.from + (all.empty() ? "" : ": " + all);
    const auto units = static_cast<double>(source_.units().size());
    scan->statistics = {{"units", units},
                        {"units skipped", units - static_cast<double>(plan.units.size() - skipped_)},
                        {"bytes", static_cast<double>(source_.bytes())},
                        {"bytes read", static_cast<double>(bytes_)}};
    if (spilled_bytes_) scan->statistics.emplace_back("bytes spilled", static_cast<double>(*spilled_bytes_));
    RuleLog rules = plan.rules;
    if (!plan.late.empty()) {
      tree.detail.clear();
      for (const BoundOutput& output : plan.bound.outputs)
        tree.detail += (tree.detail.empty() ? "" : ", ") + output.name;
      rules.applied(Rule::late_columns, join(plan.late) + (late_rows_ ? " read for " + std::to_string(*late_rows_) +
                                                                            (*late_rows_ == 1 ? " row" : " rows")
                                                                      : " to be read for the rows of the answer"));
    }
    for (const RuleOutcome& outcome : rules.outcomes()) {
      const auto entry = std::ranges::find(tree.rules, outcome.rule, &RuleOutcome::rule);
      const bool is_ours =
          std::ranges::any_of(kRulesOfSources, [&](Rule rule) { return outcome.rule == name_of(rule); });
      if (is_ours && entry != tree.rules.end()) *entry = outcome;
    }
  }

  const EngineState& state_;
  const BoundQuery& query_;
  const Source& source_;
  const RunOptions& options_;
  Limits& limits_;
  std::unique_ptr<PartsRecord> record_;      // of the last attempt to answer by parts
  std::optional<SourceCharge> charge_;       // for columns that are read whole
  std::optional<SourceCharge> late_charge_;  // for those of the answer's rows
  double read_ms_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> spilled_bytes_;
  std::optional<std::int64_t> late_rows_;
  bool by_units_ = false;      // was tried
  bool parts_failed_ = false;  // within the whole limit, once there is a failure
  std::size_t skipped_ = 0;    // units, by what is known of the answer
};

}  // namespace

Result run_source(const EngineState& state, const BoundQuery& query, const Source& source, const RunOptions& options) {
  return limited_as_a_whole(query, options, state.timer, [&](const RunOptions& run, Limits& limits) {
    return SourceRun(state, query, source, run, limits).run();
  });
}

PlanNode explain_source(const EngineState& state, const BoundQuery& query, const Source& source,
                        const RunOptions& options) {
  return limited_as_a_whole(query, options, state.timer, [&](const RunOptions& run, Limits& limits) {
    return SourceRun(state, query, source, run, limits).explain();
  });
}

Partial partial_of_source(const StateSteps& steps, const Source& part, RowId first_row) {
  const BoundQuery& query = steps.query;
  const std::vector<int> columns = query::columns_read(query);
  const std::int64_t size = num_rows(part);
  const RowRange covers{first_row, first_row + size};
  return with_counted_copies(steps.engine, query.location, [&]() -> Partial {
    if (keeps_all(query) || !query.partition_columns.empty()) {
      const Partial all = partial_by_units(steps, part, columns, units_to_read(query, part), first_row);
      return {all.fingerprint(), {covers}, all.rows(), all.columns()};
    }
    std::vector<RowId> rows = run_source(steps.engine, candidates_query(query, size), part, steps.options).rows;
    std::ranges::sort(rows);
    const SourceRows read = steps.engine.on_threads(steps.options.stop, [&] { return part.read_rows(rows, columns); });
    std::vector<Column> chosen;
    for (const int column : columns) chosen.push_back(read.table.column(column));
    for (RowId& row : rows) row += first_row;
    Table table = chosen.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(chosen));
    return {steps.fingerprint, {covers}, std::move(rows), std::move(table)};
  });
}

}  // namespace skyrank::exec

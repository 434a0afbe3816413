#include "engine/parts/run_query.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/executor/run_whole.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/by_gpus.hpp"
#include "engine/parts/gpus/plan_table.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/by_codes.hpp"
#include "engine/parts/sources/by_parts.hpp"
#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/late_columns.hpp"
#include "engine/parts/sources/plan_source.hpp"
#include "engine/parts/sources/units_cost.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/parts_record.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

using query::BoundQuery;

/// A plan over a source that runs.
class SourceExecution {
 public:
  SourceExecution(const QueryContext& context, QueryPlan plan, const Source& source)
      : context_(context), plan_(std::move(plan)), source_(source) {}

  /// Returns nothing where the guess behind the division turns out wrong; `why_not` then says how.
  std::optional<Result> answer(std::string& why_not) {
    switch (plan_.division) {
      case Division::units: return answer_units(why_not);
      case Division::few_groups: return answer_few_groups(why_not);
      case Division::memory: return answer_parts();
      default: return answer_whole();
    }
  }

  /// Describes the plan, without running it.
  PlanNode explain() {
    PlanNode rows = plan_.division == Division::whole ? plan_of_whole() : plan_of_parts();
    return with_late_columns(context_, plan_, source_, std::move(rows));
  }

 private:
  const BoundQuery& query() const { return plan_.query; }

  /// Returns how parts of a query run, of which a record is kept.
  StateSteps recorded(const BoundQuery& query, PartsRecord& record) const {
    return {.context = context_, .query = query, .run = run_table, .record = &record};
  }

  /// Describes what is read of the source.
  NodeStatistics reading(std::uint64_t bytes, std::size_t skipped = 0) const {
    const auto units = static_cast<double>(source_.units().size());
    return {{"units", units},
            {"units skipped", units - static_cast<double>(plan_.units.size() - skipped)},
            {"bytes", static_cast<double>(source_.bytes())},
            {"bytes read", static_cast<double>(bytes)}};
  }

  /// Says how the rows came about that parts leave.
  TableOrigin origin_of(PlanNode parts, NodeStatistics read) const {
    parts.statistics.insert(parts.statistics.begin(), read.begin(), read.end());
    parts.reason = plan_.reason;
    if (plan_.division != Division::memory) parts.fallback = words_of(plan_.otherwise);
    return origin_of_parts(std::move(parts), source_outcomes(plan_.rules), plan_.rules.decisions());
  }

  std::shared_ptr<const TableOrigin> shared_origin_of(const PartsRecord& record, NodeStatistics read) const {
    const std::string detail = words_of_units(record.count()) + ", some read while others are answered";
    return std::make_shared<const TableOrigin>(origin_of(record.node(detail), std::move(read)));
  }

  OriginOfParts origin_of_states(const PartsRecord& record) {
    return [&](const ReadOfParts& parts) {
      NodeStatistics read = reading(parts.bytes);
      if (parts.spilled) {
        read.emplace_back("bytes spilled", static_cast<double>(parts.spilled->bytes));
        plan_.rules.applied(Rule::by_units, words_of_units(plan_.units.size()) + ": " + plan_.reason +
                                                "; groups spilled to a temporary file of " +
                                                std::to_string(parts.spilled->partitions) + " partitions");
      }
      return shared_origin_of(record, std::move(read));
    };
  }

  /// Reads columns of units, which count as memory as long as `charge` lives.
  SourceRows read(const std::vector<std::size_t>& units, std::optional<SourceCharge>& charge) {
    context_.limits.enter("reading the table");
    charge.emplace(context_.engine, query().location, ColumnSizes(source_, plan_.columns).of_units(units));
    SourceRows rows = source_.read(units, plan_.columns);
    charge->finish_reading();
    return rows;
  }

  int threads() const { return context_.engine.arena.max_concurrency(); }

  /// Returns the milliseconds that reading the source is expected to take.
  double predicted_read_ms() const { return 1e3 * read_seconds(source_, plan_.units, plan_.columns, threads()); }

  /// Returns the context of a query over rows of the source that were read.
  QueryContext over_read(std::uint64_t bytes) const {
    const std::string names = names_of(source_, plan_.columns);
    return context_.over(
        std::make_shared<const TableOrigin>(TableOrigin{.scan = query().from + (names.empty() ? "" : ": " + names),
                                                        .statistics = reading(bytes),
                                                        .predicted_ms = predicted_read_ms(),
                                                        .rules = source_outcomes(plan_.rules),
                                                        .decisions = plan_.rules.decisions()}));
  }

  Result answer_whole() {
    std::optional<SourceCharge> charge;
    Stopwatch watch;
    const SourceRows input = read(plan_.units, charge);
    const double read_ms = watch.lap();
    Result result = run_table(over_read(input.bytes), selection(plan_), input.table);
    finish_answer(context_, plan_, source_, input.table, nullptr, result);
    result.timing.read_ms = read_ms;
    return result;
  }

  std::optional<Result> answer_units(std::string& why_not) {
    PartsRecord record;
    const UnitsQuery units{recorded(selection(plan_), record), plan_.columns, plan_.units};
    Stopwatch watch;
    context_.limits.enter("answering units of the table");
    const std::optional<UnitRows> left = rows_by_units(units, source_);
    const double read_ms = watch.lap();
    if (!left) {
      why_not = "the units leave too many rows";
      return std::nullopt;
    }
    std::string outcome = std::to_string(left->rows.size()) + " rows left by " +
                          std::to_string(plan_.units.size() - left->skipped) + " units, " +
                          std::to_string(left->skipped) + " skipped";
    if (left->dominated > 0) outcome += "; known rows dominate " + std::to_string(left->dominated);
    plan_.rules.applied(Rule::by_units, outcome);
    const QueryContext rest = context_.over(shared_origin_of(record, reading(left->bytes, left->skipped)));
    Result result = run_table(rest, selection(plan_), left->table);
    finish_answer(context_, plan_, source_, left->table, &left->rows, result);
    result.timing.read_ms = read_ms;
    result.work += left->work;
    return result;
  }

  std::optional<Result> answer_few_groups(std::string& why_not) {
    PartsRecord record;
    context_.limits.enter("answering units of the table");
    const StateSteps steps = recorded(query(), record);
    if (plan_.coded) return answer_by_codes(steps, source_, plan_, origin_of_states(record), why_not);
    auto answer = answer_of_few_groups(steps, source_, plan_, origin_of_states(record));
    if (!answer) why_not = "the first units have many groups";
    return answer;
  }

  Result answer_parts() {
    PartsRecord record;
    context_.limits.enter("answering parts of the table");
    return answer_by_parts(recorded(query(), record), source_, plan_, origin_of_states(record));
  }

  PlanNode plan_of_whole() {
    std::optional<SourceCharge> charge;
    const SourceRows input = read(plan_.units, charge);
    const QueryInput table{.table = &input.table};
    const QueryContext context = over_read(input.bytes);
    return explain_plan(context, plan_query(context, selection(plan_), table), table);
  }

  /// Describes the plan of a query that is answered by parts, of which the first unit is read.
  PlanNode plan_of_parts() {
    const std::size_t units = plan_.units.size();
    std::optional<SourceCharge> charge;
    const SourceRows first = read({plan_.units.front()}, charge);
    const BoundQuery selected = selection(plan_);
    std::optional<PlanNode> candidates;
    if (!selected.group || selected.condition) {
      const BoundQuery part = candidates_query(selected, first.table.num_rows());
      candidates = explain_whole(context_, part, first.table);
    }
    PlanNode parts;
    parts.op = "parts";
    parts.detail = words_of_units(units) + "; the plan below is that of the first";
    parts.children.push_back(plan_of_part(selected, first.table, std::move(candidates)));
    if (selected.group) predict_groups(explain_whole(context_, selected, first.table), parts.children.front());
    const PlanNode& of_first = parts.children.front();
    const double times = expected_units(plan_, source_);
    const double beside = std::clamp(times, 1.0, static_cast<double>(threads()));
    parts.predicted_rows = of_first.predicted_rows * times;
    parts.predicted_rows_high = of_first.predicted_rows_high * static_cast<double>(units);
    parts.predicted_ms = predicted_ms(of_first) * times + predicted_read_ms() * times / static_cast<double>(units) +
                         1e3 * unit_cost::kUnitQuery * times / beside;
    return plan_of_merge("of the rows that the units leave", origin_of(std::move(parts), reading(first.bytes)));
  }

  /// Predicts the groups of a part as those of the query over it alone.
  static void predict_groups(const PlanNode& plan, PlanNode& groups) {
    if (plan.op == groups.op) {
      groups.predicted_rows = plan.predicted_rows;
      groups.predicted_rows_low = plan.predicted_rows_low;
      groups.predicted_rows_high = plan.predicted_rows_high;
      groups.predicted_ms = plan.predicted_ms;
      groups.predicted_bytes = plan.predicted_bytes;
    }
    for (const PlanNode& child : plan.children) predict_groups(child, groups);
  }

  /// Returns the milliseconds that a plan is expected to take.
  static double predicted_ms(const PlanNode& plan) {
    double ms = plan.predicted_ms;
    for (const PlanNode& child : plan.children) ms += predicted_ms(child);
    return ms;
  }

  const QueryContext& context_;
  QueryPlan plan_;
  const Source& source_;
};

/// Answers a query by a plan, or by the one that follows where its guess turns out wrong: `plan` then becomes that one.
Result run_once(const QueryContext& context, QueryPlan& plan, const QueryInput& input) {
  if (is_on_gpus(plan.division)) return answer_by_gpus(context, plan, *input.table);
  if (input.source == nullptr) return run_whole(context, plan.query, *input.table);
  std::string why_not;
  if (auto result = SourceExecution(context, plan, *input.source).answer(why_not)) return *std::move(result);
  plan = plan_otherwise(context.engine, plan, why_not);
  return SourceExecution(context, plan, *input.source).answer(why_not).value();
}

/// Returns the plan for less memory than one that did not fit: of a GPU, or of the engine's limit.
std::optional<QueryPlan> plan_for_less(const QueryContext& context, const QueryPlan& plan, const QueryInput& input,
                                       const ResourceError& refused) {
  if (input.source != nullptr) return smaller_plan(context.engine, plan);
  if (dynamic_cast<const GpuMemoryError*>(&refused) == nullptr) return std::nullopt;
  return smaller_plan(context, plan, *input.table);
}

/// Answers a query by ever smaller parts where memory does not suffice: what is decided by a limit must not make a
/// query fail that a lower one allows. `plan` becomes the one that ran last. Where none fits, the error is that of the
/// first.
Result run_within_memory(const QueryContext& context, QueryPlan& plan, const QueryInput& input) {
  try {
    return run_once(context, plan, input);
  } catch (const ResourceError& refused) {
    auto smaller = plan_for_less(context, plan, input, refused);
    while (smaller) {
      plan = *std::move(smaller);
      try {
        return run_once(context, plan, input);
      } catch (const ResourceError& again) {
        smaller = plan_for_less(context, plan, input, again);
      }
    }
    throw;
  }
}

/// Returns the plan over all rows, where a row has failed that another plan might not have looked at, or that has
/// another number in its part; nothing where this plan looks at all rows.
std::optional<QueryPlan> plan_over_all_rows(const QueryContext& context, const QueryPlan& plan, const QueryInput& input,
                                            const RowFailure& failure) {
  if (is_on_gpus(plan.division)) return QueryPlan{.query = query_on_host(plan.query)};
  if (input.source == nullptr || !leaves_out_rows(plan, *input.source)) return std::nullopt;
  return plan_all_rows(context.engine, plan, *input.source, failure.what());
}

}  // namespace

QueryPlan plan_query(const QueryContext& context, const BoundQuery& query, const QueryInput& input) {
  if (input.source == nullptr) return plan_table(context, query, *input.table);
  return context.on_threads(
      [&] { return plan_source(context.engine, query, *input.source, context.lists_candidates); });
}

Result run_plan(const QueryContext& context, QueryPlan plan, const QueryInput& input) {
  try {
    return run_within_memory(context, plan, input);
  } catch (const RowFailure& failure) {
    // Over all rows, the message names the one that fails first, or there is no error.
    auto all = plan_over_all_rows(context, plan, input, failure);
    if (!all) throw;
    plan = *std::move(all);
  }
  return run_within_memory(context, plan, input);
}

PlanNode explain_plan(const QueryContext& context, const QueryPlan& plan, const QueryInput& input) {
  if (is_on_gpus(plan.division)) return plan_of_gpus(context, plan, *input.table);
  if (input.source == nullptr) return explain_whole(context, plan.query, *input.table);
  return SourceExecution(context, plan, *input.source).explain();
}

Result run_table(const QueryContext& context, const BoundQuery& query, const Table& table) {
  const QueryInput input{.table = &table};
  return run_plan(context, plan_query(context, query, input), input);
}

Partial partial_of_source(const StateSteps& steps, const Source& part, RowId first_row) {
  const BoundQuery& query = steps.query;
  const std::vector<int> columns = query::columns_read(query);
  const std::int64_t size = num_rows(part);
  const RowRange covers{first_row, first_row + size};
  const QueryContext& context = steps.context;
  return with_counted_copies(context.engine, query.location, [&]() -> Partial {
    if (keeps_all(query) || !query.partition_columns.empty()) {
      const Partial all = partial_by_units(steps, part, columns, units_to_read(query, part), first_row);
      return {all.fingerprint(), {covers}, all.rows(), all.columns()};
    }
    const QueryInput input{.source = &part};
    const BoundQuery candidates = candidates_query(query, size);
    std::vector<RowId> rows = run_plan(context, plan_query(context, candidates, input), input).rows;
    std::ranges::sort(rows);
    const SourceRows read = context.on_threads([&] { return part.read_rows(rows, columns); });
    for (RowId& row : rows) row += first_row;
    return {steps.fingerprint, {covers}, std::move(rows), chosen_columns(read.table, columns)};
  });
}

}  // namespace skyrank::exec

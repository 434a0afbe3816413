#include "engine/parts/gpus/plan_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "engine/device/resident.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/executor/plan_whole.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/parts/gpus/team.hpp"
#include "engine/parts/gpus/turns.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/plan/tree.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/text.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/runtime/scope.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

using query::BoundQuery;

namespace {

/// Tables of fewer bytes fit every GPU, so that nothing need be asked about them.
constexpr double kFitsAny = 1 << 28;

/// Share of a GPU's memory, or of the limit on it, that a query may fill: estimates are not exact.
constexpr double kFill = 0.9;

/// Fewer rows at a time are not worth their own query, unless memory demands it.
constexpr double kMinStreamedRows = 1 << 22;

/// Parts that each GPU should take at least, as the first is not copied beside another's work.
constexpr double kStreamedParts = 16;

/// Seconds to answer parts on several GPUs beside the parts themselves, and for a row that they leave: its columns are
/// gathered on the host and sent to one of the GPUs.
constexpr double kMergeSeconds = 200e-6;
constexpr double kMergeSecondsPerRow = 130e-9;

/// Seconds that a team of GPUs takes beside its share of a skyline, and for a row of the skyline, which every GPU
/// copies and orders.
constexpr double kTeamSeconds = 400e-6;
constexpr double kTeamSecondsPerRow = 2e-9;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Bytes a second from pageable memory of the host to a GPU, as several threads stage them.
constexpr double kStagedRate = 30e9;

/// Bytes of a GPU's memory that a query needs for each row.
struct RowBytes {
  double columns = 0;  ///< columns that it reads
  double work = 0;     ///< keys, and what is made of them

  double all() const { return columns + work; }
};

/// Bytes of a key, of any type.
constexpr double kKey = 8;

/// Bytes of a skyline's keys, which all have those of the longest.
double bytes_of_keys(const PreferencePlan& preference, const Table& table) {
  constexpr double kShortKey = 4;
  const auto is_short = [&](const query::BoundPreference& term) {
    const bool as_it_is = term.kind == Preference::Kind::low || term.kind == Preference::Kind::high;
    if (!as_it_is || term.expression.column < 0) return false;
    const Column& column = table.column(term.expression.column);
    return !column.may_have_nulls() && column.data().layout == Layout::plain &&
           width_in_bytes(column.type().type) <= kShortKey;
  };
  return std::ranges::all_of(preference.terms, is_short) ? kShortKey : kKey;
}

RowBytes row_bytes(const BoundQuery& query, const Table& table) {
  constexpr double kCopies = 3;  // of the keys of a skyline
  constexpr double kOrder = 40;  // bytes for the order of its rows
  constexpr double kRowId = 8;
  RowBytes bytes;
  const auto rows = static_cast<double>(std::max<std::int64_t>(table.num_rows(), 1));
  for (const int index : columns_of_keys(query)) {
    const ColumnData& data = table.column(index).data();
    const double column =
        ResidentColumn::is_possible(data) ? static_cast<double>(ResidentColumn(data).bytes()) / rows : kKey;
    bytes.columns += column;
  }
  if (query.condition) bytes.work += kRowId;
  if (query.group) return bytes;
  if (query.preference) {
    const PreferencePlan preference = plan_preference(*query.preference);
    bytes.work += kCopies * bytes_of_keys(preference, table) * static_cast<double>(preference.terms.size()) + kOrder;
  } else if (!FusedKeys::fits(query, table) || FusedKeys::puts_null_first(query, table)) {
    bytes.work += 2 * kKey * static_cast<double>(query.ranking.size()) + kRowId;
  }
  return bytes;
}

/// Returns true if parts side by side do less work than the whole, and leave few rows to merge. Levels up to a number
/// of rows are far more levels of each part, and groups are made by the host.
bool gains_by_shares(const BoundQuery& query) {
  const bool is_reduced = query.preference || query.limit;
  return is_reduced && !query.group && !query.at_least && query.partition_columns.empty() &&
         query.path.algorithms.empty();
}

/// Expected seconds of a plan; infinite where no path fits.
double seconds_of(PhysicalPlan plan) {
  try {
    choose_paths(plan);
  } catch (const planner::NoPath&) {
    return kNever;
  }
  double ms = 0;
  for (const Operator* op : pipeline(plan)) ms += op->path ? op->path->predicted_ms : op->estimate.ms;
  return ms / 1e3;
}

PhysicalPlan as_expected(const PhysicalPlan& plan) { return plan; }

/// The planner's view of one query, in parts and as a whole.
class PartsPlanner {
 public:
  PartsPlanner(const QueryContext& context, const BoundQuery& query, const Table& table)
      : context_(context),
        engine_(context.engine),
        query_(query),
        table_(table),
        device_(engine_.device_of(query)),
        rows_(static_cast<double>(table.num_rows())),
        plan_{.query = query, .rules = RuleLog(engine_.rules_of(query)), .lists_candidates = context.lists_candidates} {
  }

  QueryPlan plan() && {
    divide();
    if (is_on_gpus(plan_.division)) plan_.rules.applied(Rule::device_parts, plan_.reason);
    return std::move(plan_);
  }

  std::optional<QueryPlan> smaller() && {
    if (!plan_.rules.rules().has(Rule::device_parts) || table_.num_rows() < 2) return std::nullopt;
    if (query_.counts_dominated_rows()) return std::nullopt;
    bytes_ = row_bytes(query_, table_);
    divide_into_turns("the memory of a GPU does not suffice for all rows");
    plan_.rules.applied(Rule::device_parts, plan_.reason);
    return std::move(plan_);
  }

 private:
  void divide() {
    if (device_ == DeviceChoice::cpu || table_.num_rows() < 2 || query_.counts_dominated_rows()) return;
    if (query_.skyband || !query_.measures.empty()) return;  // counted by one device
    const bool several = engine_.gpus.size() > 1;
    const bool may_be_large = engine_.options.gpu_memory_bytes > 0 || rows_ * table_.num_columns() * 16 > kFitsAny;
    if (!several && !may_be_large) return;
    if (!plan_.rules.rules().has(Rule::device_parts)) return;
    if (device_ == DeviceChoice::automatic && !engine_.may_use_gpu) return;
    if (is_on_a_gpu()) return;
    bytes_ = row_bytes(query_, table_);
    if (several && gains_by_shares(query_)) in_shares();
    if (is_on_gpus(plan_.division) || !may_be_large || is_grouped_without_condition()) return;
    in_turns();
  }

  bool is_grouped_without_condition() const { return query_.group && !query_.condition; }

  /// Returns true if a caller has a column that the query reads on a GPU only: it is there as a whole.
  bool is_on_a_gpu() const {
    return std::ranges::any_of(columns_of_keys(query_),
                               [&](int column) { return device_only_values(table_.column(column).data()) != nullptr; });
  }

  /// Bytes of a GPU's memory that there are for a query. Asks the driver.
  double room() const {
    double bytes = engine_.gpu_bytes(engine_.gpu(0));
    for (std::size_t i = 1; i < engine_.gpus.size(); ++i) bytes = std::min(bytes, engine_.gpu_bytes(engine_.gpu(i)));
    return kFill * bytes;
  }

  /// Plans the query over some rows, on the engine's threads.
  PhysicalPlan planned(DeviceChoice device, const Table& rows, const kernels::cuda::SelectedDevice& gpu) const {
    BoundQuery query = query_;
    query.path.device = device;
    const QueryContext there = context_.on(gpu);
    return there.on_threads([&] {
      const kernels::AccountScope counted(engine_.memory.get());
      return plan_whole(there, query, rows);
    });
  }

  /// Plans the whole table on the engine's first GPU or the CPU.
  PhysicalPlan plan_of_whole(DeviceChoice device) const { return planned(device, table_, engine_.gpu(0)); }

  /// Plans a part of the table on a GPU.
  PhysicalPlan plan_of_part(const Table& part, int gpu) const {
    kernels::cuda::SelectedDevice device = engine_.gpu(0);
    device.ordinal = gpu;
    device.may_fail = true;
    return planned(DeviceChoice::cuda, part, device);
  }

  std::string gpus_in_words() const {
    std::string text;
    for (const int gpu : engine_.gpus) text += (text.empty() ? "" : ", ") + std::to_string(gpu);
    return text;
  }

  /// Plans a share of the rows for each GPU, where that pays.
  void in_shares() {
    const auto count = static_cast<double>(engine_.gpus.size());
    auto spread = spread_parts(engine_, table_, columns_of_keys(query_));
    const std::string words = "GPUs " + gpus_in_words();
    // A ranking leaves too few rows for a price to matter.
    if (spread && device_ == DeviceChoice::cuda && !query_.preference) {
      return divide_into_shares(Division::shares, std::move(*spread), "the rows lie on " + words);
    }
    if (device_ == DeviceChoice::automatic && !spread && !has_asked_driver() &&
        !uses_gpu(plan_of_whole(DeviceChoice::automatic))) {
      return;
    }
    if (!has_usable_gpu()) return;
    require_known(engine_.gpus);
    if (!spread && rows_ / count * bytes_.all() > room()) return;
    TableParts shares = spread ? std::move(*spread) : split_over_gpus(engine_, table_);
    const double apart = seconds_of_shares(shares, as_expected);
    const PhysicalPlan plan = plan_of_whole(device_);
    const std::optional<std::string> no_team = why_no_team(plan);
    const double together = no_team ? kNever : seconds_of_team(plan, shares.tables.size());
    const double whole = seconds_of(plan);
    const bool divides = prefers_parts(
        {together < apart ? "GPUs as a team" : "GPUs apart", std::min(apart, together)}, {"one device", whole}, [&] {
          const PhysicalPlan high = plan_at_high(plan);
          return std::pair(
              together < apart ? seconds_of_team(high, shares.tables.size()) : seconds_of_shares(shares, plan_at_high),
              seconds_of(high));
        });
    if (!divides) return;
    std::string reason = "expected to take " + in_words(std::min(apart, together)) + " on " + words + " and " +
                         in_words(whole) + " otherwise";
    if (together < apart) {
      reason += "; as a team, which is expected to gain on parts that take " + in_words(apart);
    } else if (query_.preference) {
      reason += "; not as a team: " + no_team.value_or("that is expected to take " + in_words(together));
    }
    divide_into_shares(together < apart ? Division::team : Division::shares, std::move(shares), std::move(reason));
  }

  static std::string in_words(double seconds) {
    constexpr double kScale = 1e3;  // three digits of a millisecond
    return format_number(std::round(seconds * 1e3 * kScale) / kScale) + " ms";
  }

  /// Expected seconds of the whole by all GPUs together: each has its share of the skyline's work. Infinite where the
  /// algorithm of teams is not the one that is planned.
  double seconds_of_team(PhysicalPlan plan, std::size_t gpus) const {
    const double whole = seconds_of(plan);
    if (std::isinf(whole)) return kNever;
    choose_paths(plan);
    const Operator& skyline = plan.operators.skyline.front();
    if (!skyline.path || skyline.path->algorithm != kTeamAlgorithm) return kNever;
    const double divided = skyline.path->predicted_ms / 1e3;
    return whole - divided + divided / static_cast<double>(gpus) + kTeamSeconds +
           skyline.estimate.rows.expected * kTeamSecondsPerRow;
  }

  /// Expected seconds of the largest share on its GPU, and of merging what all leave.
  double seconds_of_shares(const TableParts& shares, PhysicalPlan (*at)(const PhysicalPlan&)) const {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < shares.tables.size(); ++i) {
      if (shares.tables[i].num_rows() > shares.tables[largest].num_rows()) largest = i;
    }
    const PhysicalPlan plan = at(plan_of_part(shares.tables[largest], shares.devices[largest]));
    const double left = plan.operators.gather.estimate.rows.expected * static_cast<double>(shares.tables.size());
    return seconds_of(plan) + kMergeSeconds + left * kMergeSecondsPerRow;
  }

  /// Plans parts one after the other, where the table does not fit a GPU.
  void in_turns() {
    const double needed = rows_ * bytes_.all();
    if (engine_.options.gpu_memory_bytes == 0 && needed < kFitsAny) return;
    if (device_ == DeviceChoice::automatic && !pays_in_turns()) return;
    if (!has_usable_gpu()) return;
    require_known(engine_.gpus);
    if (needed <= room()) return;
    if (device_ == DeviceChoice::automatic) {
      const Table first = rows_of(table_, 0, std::min(rows_at_a_time(), table_.num_rows()));
      if (std::isinf(seconds_of(plan_of_part(first, engine_.gpus.front())))) return;
    }
    divide_into_turns("the query needs about " + words_of_bytes(needed) + " of a GPU's memory, of which it may use " +
                      words_of_bytes(room()));
  }

  /// Returns true if the way to the GPUs is expected to take less time than the CPU does.
  bool pays_in_turns() {
    const auto count = static_cast<double>(engine_.gpus.size());
    const double copied = rows_ * bytes_.columns / (kStagedRate * count) + kMergeSeconds;
    const PhysicalPlan host = plan_of_whole(DeviceChoice::cpu);
    return prefers_parts({"turns of the GPUs", copied}, {"on the CPU", seconds_of(host)},
                         [&] { return std::pair(copied, seconds_of(plan_at_high(host))); });
  }

  /// Returns true if the table is to be divided. `at_high` returns the seconds of both ways where more rows come than
  /// expected.
  template <class AtHigh>
  bool prefers_parts(const Way& parts, const Way& whole, const AtHigh& at_high) {
    return prefers_first(plan_.rules, plan_.lists_candidates, Rule::device_parts, parts, whole, at_high);
  }

  std::int64_t rows_at_a_time() const {
    const auto count = static_cast<double>(engine_.gpus.size());
    // The columns of two parts: one is copied while the other is computed.
    double rows = room() / (2 * bytes_.columns + bytes_.work);
    rows = std::min(rows, std::max(kMinStreamedRows, rows_ / (kStreamedParts * count)));
    const auto at_a_time = static_cast<std::int64_t>(std::min(rows, rows_)) / kRowAlignment * kRowAlignment;
    return std::max(at_a_time, kRowAlignment);
  }

  void divide_into_turns(std::string reason) {
    plan_.division = Division::turns;
    plan_.rows_at_a_time = rows_at_a_time();
    plan_.reason = std::move(reason);
  }

  void divide_into_shares(Division division, TableParts parts, std::string reason) {
    plan_.division = division;
    plan_.otherwise = Division::shares;
    plan_.parts = std::move(parts);
    plan_.reason = std::move(reason);
  }

  const QueryContext& context_;
  const EngineState& engine_;
  const BoundQuery& query_;
  const Table& table_;
  const DeviceChoice device_;
  const double rows_;
  RowBytes bytes_;
  QueryPlan plan_;
};

}  // namespace

QueryPlan plan_table(const QueryContext& context, const BoundQuery& query, const Table& table) {
  try {
    return PartsPlanner(context, query, table).plan();
  } catch (const kernels::Cancelled&) {  // the query as a whole meets the same, and says so
  } catch (const std::bad_alloc&) {
  }
  return {.query = query};
}

std::optional<QueryPlan> smaller_plan(const QueryContext& context, const QueryPlan& plan, const Table& table) {
  if (plan.division != Division::whole) return std::nullopt;
  return PartsPlanner(context, plan.query, table).smaller();
}

BoundQuery query_on_host(const BoundQuery& query) {
  BoundQuery host = query;
  host.path.device = DeviceChoice::cpu;
  host.path.algorithms.clear();
  host.path.parameters.clear();
  return host;
}

}  // namespace skyrank::exec

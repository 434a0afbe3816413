#include "engine/parts/sources/by_units.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/skyline/dominators.hpp"
#include "engine/parts/sources/corners.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/runtime/side_by_side.hpp"

namespace skyrank::exec {
namespace {

using query::BoundExpression;
using query::BoundNode;
using query::BoundPreference;
using query::BoundPtr;
using query::Op;

/// Below so many rows, planning a query for each unit takes longer than reading.
constexpr std::int64_t kMinRows = std::int64_t{1} << 17;
/// Units that leave more than one row in so many do not make the rest of the query cheaper.
constexpr std::int64_t kMinReduction = 4;
/// A unit is read in part where zones of at least one row in so many can be left out.
constexpr std::int64_t kMinZones = 4;

/// Rows that a ranking takes of each unit.
std::int64_t rows_to_keep(const query::BoundQuery& query) {
  const std::int64_t limit = query.limit.value_or(0);
  return limit > kMinRows || query.offset > kMinRows ? 2 * kMinRows : query.offset + limit;
}

bool is_bounded(Type type) { return is_numeric(type) || is_temporal(type) || type == Type::string; }

/// A row's value as a literal, if it is not NaN. It is not NULL.
BoundPtr literal_of(const Column& column, std::int64_t row, const BoundNode& operand) {
  BoundNode node;
  node.value = column.value(row);
  if (const double* number = std::get_if<double>(&node.value); number != nullptr && std::isnan(*number)) return nullptr;
  // Integers are what the value says, as small ones of uint64 come as int64.
  node.type = std::holds_alternative<std::int64_t>(node.value)    ? DataType(Type::int64)
              : std::holds_alternative<std::uint64_t>(node.value) ? DataType(Type::uint64)
                                                                  : operand.type;
  return std::make_shared<const BoundNode>(std::move(node));
}

}  // namespace

std::vector<Order> orders_of(const query::BoundQuery& query, const Table& schema) {
  // Bounds of strings are those of their bytes.
  const auto is_column = [&](const BoundExpression& expression) {
    return expression.column >= 0 && is_bounded(expression.type.type) &&
           order_of(schema.column(expression.column).data()) == nullptr;
  };
  if (!query.preference) {
    const query::BoundRankTerm& first = query.ranking.front();
    return is_column(first.expression) ? std::vector<Order>{{&first.expression, first.high, first.nulls_first}}
                                       : std::vector<Order>{};
  }
  if (query.levels.value_or(1) > 1 || query.skyband) return {};
  std::vector<Order> orders;
  const auto add = [&](const BoundPreference& term) {
    const bool is_simple = term.kind == Preference::Kind::low || term.kind == Preference::Kind::high;
    if (!is_simple || !is_column(term.expression)) return false;
    orders.push_back({&term.expression, (term.kind == Preference::Kind::high) != term.inverted, term.nulls_first});
    return true;
  };
  const BoundPreference& preference = *query.preference;
  if (preference.kind != Preference::Kind::pareto) return add(preference) ? orders : std::vector<Order>{};
  return std::ranges::all_of(preference.children, add) ? orders : std::vector<Order>{};
}

namespace {

/// Returns true if rows may be left out for their values in the columns alone: no other row must be looked at, as no
/// expression fails on one.
bool may_leave_out_rows(const query::BoundQuery& query) {
  const auto fails = [](const query::BoundRankTerm& term) { return !never_fails(term.expression); };
  return query.preference && (!query.condition || never_fails(*query.condition)) &&
         std::ranges::none_of(query.ranking, fails);
}

/// Rows of a unit that were read.
struct UnitPart {
  bool is_whole() const { return !ids.has_value(); }
  RowId id(RowId row) const { return ids ? (*ids)[static_cast<std::size_t>(row)] : covers.begin + row; }

  RowRange covers;                        ///< the rows of the unit
  std::optional<std::vector<RowId>> ids;  ///< rows that were read; nothing: all of them
  SourceRows rows;
};

/// Tells from the units that were tried if zones are worth looking at.
class ZonesTried {
 public:
  bool pay_off() const { return units_ < kUnits || left_ < rows_ - rows_ / kMinZones; }

  void tried(std::int64_t rows, std::int64_t left) {
    ++units_;
    rows_ += rows;
    left_ += left;
  }

 private:
  static constexpr int kUnits = 3;

  std::atomic<int> units_ = 0;
  std::atomic<std::int64_t> rows_ = 0;
  std::atomic<std::int64_t> left_ = 0;
};

/// The answer over a unit.
struct UnitAnswer {
  Partial partial;
  Table table;    ///< rows of the unit that the query was asked of,
  Result result;  ///< and its answer, without a table
};

/// One query over the units of a source.
class UnitsRun {
 public:
  UnitsRun(const UnitsQuery& query, const Source& source)
      : query_(query),
        bound_(query.steps.query),
        source_(source),
        steps_(query.steps),
        unrecorded_steps_(query.steps),
        units_(steps_.context.engine, bound_.location, source, query.columns),
        orders_(orders_of(bound_, source.schema())),
        leaves_out_rows_(!orders_.empty() && may_leave_out_rows(bound_)),
        corners_(leaves_out_rows_ ? corners_of_units(source, orders_) : std::nullopt),
        threads_(units_.threads(query.units)),
        pruner_(source),
        pending_(query.units),
        out_(source.units().size(), false),
        dominators_(std::make_shared<const Dominators>(orders_)) {
    steps_.charge = [this](std::size_t rows) { return units_.charge_rows(rows); };
    unrecorded_steps_.record = nullptr;
    // The cores that decode a unit rank it sooner than it could be sent to a GPU.
    if (steps_.context.engine.uses_gpu_now(bound_.path.device)) {
      steps_.query.path.device = unrecorded_steps_.query.path.device = DeviceChoice::cpu;
    }
    order_units();
  }

  std::optional<UnitRows> run() {
    run_side_by_side(threads_, [this] { work(); });
    failure_.rethrow();
    if (gives_up()) return std::nullopt;
    return result();
  }

 private:
  /// The units with the best values first, by the sum of their places in the columns, so that they tell which others
  /// matter.
  void order_units() {
    std::vector<std::size_t> places(source_.units().size(), 0);
    for (const Order& order : orders_) add_places(order, places);
    std::ranges::stable_sort(pending_, {}, [&](std::size_t unit) { return places[unit]; });
  }

  /// Adds to each unit's sum its place among all by its best value in a column, if that is known.
  void add_places(const Order& order, std::vector<std::size_t>& places) const {
    const auto statistics = source_.statistics(order.expression->column);
    if (!statistics) return;
    const Column best = (order.high ? statistics->max : statistics->min).renamed("best");
    // The best value of a unit with a NULL is that one.
    const Table table(order.nulls_first ? std::vector{has_nulls(*statistics), best} : std::vector{best});
    query::BoundQuery by_best;
    by_best.path.device = DeviceChoice::cpu;
    if (order.nulls_first) by_best.null_rule = Missing::best;
    for (int i = 0; i < table.num_columns(); ++i) {
      const bool is_flag = i + 1 < table.num_columns();
      by_best.ranking.push_back({column_expression(table, i), order.high || is_flag, order.nulls_first});
    }
    const Result ranked = run_whole(steps_.context, by_best, table);
    for (std::size_t i = 0; i < ranked.rows.size(); ++i) places[static_cast<std::size_t>(ranked.rows[i])] += i;
  }

  /// Returns a column with true for the units that may have a NULL in the column of the statistics.
  Column has_nulls(const UnitStatistics& statistics) const {
    std::vector<bool> any;
    for (const auto& nulls : statistics.nulls) any.push_back(!nulls || *nulls > 0);
    return Column::own("nulls", any);
  }

  void work() {
    while (const auto unit = next()) {
      try {
        answer(*unit);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        failure_.keep(*unit);
      }
    }
  }

  bool gives_up() const { return seen_ >= kMinRows && kept_ > seen_ / kMinReduction; }

  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    if (failure_.has_value() || gives_up()) return std::nullopt;
    while (next_ < pending_.size()) {
      const std::size_t unit = pending_[next_++];
      if (!out_[unit]) return unit;
      ++skipped_;
    }
    return std::nullopt;
  }

  void answer(std::size_t unit) {
    SourceCharge charge = units_.charge_unit(unit);
    const auto known = dominators();
    const UnitPart part = read(unit, *known);
    charge.finish_reading();
    if (part.rows.table.num_rows() == 0 && !part.is_whole()) return skip(part.rows.bytes);
    UnitAnswer found = answer_over(part, known);
    const std::vector<BoundExpression> conditions = conditions_after(found.table, found.result);
    const auto kept = static_cast<std::int64_t>(found.partial.rows().size());
    const std::int64_t rows = part.covers.end - part.covers.begin;
    const std::scoped_lock lock(mutex_);
    left_.combine(std::move(found.partial));
    seen_ += rows;
    kept_ += kept;
    dominated_ += rows - found.table.num_rows();
    bytes_ += part.rows.bytes;
    work_ += found.result.work;
    for (const BoundExpression& condition : conditions) leave_out_units_without(condition);
    if (!leaves_out_rows_) return;
    auto dominators = std::make_shared<Dominators>(*dominators_);
    dominators->learn(part.rows.table, found.table, found.result.rows);
    if (corners_) leave_out_units_but(dominators->corners_left(*corners_));
    dominators_ = std::move(dominators);
  }

  void skip(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    ++skipped_;
    bytes_ += bytes;
  }

  std::shared_ptr<const Dominators> dominators() {
    const std::scoped_lock lock(mutex_);
    return dominators_;
  }

  /// Reads a unit, but for zones all of whose rows known ones dominate, where these are many.
  UnitPart read(std::size_t unit, const Dominators& known) {
    const std::int64_t rows = source_.units()[unit].rows;
    UnitPart part{.covers = {units_.begin(unit), units_.begin(unit) + rows}, .ids = {}, .rows = {}};
    std::uint64_t bytes = 0;
    if (const auto ranges = ranges_to_read(unit, known, bytes)) {
      auto& ids = part.ids.emplace();
      for (const RowRange& range : *ranges) {
        for (RowId row = range.begin; row < range.end; ++row) ids.push_back(part.covers.begin + row);
      }
      part.rows = source_.read_rows(ids, query_.columns);
    } else {
      const std::size_t units[] = {unit};
      part.rows = source_.read(units, query_.columns);
    }
    part.rows.bytes += bytes;
    return part;
  }

  /// Returns the ranges of a unit that known rows leave; nothing where they leave most of it.
  std::optional<std::vector<RowRange>> ranges_to_read(std::size_t unit, const Dominators& known, std::uint64_t& bytes) {
    if (!leaves_out_rows_ || known.empty() || !zones_.pay_off()) return std::nullopt;
    auto ranges = ranges_left(source_, unit, orders_, known, bytes);
    std::int64_t left = 0;
    for (const RowRange& range : ranges.value_or(std::vector<RowRange>())) left += range.end - range.begin;
    const std::int64_t rows = source_.units()[unit].rows;
    const bool is_less = ranges && left < rows - rows / kMinZones;
    zones_.tried(rows, is_less ? left : rows);
    if (!is_less) return std::nullopt;
    return ranges;
  }

  /// Answers the query over rows of a unit; without those that known ones dominate, where these are many.
  UnitAnswer answer_over(const UnitPart& part, std::shared_ptr<const Dominators> known) {
    if (leaves_out_rows_ && known->empty()) known = dominators_of_sample(part);
    const Table& table = part.rows.table;
    if (known->empty()) return answer_over_all(part);
    const std::vector<RowId> rows = known->not_dominated(table);
    if (part.is_whole() && static_cast<std::int64_t>(rows.size()) > table.num_rows() / 2) return answer_over_all(part);
    return answer_over_rows(steps_, part, rows);
  }

  UnitAnswer answer_over_all(const UnitPart& part) const {
    const Table& table = part.rows.table;
    std::vector<Result> runs;
    Partial partial = partial_of(steps_, table, part.covers.begin, &runs);
    return {std::move(partial), table, std::move(runs.front())};
  }

  UnitAnswer answer_over_rows(const StateSteps& steps, const UnitPart& part, std::span<const RowId> rows) const {
    Table left = gather_read(part.rows.table, query_.columns, rows);
    StateRows state{{}, chosen_columns(left, query_.columns)};
    for (const RowId row : rows) state.rows.push_back(part.id(row));
    std::vector<Result> runs;
    Partial partial = partial_of(steps, state, part.covers, &runs);
    return {std::move(partial), std::move(left), std::move(runs.front())};
  }

  /// Rows of the skyline of a sample, for units that are read when nothing is known.
  std::shared_ptr<const Dominators> dominators_of_sample(const UnitPart& part) const {
    const Table& table = part.rows.table;
    constexpr std::int64_t kRows = 4096;
    constexpr std::int64_t kMinStep = 8;
    auto dominators = std::make_shared<Dominators>(orders_);
    const std::int64_t step = table.num_rows() / kRows;
    if (step < kMinStep) return dominators;
    std::vector<RowId> rows;
    for (std::int64_t i = 0; i < kRows; ++i) rows.push_back(i * step);
    const UnitAnswer sample = answer_over_rows(unrecorded_steps_, part, rows);
    dominators->learn(table, sample.table, sample.result.rows);
    return dominators;
  }

  /// Conditions that a row outside of the unit meets if it can be in the answer beside the unit's best rows.
  std::vector<BoundExpression> conditions_after(const Table& table, const Result& result) const {
    if (orders_.empty() || result.rows.empty()) return {};
    std::vector<BoundExpression> conditions;
    if (!bound_.preference) {
      const auto last = static_cast<std::size_t>(rows_to_keep(bound_));
      if (last > 0 && result.rows.size() >= last) add_condition(table, result.rows[last - 1], conditions);
      return conditions;
    }
    // A few of the skyline's rows, from all over it, as one row in the middle rules most out.
    constexpr std::size_t kRows = 8;
    const std::size_t step = std::max<std::size_t>(1, result.rows.size() / kRows);
    for (std::size_t i = step / 2; i < result.rows.size(); i += step) add_condition(table, result.rows[i], conditions);
    return conditions;
  }

  /// Returns "as good as `row` in the column", or null where that is said of all rows.
  static BoundPtr as_good_as(const Table& table, RowId row, const Order& order) {
    const BoundPtr& operand = order.expression->root;
    const Column& column = table.column(order.expression->column);
    BoundPtr null = order.nulls_first ? make_condition(Op::is_null, {operand}) : nullptr;
    if (column.is_null(row)) return null;
    const BoundPtr value = literal_of(column, row, *operand);
    if (value == nullptr) return nullptr;
    BoundPtr as_good = make_condition(order.high ? Op::greater_equal : Op::less_equal, {operand, value});
    if (null == nullptr) return as_good;
    return make_condition(Op::logical_or, {std::move(null), std::move(as_good)});
  }

  /// Adds "as good as `row` in one of the columns", unless that is said of all rows.
  void add_condition(const Table& table, RowId row, std::vector<BoundExpression>& conditions) const {
    BoundPtr any;
    for (const Order& order : orders_) {
      BoundPtr as_good = as_good_as(table, row, order);
      if (as_good == nullptr) return;
      any = any == nullptr ? std::move(as_good) : make_condition(Op::logical_or, {std::move(any), std::move(as_good)});
    }
    BoundExpression condition;
    condition.type = Type::boolean;
    condition.root = std::move(any);
    conditions.push_back(std::move(condition));
  }

  void leave_out_units_without(const BoundExpression& condition) {
    leave_out_units_but(pruner_.units_with(condition).units);
  }

  void leave_out_units_but(const auto& units) {
    std::vector<bool> in(out_.size(), false);
    for (const auto unit : units) in[static_cast<std::size_t>(unit)] = true;
    for (std::size_t unit = 0; unit < in.size(); ++unit) {
      if (!in[unit]) out_[unit] = true;
    }
  }

  UnitRows result() {
    CountedRows left = std::move(left_).rows();
    return {.table = in_schema(source_.schema(), left.state.columns, query_.columns),
            .rows = std::move(left.state.rows),
            .skipped = skipped_,
            .dominated = dominated_,
            .bytes = bytes_,
            .work = work_,
            .charges = std::move(left.charges)};
  }

  const UnitsQuery& query_;
  const query::BoundQuery& bound_;
  const Source& source_;
  StateSteps steps_;
  StateSteps unrecorded_steps_;  // for samples
  const QueryUnits units_;
  const std::vector<Order> orders_;
  const bool leaves_out_rows_;
  const std::optional<std::vector<Column>> corners_;  // by order, a row for each unit
  const std::size_t threads_;

  ZonesTried zones_;
  std::mutex mutex_;  // over all that follows
  UnitPruner pruner_;
  std::vector<std::size_t> pending_;  // units in the order in which they are read
  std::size_t next_ = 0;
  std::vector<bool> out_;  // by unit: it cannot hold a better row than is known
  std::size_t skipped_ = 0;
  std::shared_ptr<const Dominators> dominators_;
  std::int64_t dominated_ = 0;
  QueryState left_{steps_, Doubling::never()};
  std::int64_t seen_ = 0;
  std::int64_t kept_ = 0;
  std::uint64_t bytes_ = 0;
  Work work_;
  FirstFailure failure_;
};

}  // namespace

std::optional<std::string> reason_against_units(const EngineState& engine, const query::BoundQuery& query,
                                                const Source& source, const std::vector<std::size_t>& units) {
  const bool is_ranking = !query.ranking.empty() && query.limit;
  if (query.group || query.at_least || (!query.preference && !is_ranking)) {
    return "units do not tell which rows are in the answer";
  }
  if (query.counts_dominated_rows()) return "rows are picked by the rows that they dominate";
  if (query.measures_all_rows()) return "measures of rows are of all rows";
  // Partitions come in the order of their first rows, which units may not leave.
  if (!query.partition_columns.empty()) return "the order of partitions is that of all rows";
  if (query.nan_rule == Missing::error || query.null_rule == Missing::error) return "all rows have to be looked at";
  if (!query.path.algorithms.empty() || !query.path.parameters.empty()) return "the path is forced";
  const bool may_rank_here = !query.preference && engine.device_of(query) == DeviceChoice::automatic;
  if (engine.uses_gpu_now(query.path.device) && !may_rank_here) return "a GPU takes part";
  const std::int64_t rows = rows_of(source, units);
  if (units.size() < 2 || rows < kMinRows) return "there are too few rows";
  if (!query.preference && rows_to_keep(query) > rows / std::ssize(units) / kMinReduction)
    return "the answer is too large";
  return std::nullopt;
}

std::optional<UnitRows> rows_by_units(const UnitsQuery& query, const Source& source) {
  return UnitsRun(query, source).run();
}

}  // namespace skyrank::exec

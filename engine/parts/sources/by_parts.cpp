#include "engine/parts/sources/by_parts.hpp"

#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/sources/side_by_side.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

/// One query over the units of a source, of which some are read while others are answered.
class PartsRun {
 public:
  /// The source begins at `first_row` of the whole table.
  PartsRun(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
           const std::vector<int>& columns, const std::vector<std::size_t>& units, RowId first_row,
           const RunOptions& options)
      : state_(state),
        source_(source),
        columns_(columns),
        options_(options),
        units_(state, query, source, columns, first_row),
        steps_{.engine = engine,
               .query = query,
               .options = options,
               .charge = [this](std::size_t rows) { return units_.charge_rows(rows); }},
        threads_(units_.threads(units)),
        pending_(units.rbegin(), units.rend()) {}

  /// Returns the state of all rows.
  QueryState& run() {
    run_side_by_side(threads_, [this] { work(); });
    failure_.rethrow();
    return seen_;
  }

  PartsAnswer answer() {
    PartsAnswer answer;
    Stopwatch watch;
    run();
    answer.bytes = bytes_;
    answer.read_ms = watch.lap();
    answer.result = seen_.finalize();
    return answer;
  }

  /// The same where the first unit leaves so few rows that combining them costs less than reading whole columns;
  /// nothing elsewhere.
  std::optional<PartsAnswer> answer_of_few() {
    constexpr std::size_t kShare = 256;
    const std::size_t unit = pending_.back();
    pending_.pop_back();
    answer_unit(unit);
    if (kShare * seen_.num_rows() > static_cast<std::size_t>(source_.units()[unit].rows)) return std::nullopt;
    return answer();
  }

 private:
  void work() {
    begin();
    while (const auto unit = next()) {
      try {
        answer_unit(*unit);
      } catch (const ResourceError&) {
        if (give_back(*unit)) return;
        fail(*unit);
      } catch (...) {
        fail(*unit);
      }
    }
  }

  void begin() {
    const std::scoped_lock lock(mutex_);
    ++active_;
  }

  /// The next unit; nothing once the calling thread is to end.
  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    if (failure_.has_value() || pending_.empty()) {
      --active_;
      return std::nullopt;
    }
    const std::size_t unit = pending_.back();
    pending_.pop_back();
    return unit;
  }

  void answer_unit(std::size_t unit) {
    SourceCharge charge = units_.charge_unit(unit);
    SourceRows read;
    state_.admission.run(options_.stop, [&] { read = source_.read(std::span(&unit, 1), columns_); });
    charge.finish_reading();
    QueryState of_unit(steps_);
    of_unit.sink(read.table, units_.begin(unit));
    const std::scoped_lock lock(mutex_);
    seen_.combine(std::move(of_unit));
    bytes_ += read.bytes;
  }

  /// Leaves a unit that did not fit beside those of other threads to them, and ends the calling thread. Returns false
  /// where there are no others.
  bool give_back(std::size_t unit) {
    const std::scoped_lock lock(mutex_);
    if (active_ == 1) return false;
    pending_.push_back(unit);
    --active_;
    return true;
  }

  /// Keeps the failure that comes first in the order of rows: units begin in that order, and those that have begun end.
  void fail(std::size_t unit) {
    const std::scoped_lock lock(mutex_);
    failure_.keep(unit);
  }

  const EngineState& state_;
  const Source& source_;
  const std::vector<int>& columns_;
  const RunOptions& options_;
  const QueryUnits units_;
  const StateSteps steps_;
  const std::size_t threads_;

  std::mutex mutex_;                  // over all that follows
  std::vector<std::size_t> pending_;  // the next unit last
  std::size_t active_ = 0;            // threads that will ask for a unit
  QueryState seen_{steps_};
  std::uint64_t bytes_ = 0;
  FirstFailure failure_;
};

}  // namespace

PartsAnswer answer_by_parts(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                            const std::vector<int>& columns, const std::vector<std::size_t>& units,
                            const RunOptions& options) {
  return PartsRun(engine, state, query, source, columns, units, 0, options).answer();
}

std::optional<PartsAnswer> answer_of_few_groups(const Engine& engine, const EngineState& state, const Query& query,
                                                const Source& source, const std::vector<int>& columns,
                                                const std::vector<std::size_t>& units, const RunOptions& options) {
  return PartsRun(engine, state, query, source, columns, units, 0, options).answer_of_few();
}

Partial partial_by_units(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                         const std::vector<int>& columns, const std::vector<std::size_t>& units, RowId first_row,
                         const RunOptions& options) {
  if (units.empty()) return engine.partial(query, source.schema(), first_row, options);
  return PartsRun(engine, state, query, source, columns, units, first_row, options).run().partial().value();
}

}  // namespace skyrank::exec

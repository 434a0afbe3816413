#include "engine/parts/sources/by_parts.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/parts/states/spilled_groups.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

/// One query over the units of a source, of which some are read while others are answered.
class PartsRun {
 public:
  /// The source begins at `first_row` of the whole table.
  PartsRun(StateSteps steps, const Source& source, const std::vector<int>& columns,
           const std::vector<std::size_t>& units, RowId first_row, std::size_t room)
      : steps_(std::move(steps)),
        state_(steps_.context.engine),
        source_(source),
        columns_(columns),
        units_(state_, steps_.query.location, source, columns, first_row),
        room_(room),
        threads_(units_.threads(units, room)),
        pending_(units),
        rows_(rows_of(source, units)) {
    steps_.charge = [this](std::size_t rows) { return units_.charge_rows(rows); };
  }

  /// Groups that do not fit memory may go to a temporary file; the answer is then to be asked for.
  PartsRun& with_spilling() {
    may_spill_ = may_spill_groups(steps_.query);
    return *this;
  }

  /// The plan of what follows the parts shows them as `origin` says.
  PartsRun& shown_as(const OriginOfParts& origin) {
    origin_ = &origin;
    return *this;
  }

  /// Returns the state of all rows.
  QueryState& run() {
    share_out(threads_, pending_, [this](std::size_t unit) { answer_unit(unit); });
    return seen_;
  }

  Result answer() {
    Stopwatch watch;
    run();
    const double read_ms = watch.lap();
    Result result = finalize();
    result.timing.read_ms = read_ms;
    return result;
  }

  /// The same where the first units, one for each thread, leave so few rows that combining them costs less than reading
  /// whole columns; nothing elsewhere.
  std::optional<Result> answer_of_few() {
    const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(std::min(threads_, pending_.size()));
    const std::vector<std::size_t> first(pending_.begin(), end);
    pending_.erase(pending_.begin(), end);
    Stopwatch watch;
    keys_of_few_ = steps_.query.group ? &steps_.query.group->columns : &steps_.query.partition_columns;
    share_out(threads_, first, [this](std::size_t unit) { answer_unit(unit); });
    keys_of_few_ = nullptr;
    if (has_many_ || are_many(seen_.num_rows(), rows_of(source_, first))) return std::nullopt;
    const double ms = watch.lap();
    Result result = answer();
    result.timing.read_ms += ms;
    return result;
  }

 private:
  Result finalize() {
    if (!is_spilling()) {
      try {
        return seen_.finalize(origin());
      } catch (const ResourceError&) {
        if (!spills_from(0)) throw;
      }
    }
    return spilled_->finalize(origin());
  }

  /// Returns how the rows of the state came about, once all units are in it.
  std::shared_ptr<const TableOrigin> origin() const {
    ReadOfParts read{bytes_, std::nullopt};
    if (spilled_) read.spilled = Spilled{spilled_->bytes(), spilled_->partitions()};
    return (*origin_)(read);
  }

  /// Reads a unit and takes it in, as a whole or, where it throws, not at all.
  void answer_unit(std::size_t unit) {
    const bool spills = spills_from(max_rows());
    try {
      take_unit(unit);
    } catch (const ResourceError&) {
      if (spills || !spills_from(0)) throw;
      take_unit(unit);
    }
  }

  /// Returns true if so many groups of a unit make combining those of all units dearer than reading whole columns: a
  /// group of sums takes longer than 40 rows.
  static bool are_many(std::size_t groups, std::int64_t rows) {
    constexpr std::size_t kShare = 40;
    return kShare * groups > static_cast<std::size_t>(rows);
  }

  /// Returns true if the dictionary of a key tells that there are many groups, before they are made.
  bool has_many_entries(const Table& table) const {
    return std::ranges::any_of(*keys_of_few_, [&](int key) {
      const ColumnData& data = table.column(key).data();
      return data.layout == Layout::dictionary &&
             are_many(static_cast<std::size_t>(data.dictionary->length), table.num_rows());
    });
  }

  void take_unit(std::size_t unit) {
    SourceCharge charge = units_.charge_unit(unit);
    SourceRows read;
    steps_.context.on_threads([&] { read = source_.read(std::span(&unit, 1), columns_); });
    charge.finish_reading();
    if (keys_of_few_ != nullptr && has_many_entries(read.table)) {
      has_many_ = true;
      return;
    }
    if (is_spilling()) {
      spilled_->sink(read.table, units_.begin(unit));
    } else {
      combine(read.table, units_.begin(unit));
    }
    bytes_ += read.bytes;
  }

  void combine(const Table& rows, RowId first_row) {
    QueryState of_unit(steps_);
    of_unit.sink(rows, first_row);
    std::unique_lock lock(mutex_);
    if (spilled_) {
      lock.unlock();
      for (const Partial& partial : of_unit.partials()) spilled_->sink(partial);
      return;
    }
    seen_.combine(std::move(of_unit));
  }

  bool is_spilling() {
    const std::scoped_lock lock(mutex_);
    return spilled_ != nullptr;
  }

  /// Begins to spill if there are more groups. Returns true if they are spilled.
  bool spills_from(std::size_t rows) {
    const std::scoped_lock lock(mutex_);
    if (!spilled_ && may_spill_ && seen_.num_rows() > rows) spill();
    return spilled_ != nullptr;
  }

  /// With mutex_ held. Where it throws, all groups are still in memory.
  void spill() {
    const std::vector<Partial>& partials = seen_.partials();
    const auto rows_of = [](const Partial& partial) { return partial.rows().size(); };
    auto spilled =
        std::make_unique<SpilledGroups>(steps_, rows_, *std::ranges::max_element(partials, {}, rows_of), room_);
    for (const Partial& partial : partials) spilled->sink(partial);
    spilled_ = std::move(spilled);
    seen_.clear();
  }

  /// Returns how many groups stay in memory: combining them takes several times as much, and units need room besides.
  std::size_t max_rows() const {
    constexpr std::size_t kBytesOfGroup = 512;
    return room_ / kBytesOfGroup;
  }

  StateSteps steps_;
  const EngineState& state_;
  const Source& source_;
  const std::vector<int>& columns_;
  const QueryUnits units_;
  const std::size_t room_;  // bytes by which it is decided what to keep in memory
  const std::size_t threads_;
  std::vector<std::size_t> pending_;  // units that are not answered
  const std::int64_t rows_;           // of all units
  bool may_spill_ = false;
  const OriginOfParts* origin_ = nullptr;
  const std::vector<int>* keys_of_few_ = nullptr;  // while a unit is asked for that has few groups
  std::atomic<bool> has_many_ = false;             // it has not

  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex mutex_;  // over seen_, and whether there is what follows
  QueryState seen_{steps_};
  std::unique_ptr<SpilledGroups> spilled_;  // once there is, it takes in all groups
};

}  // namespace

Result answer_by_parts(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                       const OriginOfParts& origin) {
  return PartsRun(steps, source, plan.columns, plan.units, 0, plan.room).with_spilling().shown_as(origin).answer();
}

std::optional<Result> answer_of_few_groups(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                                           const OriginOfParts& origin) {
  const std::size_t room = steps.context.engine.memory->limit();
  return PartsRun(steps, source, plan.columns, plan.units, 0, room).with_spilling().shown_as(origin).answer_of_few();
}

Partial partial_by_units(const StateSteps& steps, const Source& source, const std::vector<int>& columns,
                         const std::vector<std::size_t>& units, RowId first_row) {
  if (units.empty()) return partial_of(steps, source.schema(), first_row);
  const std::size_t room = steps.context.engine.memory->limit();
  return PartsRun(steps, source, columns, units, first_row, room).run().partial().value();
}

}  // namespace skyrank::exec

#include "engine/parts/by_parts.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/parts/side_by_side.hpp"
#include "engine/parts/source_memory.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

/// Partial answers, merged each time that they have twice as many rows as before: few merges, and little memory.
class MergedParts {
 public:
  MergedParts(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
              const std::vector<int>& columns, const RunOptions& options)
      : engine_(engine), state_(state), query_(query), source_(source), columns_(columns), options_(options) {}

  void add(Partial partial) {
    hold(partial);
    rows_ += partial.rows().size();
    partials_.push_back(std::move(partial));
    if (rows_ > 2 * merged_rows_) merge();
  }

  Result answer() { return engine_.merge(query_, partials_, options_); }
  Partial partial() { return engine_.merge_partials(query_, partials_, options_); }

 private:
  static constexpr std::size_t kFewRows = 1 << 16;

  void merge() {
    if (partials_.size() > 1) {
      Partial merged = engine_.merge_partials(query_, partials_, options_);
      partials_.clear();
      charges_.clear();
      hold(merged);
      partials_.push_back(std::move(merged));
    }
    rows_ = partials_.front().rows().size();
    merged_rows_ = std::max(rows_, kFewRows);
  }

  void hold(const Partial& partial) {
    const auto rows = static_cast<std::int64_t>(partial.rows().size());
    charges_.emplace_back(state_, query_, bytes_of_rows(source_, columns_, rows)).finish_reading();
  }

  const Engine& engine_;
  const EngineState& state_;
  const Query& query_;
  const Source& source_;
  const std::vector<int>& columns_;
  const RunOptions& options_;
  std::vector<Partial> partials_;
  std::vector<SourceCharge> charges_;
  std::size_t rows_ = 0;
  std::size_t merged_rows_ = kFewRows;  // after the last merge
};

/// One query over the units of a source, of which some are read while others are answered.
class PartsRun {
 public:
  /// The source begins at `first_row` of the whole table.
  PartsRun(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
           const std::vector<int>& columns, const std::vector<std::size_t>& units, RowId first_row,
           const RunOptions& options)
      : engine_(engine),
        state_(state),
        query_(query),
        source_(source),
        columns_(columns),
        options_(options),
        merged_(engine, state, query, source, columns, options) {
    for (const SourceUnit& unit : source.units()) {
      begins_.push_back(first_row);
      first_row += unit.rows;
    }
    pending_.assign(units.rbegin(), units.rend());
    std::size_t largest = 0;
    for (const std::size_t unit : units) largest = std::max(largest, bytes_of_unit(unit));
    const auto most = std::min(static_cast<std::size_t>(state.arena.max_concurrency()), units.size());
    threads_ = threads_within_limit(state, largest, most);
  }

  MergedParts& run() {
    run_side_by_side(threads_, [this] { work(); });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return merged_;
  }

  PartsAnswer answer() {
    PartsAnswer answer;
    Stopwatch watch;
    run();
    answer.bytes = bytes_;
    answer.read_ms = watch.lap();
    answer.result = merged_.answer();
    return answer;
  }

 private:
  std::size_t bytes_of_unit(std::size_t unit) const {
    return bytes_of_rows(source_, columns_, source_.units()[unit].rows);
  }

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
    if (failure_ != nullptr || pending_.empty()) {
      --active_;
      return std::nullopt;
    }
    const std::size_t unit = pending_.back();
    pending_.pop_back();
    return unit;
  }

  void answer_unit(std::size_t unit) {
    SourceCharge charge(state_, query_, bytes_of_unit(unit));
    SourceRows read;
    state_.admission.run(options_.stop, [&] { read = source_.read(std::span(&unit, 1), columns_); });
    charge.finish_reading();
    Partial partial = engine_.partial(query_, read.table, begins_[unit], options_);
    const std::scoped_lock lock(mutex_);
    bytes_ += read.bytes;
    merged_.add(std::move(partial));
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
    if (failure_ != nullptr && failed_unit_ < unit) return;
    failure_ = std::current_exception();
    failed_unit_ = unit;
  }

  const Engine& engine_;
  const EngineState& state_;
  const Query& query_;
  const Source& source_;
  const std::vector<int>& columns_;
  const RunOptions& options_;
  std::vector<RowId> begins_;  // first row of each unit
  std::size_t threads_ = 1;

  std::mutex mutex_;                  // over all that follows
  std::vector<std::size_t> pending_;  // the next unit last
  std::size_t active_ = 0;            // threads that will ask for a unit
  MergedParts merged_;
  std::uint64_t bytes_ = 0;
  std::exception_ptr failure_;
  std::size_t failed_unit_ = 0;
};

}  // namespace

PartsAnswer answer_by_parts(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                            const std::vector<int>& columns, const std::vector<std::size_t>& units,
                            const RunOptions& options) {
  return PartsRun(engine, state, query, source, columns, units, 0, options).answer();
}

Partial partial_by_units(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                         const std::vector<int>& columns, const std::vector<std::size_t>& units, RowId first_row,
                         const RunOptions& options) {
  if (units.empty()) return engine.partial(query, source.schema(), first_row, options);
  return PartsRun(engine, state, query, source, columns, units, first_row, options).run().partial();
}

}  // namespace skyrank::exec

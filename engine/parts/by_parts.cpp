#include "engine/parts/by_parts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

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

  /// Adds the partial answers of units, which ascend; the source begins at `first_row` of the whole table. Returns the
  /// bytes that were read.
  std::uint64_t add_units(const std::vector<std::size_t>& units, RowId first_row) {
    std::uint64_t bytes = 0;
    std::size_t passed = 0;  // units before the next
    for (const std::size_t unit : units) {
      for (; passed < unit; ++passed) first_row += source_.units()[passed].rows;
      SourceCharge charge(state_, query_, bytes_of_rows(source_, columns_, source_.units()[unit].rows));
      SourceRows read;
      state_.admission.run(options_.stop, [&] { read = source_.read(std::span(&unit, 1), columns_); });
      charge.finish_reading();
      bytes += read.bytes;
      add(engine_.partial(query_, read.table, first_row, options_));
    }
    return bytes;
  }

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

}  // namespace

PartsAnswer answer_by_parts(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                            const std::vector<int>& columns, const std::vector<std::size_t>& units,
                            const RunOptions& options) {
  PartsAnswer answer;
  MergedParts parts(engine, state, query, source, columns, options);
  Stopwatch watch;
  answer.bytes = parts.add_units(units, 0);
  answer.read_ms = watch.lap();
  answer.result = parts.answer();
  return answer;
}

Partial partial_by_units(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                         const std::vector<int>& columns, const std::vector<std::size_t>& units, RowId first_row,
                         const RunOptions& options) {
  MergedParts parts(engine, state, query, source, columns, options);
  if (units.empty()) parts.add(engine.partial(query, source.schema(), first_row, options));
  parts.add_units(units, first_row);
  return parts.partial();
}

}  // namespace skyrank::exec

#include "engine/parts/states/spilled_groups.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/slots/group_keys.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/query/bound.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/large_pages.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/temporary_file.hpp"

namespace skyrank::exec {
namespace {

/// Returns the bytes of a state's row in the file.
double bytes_of_row(const Partial& sample) {
  double bytes = sizeof(RowId);
  const double rows = std::max<double>(1, static_cast<double>(sample.rows().size()));
  for (const Column& column : sample.columns().columns()) {
    if (column.may_have_nulls()) bytes += 1;
    bytes += std::max(width_in_bytes(column.type().type), static_cast<int>(sizeof(std::int64_t)));
    if (column.type() != Type::string) continue;
    for (std::int64_t i = 0; i < column.size(); ++i) {
      if (!column.is_null(i)) bytes += static_cast<double>(column.data().string_at(i).size()) / rows;
    }
  }
  return bytes;
}

/// Returns so many partitions that each thread has room to combine one, even if no row shares its group with another.
std::size_t partitions_for(const EngineState& state, std::int64_t rows, const Partial& sample, std::size_t limit) {
  constexpr double kCopies = 4;  // of the states: as read, ordered, combined and finished
  constexpr double kHashing = 64;
  constexpr double kShare = 1.0 / 4;  // of the limit
  constexpr double kMin = 16;
  constexpr double kMax = 1024;  // reads of a few kilobytes take longer
  const double bytes = static_cast<double>(rows) * (kCopies * bytes_of_row(sample) + kHashing);
  const double room = std::max(1.0, kShare * static_cast<double>(limit));
  return static_cast<std::size_t>(std::clamp(bytes * state.arena.max_concurrency() / room, kMin, kMax));
}

/// Returns the partition of a hash. Tables of groups take the upper bits of the same hashes, so that these are mixed.
std::uint32_t partition_of(std::uint64_t hash, std::size_t count) {
  const std::uint64_t mixed = (hash * 0x9e3779b97f4a7c15ULL) >> 32;
  return static_cast<std::uint32_t>((mixed * count) >> 32);
}

LargeVector<std::uint32_t> partitions_of(const GroupKeys& keys, std::size_t count) {
  LargeVector<std::uint32_t> partitions(static_cast<std::size_t>(keys.rows()));
  std::array<std::uint64_t, kBlockRows> hashes{};
  for (std::int64_t begin = 0; begin < keys.rows(); begin += kBlockRows) {
    const std::int64_t size = std::min(kBlockRows, keys.rows() - begin);
    keys.hash(begin, size, hashes.data());
    for (std::int64_t i = 0; i < size; ++i) partitions[begin + i] = partition_of(hashes[i], count);
  }
  return partitions;
}

/// Rows by partition, ascending within each.
struct ByPartition {
  LargeVector<RowId> rows;
  std::vector<std::int64_t> begins;  ///< per partition, and the end of the last one
};

ByPartition order_by_partition(const Table& states, std::span<const int> keys, std::size_t count) {
  const Rows all{states.num_rows(), nullptr};
  const auto partitions = partitions_of(GroupKeys::across_tables(states, keys, all), count);
  ByPartition order{LargeVector<RowId>(partitions.size()), std::vector<std::int64_t>(count + 1)};
  for (const std::uint32_t partition : partitions) ++order.begins[partition + 1];
  for (std::size_t p = 0; p < count; ++p) order.begins[p + 1] += order.begins[p];
  std::vector<std::int64_t> next = order.begins;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    order.rows[static_cast<std::size_t>(next[partitions[i]]++)] = static_cast<RowId>(i);
  }
  return order;
}

/// Returns the states with their rows as the first column.
Table with_rows(const Partial& groups) {
  std::string name = "row";
  while (groups.columns().find(name)) name += '_';
  std::vector<Column> columns = {Column::view(name, std::span<const RowId>(groups.rows()))};
  columns.insert(columns.end(), groups.columns().columns().begin(), groups.columns().columns().end());
  return Table(std::move(columns));
}

/// Returns the states of such a table in the order of their rows.
StateRows without_rows(const Table& table) {
  const Column& rows = table.column(0);
  const auto* const first = static_cast<const RowId*>(rows.data().values);
  StateRows states;
  QueryMemory::hold(static_cast<std::size_t>(rows.size()) * sizeof(RowId));
  states.rows.assign(first, first + rows.size());
  states.columns = Table(std::vector<Column>(table.columns().begin() + 1, table.columns().end()));
  const auto order = ascending_order(states.rows);
  if (order.empty()) return states;
  states.columns = gather(states.columns, order);
  std::ranges::sort(states.rows);
  return states;
}

/// Returns the groups of several partitions in the order of their first rows.
FinishedGroups united(std::vector<FinishedGroups> parts) {
  FinishedGroups all;
  std::vector<Table> tables;
  for (FinishedGroups& part : parts) {
    tables.push_back(std::move(part.table));
    all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
  }
  all.table = concatenate(tables);
  const auto order = ascending_order(all.rows);
  if (order.empty()) return all;
  all.table = gather(all.table, order);
  std::ranges::sort(all.rows);
  return all;
}

}  // namespace

bool may_spill_groups(const query::BoundQuery& query) {
  return query.group && !query.group->columns.empty() && !keeps_all(query_of_groups(query));
}

SpilledGroups::SpilledGroups(const StateSteps& steps, std::int64_t rows, const Partial& sample, std::size_t room)
    : state_(steps.context.engine),
      steps_(steps),
      room_(room),
      tables_(temporary_folder(), partitions_for(state_, rows, sample, room)) {}

void SpilledGroups::sink(const Partial& groups) {
  if (groups.rows().empty()) return;
  with_counted_copies(state_, steps_.query.location, [&] {
    const query::BoundQuery over_states = query::over_columns_read(steps_.query);
    ByPartition order = order_by_partition(groups.columns(), over_states.group->columns, tables_.partitions());
    tables_.append(gather(with_rows(groups), order.rows), std::move(order.begins), groups.rows().front());
  });
}

/// Finishes the partitions on several threads, as far as these fit the limit of memory.
class SpilledGroups::Finish {
 public:
  Finish(const SpilledGroups& groups, std::shared_ptr<const TableOrigin> origin)
      : groups_(groups),
        steps_(groups.steps_),
        context_{steps_.context.over(std::move(origin)), steps_.query, steps_.run},
        kind_(context_) {}

  Result answer();

 private:
  std::optional<Result> answer_of_best();

  /// Calls work(partition) for those that have rows.
  template <class Work>
  void for_all(const Work& work) {
    std::vector<std::size_t> partitions;
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (std::size_t p = 0; p < groups_.partitions(); ++p) {
      const std::int64_t rows = groups_.tables_.rows(p);
      if (rows > 0) partitions.push_back(p);
      most = std::max(most, rows);
      all += rows;
    }
    const double row = static_cast<double>(groups_.bytes()) / static_cast<double>(all);
    const auto concurrency = static_cast<std::size_t>(groups_.state_.arena.max_concurrency());
    const std::size_t threads = threads_within_limit(
        groups_.state_, static_cast<std::size_t>(row * static_cast<double>(most)), concurrency, groups_.room_);
    share_out(threads, partitions, [&](std::size_t partition) {
      check(steps_.context.stop());
      work(partition);
    });
  }

  /// Calls f(states) for the states of a partition.
  template <class F>
  auto with_states(std::size_t partition, const F& f) const {
    return with_counted_copies(groups_.state_, steps_.query.location,
                               [&] { return f(without_rows(groups_.tables_.read(partition))); });
  }

  void keep_best(std::size_t partition) {
    auto best = with_states(partition, [&](const StateRows& states) {
      const auto groups = finished(states);
      return groups ? best_of(*groups) : std::nullopt;
    });
    if (!best) return;
    const std::scoped_lock lock(mutex_);
    if (steps_.charge) charges_.push_back(steps_.charge(best->rows.size()));
    best_.push_back(*std::move(best));
  }

  /// Returns nothing where a sum overflows.
  std::optional<FinishedGroups> finished(const StateRows& states) {
    try {
      return kind_.finish(states);
    } catch (const RowError& error) {
      const std::scoped_lock lock(mutex_);
      sums_.keep(static_cast<std::size_t>(error.row()));
      return std::nullopt;
    }
  }

  /// Returns nothing where the query over the groups fails on one of them.
  std::optional<FinishedGroups> best_of(const FinishedGroups& groups) {
    try {
      return kind_.best(groups);
    } catch (const RowError& error) {
      keep_failure(error, groups);
      return std::nullopt;
    }
  }

  /// Keeps the failure on the group that begins first.
  void keep_failure(const RowError& error, const FinishedGroups& groups) {
    const RowId first_row = groups.rows[static_cast<std::size_t>(error.row())];
    const std::scoped_lock lock(mutex_);
    if (failure_ && first_row_of_failure_ < first_row) return;
    failure_ = error;
    first_row_of_failure_ = first_row;
  }

  /// Returns the number of a group among all, which messages name.
  RowId groups_before(RowId first_row) {
    RowId before = 0;
    for_all([&](std::size_t partition) {
      const auto here = with_states(partition, [&](const StateRows& states) {
        const std::vector<RowId> rows = kind_.combine(states).rows;
        return std::ranges::lower_bound(rows, first_row) - rows.begin();
      });
      const std::scoped_lock lock(mutex_);
      before += here;
    });
    return before;
  }

  const SpilledGroups& groups_;
  const StateSteps& steps_;
  const StateContext context_;
  const GroupState kind_;
  std::mutex mutex_;  // over all that follows
  std::vector<FinishedGroups> best_;
  std::vector<SourceCharge> charges_;
  FirstFailure sums_;
  std::optional<RowError> failure_;
  RowId first_row_of_failure_ = 0;
};

Result SpilledGroups::Finish::answer() {
  for_all([this](std::size_t partition) { keep_best(partition); });
  sums_.rethrow();
  std::optional<Result> result;
  if (!failure_) result = answer_of_best();
  if (failure_) throw failure_->placed(groups_before(first_row_of_failure_));
  return *std::move(result);
}

/// Returns nothing where an output fails on a group.
std::optional<Result> SpilledGroups::Finish::answer_of_best() {
  return with_counted_copies(groups_.state_, steps_.query.location, [&]() -> std::optional<Result> {
    const FinishedGroups all = united(std::move(best_));
    try {
      return kind_.answer(all);
    } catch (const RowError& error) {
      keep_failure(error, all);
      return std::nullopt;
    }
  });
}

Result SpilledGroups::finalize(std::shared_ptr<const TableOrigin> origin) const {
  return Finish(*this, std::move(origin)).answer();
}

}  // namespace skyrank::exec

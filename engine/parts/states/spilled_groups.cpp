#include "engine/parts/states/spilled_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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
#include "engine/parts/states/unite.hpp"
#include "engine/query/bound.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/query_memory.hpp"
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

/// Returns about how many groups the hashes of rows tell apart (Whang et al., "A linear-time probabilistic counting
/// algorithm", TODS 1990).
double count_groups(const GroupKeys& keys) {
  constexpr std::uint64_t kBits = 64;
  const std::uint64_t places = std::max(std::bit_ceil(static_cast<std::uint64_t>(keys.rows())), kBits);
  Vector<std::uint64_t> seen(places / kBits);
  std::array<std::uint64_t, kBlockRows> hashes{};
  for (std::int64_t begin = 0; begin < keys.rows(); begin += kBlockRows) {
    const std::int64_t size = std::min(kBlockRows, keys.rows() - begin);
    keys.hash(begin, size, hashes.data());
    for (std::int64_t i = 0; i < size; ++i) {
      const std::uint64_t place = hashes[i] & (places - 1);
      seen[place / kBits] |= std::uint64_t{1} << (place % kBits);
    }
  }
  std::uint64_t empty = places;
  for (const std::uint64_t word : seen) empty -= static_cast<std::uint64_t>(std::popcount(word));
  const auto all = static_cast<double>(places);
  return -all * std::log(std::max(1.0, static_cast<double>(empty)) / all);
}

/// Returns true if the aggregates of groups look at columns alone: what they compute could fail, and the lowest row on
/// which it does is to be named.
bool reads_columns_alone(const query::BoundGroup& group) {
  return std::ranges::all_of(group.aggregates,
                             [](const auto& one) { return !one.argument || one.argument->column >= 0; });
}

/// Returns the partition of a hash. Tables of groups take the upper bits of the same hashes, so that these are mixed.
std::uint32_t partition_of(std::uint64_t hash, std::size_t count) {
  const std::uint64_t mixed = (hash * 0x9e3779b97f4a7c15ULL) >> 32;
  return static_cast<std::uint32_t>((mixed * count) >> 32);
}

RawVector<std::uint32_t> partitions_of(const GroupKeys& keys, std::size_t count) {
  RawVector<std::uint32_t> partitions(static_cast<std::size_t>(keys.rows()));
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
  RawVector<RowId> rows;
  std::vector<std::int64_t> begins;  ///< per partition, and the end of the last one
};

/// Orders the positions of rows.
ByPartition order_by_partition(const Table& table, std::span<const int> keys, std::size_t count, const Rows& rows) {
  const auto partitions = partitions_of(GroupKeys::across_tables(table, keys, rows), count);
  ByPartition order{RawVector<RowId>(partitions.size()), std::vector<std::int64_t>(count + 1)};
  for (const std::uint32_t partition : partitions) ++order.begins[partition + 1];
  for (std::size_t p = 0; p < count; ++p) order.begins[p + 1] += order.begins[p];
  std::vector<std::int64_t> next = order.begins;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    order.rows[static_cast<std::size_t>(next[partitions[i]]++)] = static_cast<RowId>(i);
  }
  return order;
}

/// Returns a table with the places of its rows as the first column.
Table with_rows(const Table& table, std::span<const RowId> rows) {
  std::string name = "row";
  while (table.find(name)) name += '_';
  std::vector<Column> columns = {Column::view(name, rows)};
  columns.insert(columns.end(), table.columns().begin(), table.columns().end());
  return Table(std::move(columns));
}

/// Returns the states of such a table in the order of their rows.
StateRows states_in(const Table& table) {
  const Column& rows = table.column(0);
  const auto* const first = static_cast<const RowId*>(rows.data().values);
  QueryMemory::hold(static_cast<std::size_t>(rows.size()) * sizeof(RowId));
  return in_order_of_rows({std::vector<RowId>(first, first + rows.size()),
                           Table(std::vector<Column>(table.columns().begin() + 1, table.columns().end()))});
}

}  // namespace

bool may_spill_groups(const query::BoundQuery& query) {
  return query.group && !query.group->columns.empty() && !keeps_all(query_of_groups(query));
}

SpilledGroups::SpilledGroups(const StateSteps& steps, std::int64_t rows, const Partial& sample, std::size_t room)
    : state_(steps.context.engine),
      steps_(steps),
      over_states_(query::over_columns_read(steps.query)),
      room_(room),
      groups_(temporary_folder(), partitions_for(state_, rows, sample, room)),
      rows_(temporary_folder(), groups_.partitions()) {}

void SpilledGroups::sink(const Partial& groups) {
  if (groups.rows().empty()) return;
  with_counted_copies(state_, steps_.query.location, [&] {
    const Rows all{groups.columns().num_rows(), nullptr};
    ByPartition order = order_by_partition(groups.columns(), over_states_.group->columns, groups_.partitions(), all);
    const Table states = with_rows(groups.columns(), groups.rows());
    groups_.append(gather(states, order.rows), std::move(order.begins), groups.rows().front());
  });
}

void SpilledGroups::sink(const Table& part, RowId first_row) {
  if (!has_many_groups(part)) return sink(partial_of(steps_, part, first_row));
  take_passing(steps_, part, first_row, [&](const Rows& passing) {
    if (passing.n == 0) return;
    ByPartition order = order_by_partition(part, steps_.query.group->columns, groups_.partitions(), passing);
    if (passing.ids != nullptr) {
      for (RowId& row : order.rows) row = passing[row];
    }
    const Table spread = gather(chosen_columns(part, query::columns_read(steps_.query)), order.rows);
    const RowId first = first_row + passing[0];
    for (RowId& row : order.rows) row += first_row;
    rows_.append(with_rows(spread, order.rows), std::move(order.begins), first);
  });
}

bool SpilledGroups::has_many_groups(const Table& part) const {
  constexpr double kShare = 1.0 / 4;  // grouped rows that are as many cost more than they save
  if (!reads_columns_alone(*steps_.query.group)) return false;
  return with_counted_copies(state_, steps_.query.location, [&] {
    for (const int column : steps_.query.group->columns) copy_to_host(part.column(column).data());
    const Rows all{part.num_rows(), nullptr};
    const double groups = count_groups(GroupKeys::across_tables(part, steps_.query.group->columns, all));
    return groups > kShare * static_cast<double>(part.num_rows());
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

  template <class F>
  auto within_limit(const F& f) const {
    return with_counted_copies(groups_.state_, steps_.query.location, f);
  }

  /// Calls work(partition) for those that have rows.
  template <class Work>
  void for_all(const Work& work) {
    std::vector<std::size_t> partitions;
    std::int64_t all = 0;
    for (std::size_t p = 0; p < groups_.partitions(); ++p) {
      const std::int64_t rows = groups_.groups_.rows(p) + groups_.rows_.rows(p);
      if (rows > 0) partitions.push_back(p);
      all += rows;
    }
    most_rows_ = 2 * all / std::ssize(partitions) + kMinRows;
    std::int64_t most = 0;
    for (const std::size_t p : partitions) {
      most = std::max(most, groups_.groups_.rows(p) + std::min(groups_.rows_.rows(p), most_rows_));
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

  /// Returns the states of a partition's groups, of which no two are of one group.
  StateRows combined(std::size_t partition) const {
    std::vector<StateRows> states;
    if (groups_.groups_.rows(partition) > 0) {
      states.push_back(states_in(groups_.groups_.read(partition, groups_.groups_.all())));
    }
    // Rows of a group that has a large share of all are many, and few groups.
    const SpilledTables& rows = groups_.rows_;
    for (SpilledTables::Range next{0, 0}; next.last < rows.all().last; next.first = next.last) {
      do {
        ++next.last;
      } while (next.last < rows.all().last && rows.rows(partition, {next.first, next.last + 1}) <= most_rows_);
      if (rows.rows(partition, next) == 0) continue;
      states.push_back(kind_.group(states_in(rows.read(partition, next))));
      if (next.last == rows.all().last && states.size() == 1) return std::move(states.front());
    }
    return kind_.combine(joined(pointers_to(states)));
  }

  void keep_best(std::size_t partition) {
    auto best = within_limit([&] {
      const auto groups = finished(partition);
      return groups ? best_of(*groups) : std::nullopt;
    });
    if (!best) return;
    const std::scoped_lock lock(mutex_);
    if (steps_.charge) charges_.push_back(steps_.charge(best->rows.size()));
    best_.push_back(*std::move(best));
  }

  /// Returns nothing where a sum overflows.
  std::optional<StateRows> finished(std::size_t partition) {
    try {
      return kind_.finish(combined(partition));
    } catch (const RowError& error) {
      const std::scoped_lock lock(mutex_);
      sums_.keep(static_cast<std::size_t>(error.row()));
      return std::nullopt;
    }
  }

  /// Returns nothing where the query over the groups fails on one of them.
  std::optional<StateRows> best_of(const StateRows& groups) {
    try {
      return kind_.best(groups);
    } catch (const RowError& error) {
      keep_failure(error, groups);
      return std::nullopt;
    }
  }

  /// Keeps the failure on the group that begins first.
  void keep_failure(const RowError& error, const StateRows& groups) {
    const RowId first_row = groups.global(error.row());
    const std::scoped_lock lock(mutex_);
    if (failure_ && first_row_of_failure_ < first_row) return;
    failure_ = error;
    first_row_of_failure_ = first_row;
  }

  /// Returns the number of a group among all, which messages name.
  RowId groups_before(RowId first_row) {
    RowId before = 0;
    for_all([&](std::size_t partition) {
      const auto here = within_limit([&] {
        const std::vector<RowId> rows = combined(partition).rows;
        return std::ranges::lower_bound(rows, first_row) - rows.begin();
      });
      const std::scoped_lock lock(mutex_);
      before += here;
    });
    return before;
  }

  static constexpr std::int64_t kMinRows = std::int64_t{1} << 16;

  const SpilledGroups& groups_;
  const StateSteps& steps_;
  const StateContext context_;
  const GroupState kind_;
  std::int64_t most_rows_ = kMinRows;  // that are grouped at a time
  std::mutex mutex_;                   // over all that follows
  std::vector<StateRows> best_;
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
    const StateRows all = joined(pointers_to(best_));
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

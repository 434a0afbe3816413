#include "engine/executor/memory_need.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/operators/gather.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank {
namespace {

using kernels::Vector;

constexpr double kLimitStep = 1.1;     // ratio of successive limits that are tried
constexpr double kMargin = 1.15;       // ratio of the reported limit to the smallest one that suffices
constexpr double kSampleMargin = 1.3;  // the same where the need is extrapolated
constexpr double kForcedMargin = 1.4;  // and where samples run a forced algorithm
constexpr std::int64_t kMinSampleRows = 512;
constexpr int kSecondSample = 4;  // the larger sample has this many times the rows of the smaller one

// ---- Samples ----

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(const Value& value) {
  return std::visit(
      []<class T>(const T& stored) -> std::uint64_t {
        if constexpr (std::is_same_v<T, Null>) return 1;
        if constexpr (std::is_same_v<T, double>) {
          if (std::isnan(stored)) return 2;
          return std::bit_cast<std::uint64_t>(stored == 0 ? 0.0 : stored);
        }
        if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(stored);
        if constexpr (std::is_same_v<T, Date>) return static_cast<std::uint64_t>(stored.days);
        if constexpr (std::is_same_v<T, Timestamp>) return static_cast<std::uint64_t>(stored.ticks);
        if constexpr (std::is_same_v<T, Decimal>) return static_cast<std::uint64_t>(stored.unscaled);
        if constexpr (std::is_same_v<T, std::string>) return std::hash<std::string>()(stored);
      },
      value);
}

/// Columns of the table whose equal values make groups or, without them, partitions.
std::vector<int> key_columns(const query::BoundQuery& bound) {
  return bound.group ? bound.group->columns : bound.partition_columns;
}

std::uint64_t hash_of_row(const Table& table, const std::vector<int>& columns, RowId row) {
  std::uint64_t hash = 0;
  for (const int column : columns) hash = mix(hash * 31 + hash_of(table.column(column).value(row)) + 1);
  return hash;
}

/// The keys of many rows, by their hashes. Rows of such keys are sampled one by one; of all other keys, a share is
/// sampled with all its rows, so that the sample has as many rows a group as the table.
class FrequentKeys {
 public:
  FrequentKeys(const Table& table, const std::vector<int>& columns) {
    const std::int64_t sampled = columns.empty() ? 0 : std::min(table.num_rows(), kSampled);
    std::vector<std::uint64_t> hashes;
    for (std::int64_t i = 0; i < sampled; ++i) {
      const auto row =
          static_cast<RowId>(mix(static_cast<std::uint64_t>(i) + 1) % static_cast<std::uint64_t>(table.num_rows()));
      hashes.push_back(hash_of_row(table, columns, row));
    }
    std::ranges::sort(hashes);
    for (auto begin = hashes.begin(); begin != hashes.end();) {
      const auto end = std::upper_bound(begin, hashes.end(), *begin);
      if (end - begin >= kFrequent) {
        hashes_.push_back(*begin);
        rows_ += end - begin;
      }
      begin = end;
    }
    are_most_ = 2 * rows_ > sampled;
  }

  bool contains(std::uint64_t hash) const { return std::ranges::binary_search(hashes_, hash); }
  bool are_most() const { return are_most_; }

 private:
  static constexpr std::int64_t kSampled = std::int64_t{1} << 13;
  static constexpr std::int64_t kFrequent = 16;

  std::vector<std::uint64_t> hashes_;
  std::int64_t rows_ = 0;
  bool are_most_ = false;
};

/// Every `divisor`-th row or so, at random, groups kept whole unless they are large.
Vector<RowId> sampled_rows(const Table& table, const std::vector<int>& keys, const FrequentKeys& frequent,
                           std::int64_t divisor) {
  const std::uint64_t bound = std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(divisor);
  const std::stop_token& stop = exec::current_stop();
  Vector<RowId> rows;
  for (RowId row = 0; row < table.num_rows(); ++row) {
    exec::check_at(row, stop);
    std::uint64_t hash = static_cast<std::uint64_t>(row) + 1;
    if (!keys.empty()) {
      const std::uint64_t key = hash_of_row(table, keys, row);
      if (!frequent.contains(key)) hash = key;
    }
    if (mix(hash) <= bound) rows.push_back(row);
  }
  return rows;
}

/// The columns of a table that a query reads.
Table columns_of(const Query& query, const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns()) names.push_back(column.name());
  std::vector<Column> columns;
  for (const std::string& name : query::columns_read(query, names)) columns.push_back(table.column(name));
  return columns.empty() ? table : Table(std::move(columns));
}

/// The same values, of which no query has learnt anything.
Table unknown(const Table& table) {
  if (table.num_columns() == 0) return table;
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.emplace_back(column.name(), column.data());
  return Table(std::move(columns));
}

/// The query with its numbers of rows made smaller as the table is.
Query scaled(Query query, std::int64_t divisor) {
  const auto scale = [&](std::int64_t rows) { return rows / divisor + (rows % divisor != 0 ? 1 : 0); };
  query.offset(scale(query.offset()));
  if (query.limit()) query.limit(scale(*query.limit()));
  if (query.at_least()) query.at_least(scale(*query.at_least()));
  return query;
}

// ---- The search ----

/// The least limit up to `room`, within a step, that suffices for the table; nothing where none does. A larger limit
/// has to suffice too: within it, the planner may take a path that needs more.
std::optional<double> least_limit(const Query& query, const Table& table, double lowest, double room,
                                  const LimitedRun& run) {
  double limit = std::max(lowest, 1024.0);
  while (limit <= room) {
    double reached = 0;
    for (const double tried : {limit, std::min(kMargin * limit, room)}) {
      const auto failed = run(query, unknown(table), static_cast<std::size_t>(tried));
      if (failed) reached = std::max(reached, std::max(static_cast<double>(*failed), tried));
      if (failed) break;
    }
    if (reached == 0) return limit;
    limit = std::max(kLimitStep * limit, reached);
  }
  return std::nullopt;
}

class Measurement {
 public:
  Measurement(const Query& query, const Table& table, const NeedSearch& search, const LimitedRun& run)
      : query_(query),
        table_(columns_of(query, table)),
        search_(search),
        run_(run),
        keys_(key_columns(query::bind(query, query::schema_of(table_)))),
        frequent_(table_, keys_) {}

  std::optional<double> need() const {
    const auto room = static_cast<double>(search_.room);
    if (search_.known <= room) {
      if (const auto limit = least_limit(query_, table_, search_.known, room, run_)) {
        return kMargin * *limit + search_.slack;
      }
    }
    const double times = std::max({2.0, search_.known / room, search_.expected / room});
    if (times > static_cast<double>(table_.num_rows())) return std::nullopt;
    auto divisor = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(times))));
    for (; table_.num_rows() / divisor >= kMinSampleRows; divisor *= 2) {
      if (const auto larger = point(divisor)) {
        if (const auto smaller = point(kSecondSample * divisor)) return extrapolated(*smaller, *larger);
      }
    }
    return std::nullopt;
  }

 private:
  struct Point {
    double rows;
    double bytes;
  };

  /// The need of a sample, which is in memory beside what the query takes.
  std::optional<Point> point(std::int64_t divisor) const {
    const auto account = std::make_shared<kernels::MemoryAccount>(search_.room);
    try {
      const kernels::AccountScope counted(account.get());
      const exec::QueryMemory columns;
      const Table sample = exec::gather(table_, sampled_rows(table_, keys_, frequent_, divisor));
      const bool whole_partitions = !query_.partition_by().empty() && !frequent_.are_most();
      Query query = whole_partitions ? query_ : scaled(query_, divisor);
      if (!search_.algorithms.empty()) {
        Using path = query.using_path();
        path.algorithms = search_.algorithms;
        query.using_path(std::move(path));
      }
      if (sample.num_rows() == 0) return std::nullopt;
      const auto limit = least_limit(query, sample, 0, static_cast<double>(account->left()), run_);
      if (!limit) return std::nullopt;
      return Point{static_cast<double>(sample.num_rows()), *limit};
    } catch (const kernels::OverLimit&) {  // no room for the sample
      return std::nullopt;
    }
  }

  double extrapolated(const Point& smaller, const Point& larger) const {
    const double slope = (larger.bytes - smaller.bytes) / std::max(larger.rows - smaller.rows, 1.0);
    const double missing = std::max(static_cast<double>(table_.num_rows()) - larger.rows, 0.0);
    const double margin = search_.algorithms.empty() ? kSampleMargin : kForcedMargin;
    return margin * (larger.bytes + std::max(slope, 0.0) * missing) + search_.slack;
  }

  const Query& query_;
  const Table table_;
  const NeedSearch search_;
  const LimitedRun& run_;
  const std::vector<int> keys_;
  const FrequentKeys frequent_;
};

}  // namespace

std::optional<double> measured_need(const Query& query, const Table& table, const NeedSearch& search,
                                    const LimitedRun& run) {
  return Measurement(query, table, search, run).need();
}

}  // namespace skyrank

#include "kernels/cuda/dominance_counts/dominance_counts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/columns.hpp"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/dominance_counts/band.cuh"
#include "kernels/cuda/dominance_counts/count.cuh"

// Counts dominance by tiles of asking rows, each of which all rows meet (tables.cuh, count.cuh). Dominators are counted
// by complements of the keys.
//
// A skyband is counted among the rows that a sample leaves. Its judges are the rows of the sample's own skyband that
// dominate most of the sample.
//
// Cost: for each row and each tile, a search by each key, and for each key a load of 64 bytes by 16 threads together.
namespace skyrank::kernels::cuda {
namespace dominance_counts {
namespace {

/// Rows of a table in device memory, and the device.
template <class Key>
class Counter {
 public:
  Counter(const KeyTable<Key>& table, DeviceContext& device, const Context& context)
      : table_(table), device_(device), context_(context) {}

  /// Returns a number for each asking row, in the order of the stream. Behind the last there is room for a tile.
  Buffer<std::uint32_t> count(const Asking& asking, Counted counted) const {
    const std::size_t tiles = (std::size_t{asking.count} + kTile - 1) / kTile;
    auto counts = device_.allocate<std::uint32_t>(tiles * kTile);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(counts.data(), 0, counts.bytes(), device_.stream()));
    const auto d = static_cast<std::size_t>(table_.d);
    const std::size_t at_a_time =
        std::clamp<std::size_t>(CountPolicy::kTableBytes / (d * kTablesBytes<Key>), 1, std::max<std::size_t>(tiles, 1));
    const auto sorted = device_.allocate<Key>(at_a_time * d * kTile);
    const auto lesser = device_.allocate<std::uint16_t>(at_a_time * d * kTile);
    const auto sets = device_.allocate<std::uint32_t>(at_a_time * d * Tables<Key>::kSets);
    const Tables<Key> tables{sorted.data(), lesser.data(), sets.data()};
    const Key flip = counted == Counted::dominators ? static_cast<Key>(~Key{0}) : Key{0};
    for (std::size_t first = 0; first < tiles; first += at_a_time) {
      if (first > 0) device_.synchronize();
      context_.check();
      const std::size_t here = std::min(at_a_time, tiles - first);
      launch("make_tables", make_tables<Key>, {.blocks = here * d, .threads = kTile}, device_.stream(), table_, asking,
             static_cast<std::uint32_t>(first), flip, tables);
      launch_count(tables, here, flip, counts.data() + first * kTile);
    }
    return counts;
  }

 private:
  void launch_count(const Tables<Key>& tables, std::size_t tiles, Key flip, std::uint32_t* counts) const {
    constexpr std::size_t kWaves = 2;  // of blocks, so that all multiprocessors end at about the same time
    const std::size_t shared = places_bytes(table_.d);
    const std::size_t batches = blocks_for(table_.n, kBatch);
    const std::size_t resident =
        resident_blocks(count_rows<Key>, kCountThreads, shared) * device_.properties().multiprocessors;
    const std::size_t blocks_of_tile =
        std::clamp(blocks_for(kWaves * resident, tiles), blocks_for(batches, kMaxBatches), batches);
    launch("count_rows", count_rows<Key>,
           {.blocks = tiles * blocks_of_tile, .threads = kCountThreads, .shared_bytes = shared}, device_.stream(),
           table_, tables, flip, static_cast<unsigned>(blocks_of_tile), counts);
  }

  const KeyTable<Key>& table_;
  DeviceContext& device_;
  const Context& context_;
};

/// Copies values to the device, in the order of its stream.
template <class T>
Buffer<T> to_device(const std::vector<T>& values, DeviceContext& device) {
  auto copy = device.allocate<T>(values.size());
  if (values.empty()) return copy;
  order_streams(device.stream(), device.transfer().stream());
  device.transfer().upload(copy.data(), values.data(), copy.bytes());
  order_streams(device.transfer().stream(), device.stream());
  return copy;
}

std::vector<std::int64_t> to_numbers(const Buffer<std::uint32_t>& counts, std::size_t n, DeviceContext& device) {
  const std::vector<std::uint32_t> numbers = to_host(counts.data(), n, device);
  return {numbers.begin(), numbers.end()};
}

/// The skyband of the rows of a table.
template <class Key>
class Band {
 public:
  Band(const KeyTable<Key>& table, std::uint32_t enough, DeviceContext& device, const Context& context)
      : table_(table), enough_(enough), device_(device), context_(context) {}

  std::vector<std::int64_t> rows() const {
    if (table_.n < BandPolicy::kMinRows || enough_ > BandPolicy::kMaxEnough) return band_of(table_, nullptr);
    const std::vector<std::uint32_t> judges = this->judges();
    const auto there = to_device(judges, device_);
    auto left = device_.template allocate<std::uint32_t>((std::size_t{table_.n} + kLanes - 1) / kLanes);
    const std::size_t blocks = std::min(blocks_for(table_.n, kMapThreads), 8 * device_.properties().multiprocessors);
    launch("mark_left", mark_left<Key>,
           {.blocks = blocks, .threads = kMapThreads, .shared_bytes = judges.size() * row_bytes()}, device_.stream(),
           table_, there.data(), static_cast<unsigned>(judges.size()), enough_, left.data());
    const Selection are_left(BitIs{left.data()}, table_.n, device_);
    const std::size_t count = are_left.count();
    auto rows = device_.template allocate<std::uint32_t>(count);
    are_left.list(IdAt{}, rows.data());
    auto keys = device_.template allocate<Key>(count * static_cast<std::size_t>(table_.d));
    launch("take_rows", take_rows<Key>, one_each(count), device_.stream(), table_, rows.data(),
           static_cast<std::uint32_t>(count), keys.data());
    KeyTable<Key> taken{};
    taken.n = static_cast<std::uint32_t>(count);
    taken.d = table_.d;
    for (int k = 0; k < table_.d; ++k) taken.columns[k] = keys.data() + static_cast<std::size_t>(k) * count;
    return band_of(taken, rows.data());
  }

 private:
  std::size_t row_bytes() const { return static_cast<std::size_t>(table_.d) * sizeof(Key); }

  /// Returns the skyband of a table; its rows are `rows`, where that is not null.
  std::vector<std::int64_t> band_of(const KeyTable<Key>& table, const std::uint32_t* rows) const {
    const auto counts = Counter<Key>(table, device_, context_).count({nullptr, table.n}, Counted::dominators);
    const Selection are_kept(IsBelow{counts.data(), enough_}, table.n, device_);
    const std::size_t count = are_kept.count();
    auto kept = device_.template allocate<std::int64_t>(count);
    if (rows == nullptr) {
      are_kept.list(IdAt{}, kept.data());
    } else {
      are_kept.list(ItemAt<std::uint32_t>{rows}, kept.data());
    }
    return to_host(kept.data(), count, device_);
  }

  /// Returns rows of the skyband of a sample, those that dominate most of it first.
  std::vector<std::uint32_t> judges() const {
    std::vector<std::uint32_t> sample(BandPolicy::kSampleRows);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      sample[i] = static_cast<std::uint32_t>(i * (table_.n / BandPolicy::kSampleRows));
    }
    const auto there = to_device(sample, device_);
    auto keys = device_.template allocate<Key>(sample.size() * static_cast<std::size_t>(table_.d));
    launch("take_rows", take_rows<Key>, one_each(sample.size()), device_.stream(), table_, there.data(),
           static_cast<std::uint32_t>(sample.size()), keys.data());
    KeyTable<Key> taken{};
    taken.n = static_cast<std::uint32_t>(sample.size());
    taken.d = table_.d;
    for (int k = 0; k < table_.d; ++k) taken.columns[k] = keys.data() + static_cast<std::size_t>(k) * sample.size();
    const Counter<Key> counter(taken, device_, context_);
    const Asking all{nullptr, taken.n};
    const auto above = counter.count(all, Counted::dominators);
    const auto below = counter.count(all, Counted::dominated);
    const std::vector<std::uint32_t> dominators = to_host(above.data(), sample.size(), device_);
    const std::vector<std::uint32_t> dominated = to_host(below.data(), sample.size(), device_);
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = 0; i < sample.size(); ++i) {
      if (dominators[i] < enough_) places.push_back(i);
    }
    std::ranges::stable_sort(places, [&](auto a, auto b) { return dominated[a] > dominated[b]; });
    places.resize(std::min({places.size(), BandPolicy::kMaxJudges, BandPolicy::kJudgeBytes / row_bytes()}));
    for (std::uint32_t& place : places) place = sample[place];
    return places;
  }

  const KeyTable<Key>& table_;
  const std::uint32_t enough_;
  DeviceContext& device_;
  const Context& context_;
};

template <class Key>
KeyTable<Key> table_of(const std::vector<KeyColumn>& columns, std::size_t n) {
  KeyTable<Key> table{};
  for (std::size_t c = 0; c < columns.size(); ++c) table.columns[c] = columns[c].as<Key>();
  table.n = static_cast<std::uint32_t>(n);
  table.d = static_cast<int>(columns.size());
  return table;
}

/// Calls body(table, device) for the rows of a problem, on the device.
template <class Body>
std::vector<std::int64_t> with_table(const CountProblem& problem, const Context& context, const Body& body) {
  context.check();
  if (problem.n == 0) return {};
  const Range range("dominance counts");
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const ResidentColumns resident = load_columns(problem.keys, problem.n, problem.memory, device);
  if (problem.keys.front().width == KeyWidth::bytes8) {
    return body(table_of<std::uint64_t>(resident.columns, problem.n), device);
  }
  return body(table_of<std::uint32_t>(resident.columns, problem.n), device);
}

}  // namespace
}  // namespace dominance_counts

using dominance_counts::KeyTable;

std::vector<std::int64_t> count_dominance(const CountProblem& problem, std::span<const std::int64_t> asking,
                                          Counted counted, const Context& context) {
  if (asking.empty()) return {};
  return dominance_counts::with_table(
      problem, context, [&]<class Key>(const KeyTable<Key>& table, DeviceContext& device) {
        const auto rows = dominance_counts::to_device(std::vector<std::uint32_t>(asking.begin(), asking.end()), device);
        const auto counts = dominance_counts::Counter<Key>(table, device, context)
                                .count({rows.data(), static_cast<std::uint32_t>(asking.size())}, counted);
        return dominance_counts::to_numbers(counts, asking.size(), device);
      });
}

std::vector<std::int64_t> count_dominance(const CountProblem& problem, Counted counted, const Context& context) {
  return dominance_counts::with_table(
      problem, context, [&]<class Key>(const KeyTable<Key>& table, DeviceContext& device) {
        const auto counts = dominance_counts::Counter<Key>(table, device, context).count({nullptr, table.n}, counted);
        return dominance_counts::to_numbers(counts, table.n, device);
      });
}

std::vector<std::int64_t> find_skyband(const CountProblem& problem, std::int64_t enough, const Context& context) {
  return dominance_counts::with_table(
      problem, context, [&]<class Key>(const KeyTable<Key>& table, DeviceContext& device) {
        const auto limit = static_cast<std::uint32_t>(std::min<std::int64_t>(enough, std::int64_t{1} << 31));
        return dominance_counts::Band<Key>(table, limit, device, context).rows();
      });
}

}  // namespace skyrank::kernels::cuda

#include "kernels/cuda/indicators/volumes.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/indicators/comparison.cuh"
#include "kernels/cuda/indicators/policy.hpp"
#include "kernels/cuda/indicators/slices.cuh"

// Hypervolumes of points, from what each adds to some of the others: for the volume of all, those before it by the last
// objective, so that it adds a slice; for its contribution, all others. A point adds its box without the volume of its
// limit set, the other points moved into the box. Three kernels find these volumes:
//
// 1. find_limits: a warp a point. The box, and the limit set without points that are dominated there, in the order of
// its
//    last objective.
// 2. add_slices: a warp a task, which is one slice of one limit set. Tasks come from a counter, those of large sets and
//    late slices first. A slice is a limit set of one dimension less, whose volume slices.cuh adds up.
// 3. sum_slices: the sum of each point's slices, in their order.
//
// Example: 200 points of 8 objectives are 200 limit sets of 7, about 10,000 tasks of 6, and millions of grids of 4.
//
// Sources: While, Bradstreet, Barone: A Fast Way of Calculating Exact Hypervolumes, IEEE Transactions on Evolutionary
// Computation 16(1), 2012 (limit sets, slices). The grids are in small_volumes.cuh.
//
// Cost: as on the CPU, up to a factor of n for each dimension.
namespace skyrank::kernels::cuda {
namespace indicators {
namespace {

constexpr unsigned kThreads = VolumePolicy::kWarps * kLanes;

/// Points by their last objective, on the device.
struct Front {
  PointList points;
  RankValues values;
  const Rank* limits = nullptr;          ///< ranks of the reference
  const std::uint32_t* turns = nullptr;  ///< turns of the points, which say what limits others
  unsigned size = 0;
  unsigned dims = 0;
  bool by_turns = false;  ///< points are limited by those of lower turns; otherwise by all others whose turn is 0
};

/// The limit sets of consecutive points, and their boxes.
struct LimitSets {
  Rank* ranks = nullptr;       ///< a set after the other, each column by column
  Rank* unfiltered = nullptr;  ///< the same for each warp
  Rank* bounds = nullptr;
  double* boxes = nullptr;
  unsigned* sizes = nullptr;
  unsigned first = 0;
  unsigned count = 0;

  __device__ PointList set(unsigned slot, const Front& front) const {
    return {ranks + std::size_t{slot} * front.dims * front.size, front.size};
  }
};

__device__ unsigned lane_of_warp() { return threadIdx.x % kLanes; }
__device__ unsigned warp_of_grid() { return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; }
__device__ unsigned warps_of_grid() { return gridDim.x * blockDim.x / kLanes; }

/// Marks the points that others dominate.
__global__ void __launch_bounds__(kThreads) mark_dominated(Front front, std::uint32_t* turns) {
  const unsigned lane = lane_of_warp();
  for (unsigned point = warp_of_grid(); point < front.size; point += warps_of_grid()) {
    bool dominated = false;
    for (unsigned i = lane; i < front.size; i += kLanes) {
      bool greater = false;
      bool less = false;
      for (unsigned j = 0; j < front.dims; ++j) {
        const Rank* const column = front.points.column(j);
        greater |= column[i] > column[point];
        less |= column[i] < column[point];
      }
      dominated |= less && !greater;
    }
    dominated = __any_sync(kAllLanes, dominated) != 0;
    if (lane == 0) turns[point] = dominated ? 1 : 0;
  }
}

/// Copies the points that no other one dominates, and the first of equal ones. Returns their number.
__device__ unsigned copy_nondominated(const PointList& from, unsigned size, unsigned dims, const PointList& to,
                                      unsigned lane) {
  unsigned kept = 0;
  for (unsigned first = 0; first < size; first += kLanes) {
    const unsigned i = first + lane;
    bool dominated = i >= size;
    for (unsigned other = 0; other < size; ++other) {
      bool greater = false;
      bool less = false;
      for (unsigned j = 0; j < dims; ++j) {
        const unsigned own = i < size ? from.column(j)[i] : 0;
        const unsigned rank = from.column(j)[other];
        greater |= rank > own;
        less |= rank < own;
      }
      dominated |= !greater && (less || other < i);
    }
    const unsigned lanes = __ballot_sync(kAllLanes, !dominated);
    const unsigned place = kept + lanes_before(lanes, lane);
    for (unsigned j = 0; j < dims && !dominated; ++j) to.column(j)[place] = from.column(j)[i];
    kept += static_cast<unsigned>(__popc(lanes));
  }
  return kept;
}

template <unsigned kDims>
__device__ void find_limits_of(const Front& front, const LimitSets& sets, unsigned slot, unsigned lane) {
  const unsigned point = sets.first + slot;
  const std::uint32_t turn = front.turns[point];
  const auto limits = [&](unsigned i) {
    return front.by_turns ? front.turns[i] < turn : i != point && front.turns[i] == 0;
  };
  Comparison<kDims> comparison(front.points, point, front.limits, front.dims, lane);
  unsigned size = 0;
  double box = 0;
  if (comparison.meet(front.points, front.size, limits)) {
    box = comparison.box(front.values, sets.bounds + std::size_t{slot} * front.dims);
    const PointList all{sets.unfiltered + std::size_t{warp_of_grid()} * front.dims * front.size, front.size};
    size = comparison.collect(front.points, front.size, all, limits);
    size = copy_nondominated(all, size, front.dims, sets.set(slot, front), lane);
  }
  if (lane == 0) {
    sets.boxes[slot] = box;
    sets.sizes[slot] = size;
  }
  __syncwarp();
}

__global__ void __launch_bounds__(kThreads) find_limits(Front front, LimitSets sets) {
  const unsigned lane = lane_of_warp();
  for (unsigned slot = warp_of_grid(); slot < sets.count; slot += warps_of_grid()) {
    with_dims(front.dims, [&]<unsigned kDims>() { find_limits_of<kDims>(front, sets, slot, lane); });
  }
}

/// The slices of limit sets. Those of slots[i] have the numbers from offsets[i] on, the last first.
struct Slices {
  const unsigned* slots = nullptr;
  const unsigned* offsets = nullptr;
  unsigned sets = 0;
  unsigned count = 0;
  unsigned max_steps = 0;  ///< steps of a warp in one launch
  double* volumes = nullptr;
  SliceTask* tasks = nullptr;   ///< a task for each warp
  char* memory = nullptr;       ///< memory of each warp: what was shared, between launches, and its global memory
  unsigned* begun = nullptr;    ///< tasks that a warp has taken
  unsigned* waiting = nullptr;  ///< warps whose task goes on in the next launch
};

/// Returns the number of the set that a task is a slice of.
__device__ unsigned set_of_task(const Slices& slices, unsigned task) {
  unsigned low = 0;
  unsigned high = slices.sets;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (slices.offsets[middle] <= task ? low : high) = middle;
  }
  return low;
}

/// Begins a slice. Returns false if its volume is found, which `task.current.sum` has then.
template <unsigned kDims>
__device__ bool begin_slice(const Front& front, const LimitSets& sets, const Slices& slices, const SliceLevels& levels,
                            SliceTask& task, unsigned& steps, unsigned lane) {
  const unsigned place = set_of_task(slices, task.task);
  const unsigned slot = slices.slots[place];
  const unsigned point = slices.offsets[place + 1] - 1 - task.task;
  const PointList set = sets.set(slot, front);
  const Rank* const bounds = sets.bounds + std::size_t{slot} * front.dims;
  const unsigned dims = front.dims - 1;
  task.current = {};
  steps += 1 + point / kLanes;
  Comparison<kDims> comparison(set, point, bounds, dims, lane);
  if (!comparison.meet(set, point)) return false;
  task.height = front.values(dims, bounds[dims]) - front.values(dims, set.column(dims)[point]);
  task.box = comparison.box(front.values, levels.bounds(dims));
  const unsigned size = comparison.collect(set, point, levels.list(dims));
  levels.sort_set(levels.list(dims), size, dims);
  steps += SliceLevels::steps_of_volume(size);
  if (SliceLevels::is_small(size, dims)) {
    task.current.sum = task.height * (task.box - levels.small_volume(size, dims));
    return false;
  }
  task.dims = dims;
  task.current.size = size;
  return true;
}

/// Copies words of a warp's memory.
__device__ void copy_words(char* to, const char* from, std::size_t bytes, unsigned lane) {
  for (std::size_t i = lane; i < bytes / sizeof(double); i += kLanes) {
    reinterpret_cast<double*>(to)[i] = reinterpret_cast<const double*>(from)[i];
  }
  __syncwarp();
}

__global__ void __launch_bounds__(kThreads) add_slices(Front front, LimitSets sets, Slices slices, SliceLayout layout) {
  const unsigned lane = lane_of_warp();
  const unsigned warp = warp_of_grid();
  char* const shared = dynamic_shared<char>() + threadIdx.x / kLanes * layout.shared_bytes;
  char* const kept = slices.memory + std::size_t{warp} * (layout.shared_bytes + layout.global_bytes);
  const SliceLevels levels(layout, front.values, shared, kept + layout.shared_bytes, lane);
  SliceTask task = slices.tasks[warp];
  if (task.task != SliceTask::kNone) copy_words(shared, kept, layout.shared_bytes, lane);
  for (unsigned steps = 0; steps < slices.max_steps;) {
    bool goes_on = task.task != SliceTask::kNone;
    if (!goes_on) {
      if (lane == 0) task.task = atomicAdd(slices.begun, 1u);
      task.task = __shfl_sync(kAllLanes, task.task, 0);
      if (task.task >= slices.count) {
        task.task = SliceTask::kNone;
        break;
      }
      with_dims(front.dims - 1, [&]<unsigned kDims>() {
        goes_on = begin_slice<kDims>(front, sets, slices, levels, task, steps, lane);
      });
    }
    if (goes_on) {
      if (!levels.run(task, steps, slices.max_steps)) break;
      task.current.sum = task.height * (task.box - task.current.sum);
    }
    if (lane == 0) slices.volumes[task.task] = task.current.sum;
    task.task = SliceTask::kNone;
  }
  if (task.task != SliceTask::kNone) copy_words(kept, shared, layout.shared_bytes, lane);
  if (lane == 0) {
    slices.tasks[warp] = task;
    if (task.task != SliceTask::kNone) atomicAdd(slices.waiting, 1u);
  }
}

/// Takes the slices of each set from its box.
__global__ void __launch_bounds__(kThreads) sum_slices(LimitSets sets, Slices slices) {
  const unsigned lane = lane_of_warp();
  for (unsigned place = warp_of_grid(); place < slices.sets; place += warps_of_grid()) {
    double sum = 0;
    for (unsigned i = slices.offsets[place] + lane; i < slices.offsets[place + 1]; i += kLanes)
      sum += slices.volumes[i];
    sum = sum_of_warp(sum);
    if (lane == 0) sets.boxes[slices.slots[place]] -= sum;
  }
}

/// Points that are less than the reference, in the order of one objective, as ranks of the first `dims` objectives.
struct RankedFront {
  std::vector<std::size_t> rows;  ///< positions among all points
  std::vector<Rank> ranks;        ///< column by column
  std::vector<double> values;     ///< values of ranks, column by column, one more than points
  std::vector<Rank> limits;
};

bool is_inside(const double* point, const double* reference, std::size_t dims) {
  for (std::size_t j = 0; j < dims; ++j) {
    if (!(point[j] < reference[j])) return false;
  }
  return true;
}

RankedFront ranked_front(const FrontRows& points, const double* reference, std::size_t dims) {
  RankedFront front;
  for (std::size_t i = 0; i < points.size; ++i) {
    if (is_inside(points[i], reference, points.dims)) front.rows.push_back(i);
  }
  if (front.rows.empty()) return front;
  const auto by_column = [&](std::size_t j) {
    return [&points, j](std::size_t a, std::size_t b) {
      return points[a][j] != points[b][j] ? points[a][j] < points[b][j] : a < b;
    };
  };
  std::sort(front.rows.begin(), front.rows.end(), by_column(dims - 1));
  const std::size_t size = front.rows.size();
  front.ranks.resize(dims * size);
  front.values.resize(dims * (size + 1));
  std::vector<std::size_t> order(size);
  for (std::size_t j = 0; j < dims; ++j) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return points[front.rows[a]][j] < points[front.rows[b]][j]; });
    double* const values = front.values.data() + j * (size + 1);
    std::size_t rank = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double value = points[front.rows[order[i]]][j];
      if (i > 0 && value != values[rank]) ++rank;
      values[rank] = value;
      front.ranks[j * size + order[i]] = static_cast<Rank>(rank);
    }
    values[rank + 1] = reference[j];
    front.limits.push_back(static_cast<Rank>(rank + 1));
  }
  return front;
}

/// Returns the memory of the levels from `top` dimensions on.
SliceLayout layout_of(std::size_t top, std::size_t room, std::size_t shared_of_warp) {
  SliceLayout layout;
  layout.room = static_cast<unsigned>(room);
  layout.top = static_cast<unsigned>(top);
  const std::size_t grid_bytes =
      in_words((2 * GridMemory::kDepths + 2 * room + 1) * sizeof(double) + room * sizeof(std::uint16_t));
  std::size_t shared = 0;
  std::size_t global = 0;
  layout.first_global = 3;
  for (std::size_t dims = 3; dims <= top; ++dims) {
    const std::size_t listed = dims == top ? dims : dims > 3 ? dims - 1 : 0;
    const std::size_t bytes =
        bytes_of_sum() + bytes_of_bounds(dims) + bytes_of_points(dims, room) + bytes_of_points(listed, room + 1);
    const std::size_t all = bytes + (dims == 3 ? grid_bytes : 0);
    const bool is_shared = layout.first_global == dims && shared + all <= shared_of_warp;
    std::size_t& used = is_shared ? shared : global;
    layout.offsets[dims] = used;
    if (dims == 3) layout.grid = static_cast<unsigned>(used + bytes);
    used += all;
    if (is_shared) layout.first_global = static_cast<unsigned>(dims + 1);
  }
  layout.shared_bytes = static_cast<unsigned>(shared);
  layout.global_bytes = global;
  return layout;
}

/// Volumes that points add to others, on one device.
class AddedVolumes {
 public:
  AddedVolumes(DeviceContext& device, const RankedFront& front, std::size_t dims, unsigned max_steps,
               const Context& context)
      : device_(device), context_(context), size_(front.rows.size()), dims_(dims), max_steps_(max_steps) {
    ranks_ = uploaded(front.ranks);
    values_ = uploaded(front.values);
    limits_ = uploaded(front.limits);
    turns_ = device.allocate<std::uint32_t>(size_);
    front_.points = {ranks_.data(), static_cast<unsigned>(size_)};
    front_.values = {values_.data(), static_cast<unsigned>(size_ + 1)};
    front_.limits = limits_.data();
    front_.turns = turns_.data();
    front_.size = static_cast<unsigned>(size_);
    front_.dims = static_cast<unsigned>(dims);
  }

  /// Points are limited by those of lower turns.
  void limit_by(const std::vector<std::uint32_t>& turns) {
    front_.by_turns = true;
    upload(turns_.data(), turns.data(), turns.size() * sizeof(std::uint32_t));
  }

  /// Points are limited by all others, or all others that no point dominates.
  void limit_by_others(bool keeps_dominated) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(turns_.data(), 0, turns_.bytes(), device_.stream()));
    if (keeps_dominated) return;
    launch("mark_dominated", mark_dominated, grid_for(size_), device_.stream(), front_, turns_.data());
  }

  std::vector<double> find() {
    std::vector<double> volumes(size_);
    const std::size_t set_bytes = dims_ * size_ * sizeof(Rank);
    const std::size_t batch = std::clamp<std::size_t>(VolumePolicy::kBatchBytes / set_bytes, 1, size_);
    for (std::size_t first = 0; first < size_; first += batch) {
      find_some(first, std::span(volumes).subspan(first, std::min(batch, size_ - first)));
    }
    return volumes;
  }

 private:
  /// Blocks for a warp of each of n.
  Grid grid_for(std::size_t n) const {
    constexpr std::size_t kBlocksOfProcessor = 8;
    return {.blocks = std::min(blocks_for(n, VolumePolicy::kWarps),
                               kBlocksOfProcessor * device_.properties().multiprocessors),
            .threads = kThreads};
  }

  void upload(void* to, const void* from, std::size_t bytes) {
    order_streams(device_.stream(), device_.transfer().stream());
    device_.transfer().upload(to, from, bytes);
    order_streams(device_.transfer().stream(), device_.stream());
  }

  template <class T>
  Buffer<T> uploaded(const std::vector<T>& values) {
    auto buffer = device_.allocate<T>(values.size());
    upload(buffer.data(), values.data(), buffer.bytes());
    return buffer;
  }

  template <class T>
  void download(std::span<T> to, const T* from) {
    order_streams(device_.stream(), device_.transfer().stream());
    device_.transfer().download(to.data(), from, to.size_bytes());
  }

  void find_some(std::size_t first, std::span<double> volumes) {
    context_.check();
    const std::size_t count = volumes.size();
    const std::size_t set_ranks = dims_ * size_;
    Grid grid = grid_for(count);
    grid.blocks =
        std::min(grid.blocks, blocks_for(VolumePolicy::kBatchBytes / (set_ranks * sizeof(Rank)), VolumePolicy::kWarps));
    const auto ranks = device_.allocate<Rank>(count * set_ranks);
    const auto unfiltered = device_.allocate<Rank>(grid.blocks * VolumePolicy::kWarps * set_ranks);
    const auto bounds = device_.allocate<Rank>(count * dims_);
    const auto boxes = device_.allocate<double>(count);
    const auto sizes = device_.allocate<unsigned>(count);
    LimitSets sets;
    sets.ranks = ranks.data();
    sets.unfiltered = unfiltered.data();
    sets.bounds = bounds.data();
    sets.boxes = boxes.data();
    sets.sizes = sizes.data();
    sets.first = static_cast<unsigned>(first);
    sets.count = static_cast<unsigned>(count);
    launch("find_limits", find_limits, grid, device_.stream(), front_, sets);
    std::vector<unsigned> sizes_of_sets(count);
    download(std::span(sizes_of_sets), sizes.data());
    subtract_slices(sets, sizes_of_sets);
    download(volumes, static_cast<const double*>(boxes.data()));
  }

  /// Takes the volumes of limit sets from the boxes.
  void subtract_slices(const LimitSets& sets, const std::vector<unsigned>& sizes) {
    std::vector<unsigned> slots(sizes.size());
    std::iota(slots.begin(), slots.end(), 0u);
    std::stable_sort(slots.begin(), slots.end(), [&](unsigned a, unsigned b) { return sizes[a] > sizes[b]; });
    while (!slots.empty() && sizes[slots.back()] == 0) slots.pop_back();
    if (slots.empty()) return;
    std::vector<unsigned> offsets = {0};
    for (const unsigned slot : slots) offsets.push_back(offsets.back() + sizes[slot]);

    const auto device_slots = uploaded(slots);
    const auto device_offsets = uploaded(offsets);
    const auto volumes = device_.allocate<double>(offsets.back());
    Slices slices;
    slices.slots = device_slots.data();
    slices.offsets = device_offsets.data();
    slices.sets = static_cast<unsigned>(slots.size());
    slices.count = offsets.back();
    slices.max_steps = max_steps_;
    slices.volumes = volumes.data();
    add(sets, slices, sizes[slots.front()]);
    launch("sum_slices", sum_slices, grid_for(slots.size()), device_.stream(), sets, slices);
  }

  void add(const LimitSets& sets, Slices slices, std::size_t room) {
    const std::size_t block_bytes = device_.properties().shared_bytes_per_block;
    const std::size_t shared = std::min(VolumePolicy::kSharedBytesOfWarp, block_bytes / VolumePolicy::kWarps);
    const SliceLayout layout = layout_of(dims_ - 1, room, shared);
    Grid grid;
    grid.threads = kThreads;
    grid.shared_bytes = std::size_t{VolumePolicy::kWarps} * layout.shared_bytes;
    const std::size_t warp_bytes = layout.shared_bytes + layout.global_bytes;
    grid.blocks = resident_blocks(add_slices, kThreads, grid.shared_bytes) * device_.properties().multiprocessors;
    grid.blocks = std::min(grid.blocks, blocks_for(slices.count, VolumePolicy::kWarps));
    grid.blocks = std::min(grid.blocks, blocks_for(VolumePolicy::kBatchBytes / warp_bytes, VolumePolicy::kWarps));
    const std::size_t warps = grid.blocks * VolumePolicy::kWarps;
    const auto tasks = uploaded(std::vector<SliceTask>(warps));
    const auto memory = device_.allocate<char>(warps * warp_bytes);
    const auto counters = device_.allocate<unsigned>(2);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(counters.data(), 0, counters.bytes(), device_.stream()));
    slices.tasks = tasks.data();
    slices.memory = memory.data();
    slices.begun = counters.data();
    slices.waiting = counters.data() + 1;
    std::vector<unsigned> counts(2);
    do {
      context_.check();
      SKYRANK_CUDA_CALL(cudaMemsetAsync(slices.waiting, 0, sizeof(unsigned), device_.stream()));
      launch("add_slices", add_slices, grid, device_.stream(), front_, sets, slices, layout);
      download(std::span(counts), static_cast<const unsigned*>(counters.data()));
    } while (counts[0] < slices.count || counts[1] > 0);
  }

  DeviceContext& device_;
  const Context& context_;
  std::size_t size_;
  std::size_t dims_;
  unsigned max_steps_;
  Buffer<Rank> ranks_;
  Buffer<double> values_;
  Buffer<Rank> limits_;
  Buffer<std::uint32_t> turns_;
  Front front_;
};

}  // namespace
}  // namespace indicators

double hypervolume(const FrontRows& points, const double* reference, const Context& context, unsigned max_steps) {
  const std::size_t last = points.dims - 1;
  const indicators::RankedFront front = indicators::ranked_front(points, reference, last);
  const std::size_t size = front.rows.size();
  if (size == 0) return 0;
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const double of_a = points[front.rows[a]][last];
    const double of_b = points[front.rows[b]][last];
    return of_a != of_b ? of_a < of_b : a < b;
  });
  std::vector<std::uint32_t> turns(size);
  for (std::size_t i = 0; i < size; ++i) turns[order[i]] = static_cast<std::uint32_t>(i);

  DeviceContext& device = device_of(context);
  const Lease lease(device);
  indicators::AddedVolumes added(device, front, last, max_steps, context);
  added.limit_by(turns);
  const std::vector<double> areas = added.find();
  double volume = 0;
  for (const std::uint32_t i : order) volume += areas[i] * (reference[last] - points[front.rows[i]][last]);
  return volume;
}

void hypervolume_contributions(const FrontRows& points, const double* reference, bool keeps_dominated,
                               std::span<double> contributions, const Context& context, unsigned max_steps) {
  std::fill(contributions.begin(), contributions.end(), 0.0);
  const indicators::RankedFront front = indicators::ranked_front(points, reference, points.dims);
  if (front.rows.empty()) return;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  indicators::AddedVolumes added(device, front, points.dims, max_steps, context);
  added.limit_by_others(keeps_dominated);
  const std::vector<double> volumes = added.find();
  for (std::size_t i = 0; i < volumes.size(); ++i) contributions[front.rows[i]] = std::max(0.0, volumes[i]);
}

}  // namespace skyrank::kernels::cuda

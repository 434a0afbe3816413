#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/common/host_device.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/indicators/comparison.cuh"
#include "kernels/cuda/indicators/policy.hpp"
#include "kernels/cuda/indicators/small_volumes.cuh"

// The volume of a set of points by one warp, as in kernels/cpu/indicators/slices.cpp: points ascend in their last
// objective; each adds a slice, from its value up to the bound, over what it alone dominates of the other objectives,
// which is its box without the volume of a smaller set of fewer dimensions. The recursion is a loop over levels in
// memory, so that it can stop after a number of steps and go on in a later launch.
namespace skyrank::kernels::cuda::indicators {

/// A volume of some dimensions that is being added up, slice by slice.
struct SliceSum {
  double sum = 0;
  double height = 0;    ///< height of the slice whose set of fewer dimensions comes first
  double box = 0;       ///< volume of its box
  unsigned size = 0;    ///< points of the set
  unsigned next = 0;    ///< the point whose slice comes next
  unsigned listed = 0;  ///< points of the list
};

/// The place of each level in a warp's memory. A level has a sum, bounds, a set of points, and a list of the points of
/// the slices before, of one dimension less. The level of three dimensions has the memory of a grid too.
struct SliceLayout {
  unsigned room = 0;                       ///< points of a set, at most
  unsigned top = 0;                        ///< dimensions of the first level
  unsigned first_global = 0;               ///< levels below lie in shared memory
  unsigned shared_bytes = 0;               ///< shared memory of a warp
  std::size_t global_bytes = 0;            ///< global memory of a warp
  unsigned grid = 0;                       ///< the grid's place in shared memory
  std::size_t offsets[kMaxDims + 1] = {};  ///< places of levels, in the memory that they lie in
};

SKYRANK_HD constexpr std::size_t in_words(std::size_t bytes) {
  return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

SKYRANK_HD constexpr std::size_t bytes_of_sum() { return in_words(sizeof(SliceSum)); }
SKYRANK_HD constexpr std::size_t bytes_of_bounds(std::size_t dims) { return in_words(dims * sizeof(Rank)); }
SKYRANK_HD constexpr std::size_t bytes_of_points(std::size_t dims, std::size_t room) {
  return in_words(dims * room * sizeof(Rank));
}

/// The work of a warp between launches.
struct SliceTask {
  static constexpr unsigned kNone = ~0u;

  unsigned task = kNone;
  unsigned dims = 0;  ///< dimensions of the current level
  double height = 0;  ///< height of the task's own slice, whose box has the volume `box`
  double box = 0;
  SliceSum current;
};

/// The levels of a warp.
class SliceLevels {
 public:
  __device__ SliceLevels(const SliceLayout& layout, const RankValues& values, char* shared, char* global, unsigned lane)
      : layout_(layout), values_(values), shared_(shared), global_(global), lane_(lane) {}

  __device__ SliceSum* sum(unsigned dims) const { return reinterpret_cast<SliceSum*>(level(dims)); }
  __device__ Rank* bounds(unsigned dims) const { return reinterpret_cast<Rank*>(level(dims) + bytes_of_sum()); }
  __device__ PointList set(unsigned dims) const {
    return {reinterpret_cast<Rank*>(level(dims) + bytes_of_sum() + bytes_of_bounds(dims)), layout_.room};
  }
  __device__ PointList list(unsigned dims) const {
    char* const first = level(dims) + bytes_of_sum() + bytes_of_bounds(dims) + bytes_of_points(dims, layout_.room);
    return {reinterpret_cast<Rank*>(first), layout_.room + 1};
  }
  __device__ GridMemory grid() const {
    auto* const doubles = reinterpret_cast<double*>((layout_.first_global > 3 ? shared_ : global_) + layout_.grid);
    GridMemory memory{};
    memory.depths_z = doubles;
    memory.depths_w = doubles + GridMemory::kDepths;
    memory.widths = doubles + 2 * GridMemory::kDepths;
    memory.heights = memory.widths + layout_.room + 1;
    memory.places = reinterpret_cast<std::uint16_t*>(memory.heights + layout_.room);
    return memory;
  }

  /// Puts a set in the order of its last column.
  __device__ void sort_set(const PointList& from, unsigned size, unsigned dims) const {
    const PointList to = set(dims);
    const Rank* const last = from.column(dims - 1);
    for (unsigned i = lane_; i < size; i += kLanes) {
      const unsigned place = place_of(last, size, last[i], i);
      for (unsigned j = 0; j < dims; ++j) to.column(j)[place] = from.column(j)[i];
    }
    __syncwarp();
  }

  /// Returns true if `small_volume` finds the volume of so many points.
  static __device__ bool is_small(unsigned size, unsigned dims) {
    return dims == 3 || size <= VolumePolicy::kMaxSubsetPoints || (dims == 4 && size <= VolumePolicy::kMaxGridPoints);
  }

  /// Returns the steps that `small_volume` counts for.
  static __device__ unsigned steps_of_volume(unsigned size) { return size * (1 + size / kLanes) / 8; }

  /// Returns the volume of the set of a level.
  __device__ double small_volume(unsigned size, unsigned dims) const {
    if (size == 0) return 0;
    const PointList points = set(dims);
    if (size <= VolumePolicy::kMaxSubsetPoints) {
      return volume_of_subsets(points, size, bounds(dims), dims, values_, lane_);
    }
    if (dims == 3) return volume_of_3d(points, size, bounds(dims), values_, lane_, grid());
    return volume_of_4d(points, size, bounds(dims), values_, lane_, grid());
  }

  /// Goes on until the first level's volume is there, which it writes to `task.current.sum`, or until `steps` have
  /// reached `max_steps`; returns false then.
  __device__ bool run(SliceTask& task, unsigned& steps, unsigned max_steps) const {
    for (;;) {
      if (task.current.next == task.current.size) {
        if (task.dims == layout_.top) return true;
        const double volume = task.current.sum;
        ++task.dims;
        task.current = *sum(task.dims);
        task.current.sum = add_product(task.current.sum, task.current.height, task.current.box - volume);
        continue;
      }
      if (steps >= max_steps) return false;
      with_dims(task.dims - 1, [&]<unsigned kDims>() { add_slice<kDims>(task, steps); });
    }
  }

 private:
  __device__ char* level(unsigned dims) const {
    return (dims < layout_.first_global ? shared_ : global_) + layout_.offsets[dims];
  }

  /// Adds the next slice of a level, or makes its set the current level.
  template <unsigned kDims>
  __device__ void add_slice(SliceTask& task, unsigned& steps) const {
    SliceSum& current = task.current;
    const unsigned dims = task.dims;
    const unsigned below = kDims > 0 ? kDims : dims - 1;
    const PointList points = set(dims);
    const PointList before = list(dims);
    const unsigned i = current.next++;
    steps += 1 + current.listed / kLanes;
    Comparison<kDims> comparison(points, i, bounds(dims), below, lane_);
    if (!comparison.meet(before, current.listed)) return;
    const double height = values_(below, bounds(dims)[below]) - values_(below, points.column(below)[i]);
    const double box = comparison.box(values_, bounds(below));
    const unsigned size = comparison.collect(before, current.listed, set(below));
    if (current.next < current.size) {
      if (comparison.dominates_some()) current.listed = comparison.remove_dominated(before, current.listed);
      comparison.insert(before, current.listed++);
    }
    if (is_small(size, below)) {
      steps += steps_of_volume(size);
      current.sum = add_product(current.sum, height, box - small_volume(size, below));
      return;
    }
    current.height = height;
    current.box = box;
    if (lane_ == 0) *sum(dims) = current;
    __syncwarp();
    current = {};
    current.size = size;
    task.dims = below;
  }

  const SliceLayout& layout_;
  const RankValues& values_;
  char* shared_;
  char* global_;
  unsigned lane_;
};

}  // namespace skyrank::kernels::cuda::indicators

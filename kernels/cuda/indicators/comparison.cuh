#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/kernel/block.cuh"

// A warp compares one point with those of a list, a lane each. Values are ranks: coordinates of limit sets are always
// coordinates of points, so that 16 bits stand for them, and equal ranks for equal values.
namespace skyrank::kernels::cuda::indicators {

using Rank = std::uint16_t;

/// Points column by column.
struct PointList {
  Rank* ranks = nullptr;
  unsigned stride = 0;

  __device__ Rank* column(unsigned j) const { return ranks + j * stride; }
};

/// The values that ranks stand for, in columns of `stride`.
struct RankValues {
  const double* values = nullptr;
  unsigned stride = 0;

  __device__ double operator()(unsigned j, unsigned rank) const { return values[j * stride + rank]; }
};

/// Returns the number of lanes before this one that are set.
__device__ inline unsigned lanes_before(unsigned lanes, unsigned lane) {
  return static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
}

/// Calls `body.operator()<kDims>()` with a number of dimensions that is known when the kernel is compiled, or 0.
template <class Body>
__device__ void with_dims(unsigned dims, const Body& body) {
  switch (dims) {
    case 3: return body.template operator()<3>();
    case 4: return body.template operator()<4>();
    case 5: return body.template operator()<5>();
    case 6: return body.template operator()<6>();
    case 7: return body.template operator()<7>();
    default: return body.template operator()<0>();
  }
}

/// A point of a warp's, and the box that it dominates alone: up to `bounds`, which the points of a list cut that are
/// greater in one objective only. `kDims` is the number of objectives, or 0 where it is a variable.
template <unsigned kDims>
class Comparison {
 public:
  /// Takes the first `dims` columns. `limits` are the bounds without any other point.
  __device__ Comparison(const PointList& of, unsigned point, const Rank* limits, unsigned dims, unsigned lane)
      : dims_(dims), lane_(lane) {
#pragma unroll
    for (unsigned j = 0; j < this->dims(); ++j) {
      point_[j] = of.column(j)[point];
      bounds_[j] = limits[j];
    }
  }

  /// Finds the box's bounds. Returns false if a point of the list is nowhere greater. `among(i)` says which points of
  /// the list count.
  template <class Among>
  __device__ bool meet(const PointList& list, unsigned size, const Among& among) {
    constexpr unsigned kGreatest = 0xffff;
    for (unsigned first = 0; first < size; first += kLanes) {
      const unsigned i = first + lane_;
      const bool counts = i < size && among(i);
      bool greater_in_one = false;
      bool greater_in_two = false;
      bool less = false;
      unsigned where = 0;
      unsigned cut = kGreatest;
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) {
        const unsigned other = counts ? list.column(j)[i] : kGreatest;
        const bool greater = other > point_[j];
        greater_in_two |= greater_in_one & greater;
        where = greater ? j : where;
        cut = greater ? other : cut;
        greater_in_one |= greater;
        less |= other < point_[j];
      }
      if (__any_sync(kAllLanes, counts && !greater_in_one) != 0) return false;
      dominates_some_ |= counts && !less;
      const bool cuts = counts && !greater_in_two;
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) bounds_[j] = cuts && where == j && cut < bounds_[j] ? cut : bounds_[j];
    }
#pragma unroll
    for (unsigned j = 0; j < dims(); ++j) bounds_[j] = __reduce_min_sync(kAllLanes, bounds_[j]);
    return true;
  }
  __device__ bool meet(const PointList& list, unsigned size) {
    return meet(list, size, [](unsigned) { return true; });
  }

  /// Returns true if the point is nowhere greater than some point that `meet` saw.
  __device__ bool dominates_some() const { return __any_sync(kAllLanes, dominates_some_) != 0; }

  /// Writes the box's bounds, and returns its volume.
  __device__ double box(const RankValues& values, Rank* bounds) const {
    double volume = 1;
#pragma unroll
    for (unsigned j = 0; j < dims(); ++j) volume *= values(j, bounds_[j]) - values(j, point_[j]);
    if (lane_ == 0) {
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) bounds[j] = static_cast<Rank>(bounds_[j]);
    }
    __syncwarp();
    return volume;
  }

  /// Copies the points that reach into the box, moved into it, in their order. Returns their number.
  template <class Among>
  __device__ unsigned collect(const PointList& list, unsigned size, const PointList& to, const Among& among) const {
    unsigned kept = 0;
    for (unsigned first = 0; first < size; first += kLanes) {
      const unsigned i = first + lane_;
      bool inside = i < size && among(i);
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) inside = inside && list.column(j)[i] < bounds_[j];
      const unsigned lanes = __ballot_sync(kAllLanes, inside);
      if (inside) {
        const unsigned place = kept + lanes_before(lanes, lane_);
#pragma unroll
        for (unsigned j = 0; j < dims(); ++j) {
          const unsigned rank = list.column(j)[i];
          to.column(j)[place] = static_cast<Rank>(rank > point_[j] ? rank : point_[j]);
        }
      }
      kept += static_cast<unsigned>(__popc(lanes));
    }
    __syncwarp();
    return kept;
  }
  __device__ unsigned collect(const PointList& list, unsigned size, const PointList& to) const {
    return collect(list, size, to, [](unsigned) { return true; });
  }

  /// Takes the points out that are nowhere less. Returns how many stay.
  __device__ unsigned remove_dominated(const PointList& list, unsigned size) const {
    unsigned kept = 0;
    for (unsigned first = 0; first < size; first += kLanes) {
      const unsigned i = first + lane_;
      bool less = false;
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) less |= i < size && list.column(j)[i] < point_[j];
      const unsigned lanes = __ballot_sync(kAllLanes, less);
      const unsigned place = kept + lanes_before(lanes, lane_);
      for (unsigned j = 0; j < dims(); ++j) {
        const Rank rank = less ? list.column(j)[i] : Rank{0};
        __syncwarp();
        if (less) list.column(j)[place] = rank;
        __syncwarp();
      }
      kept += static_cast<unsigned>(__popc(lanes));
    }
    return kept;
  }

  /// Adds the point to a list at its place by the last column.
  __device__ void insert(const PointList& list, unsigned size) const {
    const Rank* const last = list.column(dims() - 1);
    unsigned place = 0;
    for (unsigned first = 0; first < size; first += kLanes) {
      const unsigned i = first + lane_;
      const unsigned lanes = __ballot_sync(kAllLanes, i < size && last[i] <= point_[dims() - 1]);
      place += static_cast<unsigned>(__popc(lanes));
      if (lanes != kAllLanes) break;
    }
    for (unsigned end = (size + kLanes - 1) / kLanes * kLanes; end > place; end -= kLanes) {
      const unsigned i = end - kLanes + lane_;
      const bool moves = place <= i && i < size;
      for (unsigned j = 0; j < dims(); ++j) {
        const Rank rank = moves ? list.column(j)[i] : Rank{0};
        __syncwarp();
        if (moves) list.column(j)[i + 1] = rank;
        __syncwarp();
      }
    }
    if (lane_ == 0) {
#pragma unroll
      for (unsigned j = 0; j < dims(); ++j) list.column(j)[place] = static_cast<Rank>(point_[j]);
    }
    __syncwarp();
  }

  __device__ unsigned rank(unsigned j) const { return point_[j]; }
  __device__ unsigned dims() const { return kDims > 0 ? kDims : dims_; }

 private:
  static constexpr unsigned kRoom = kDims > 0 ? kDims : static_cast<unsigned>(kMaxDims);

  unsigned dims_;
  unsigned lane_;
  unsigned point_[kRoom];
  unsigned bounds_[kRoom];
  bool dominates_some_ = false;
};

}  // namespace skyrank::kernels::cuda::indicators

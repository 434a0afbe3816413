#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/indicators/comparison.cuh"

// Volumes of small sets by a warp, without recursion: sums over subsets of points, and over the cells of grids. Lanes
// take subsets or cells, all do the same steps, and the sums have one order.
namespace skyrank::kernels::cuda::indicators {

/// Returns the sum of the lanes' values, the same in all lanes.
__device__ inline double sum_of_warp(double value) {
  for (int distance = static_cast<int>(kLanes) / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

/// Returns a sum and a product, each rounded, as on the host.
__device__ inline double add_product(double sum, double a, double b) { return __dadd_rn(sum, __dmul_rn(a, b)); }

/// A warp's memory for the cells of a grid. Heights of z and w are for up to kLanes points.
struct GridMemory {
  double* widths;  ///< one more than points
  double* heights;
  double* depths_z;
  double* depths_w;
  std::uint16_t* places;

  static constexpr unsigned kDepths = kLanes + 1;
};

/// The volume of up to 5 points between bounds, by inclusion and exclusion: a lane takes a subset of them.
__device__ inline double volume_of_subsets(const PointList& points, unsigned size, const Rank* bounds, unsigned dims,
                                           const RankValues& values, unsigned lane) {
  double volume = lane < 1u << size && lane > 0 ? 1 : 0;
  for (unsigned j = 0; j < dims; ++j) {
    unsigned greatest = 0;
    for (unsigned i = 0; i < size; ++i) {
      const unsigned rank = points.column(j)[i];
      if ((lane >> i & 1) != 0 && rank > greatest) greatest = rank;
    }
    volume *= values(j, bounds[j]) - values(j, greatest);
  }
  volume = sum_of_warp((__popc(lane) & 1) != 0 ? volume : -volume);
  __syncwarp();
  return volume;
}

/// Returns a point's place in the order of a column, among points of equal ranks by their numbers.
__device__ inline unsigned place_of(const Rank* column, unsigned size, unsigned rank, unsigned point) {
  unsigned place = 0;
#pragma unroll 4
  for (unsigned other = 0; other < size; ++other) {
    const unsigned value = column[other];
    place += value < rank || (value == rank && other < point) ? 1u : 0u;
  }
  return place;
}

/// Puts widths from each x to the next, and heights of y, in the order of x; `tag(i)` goes along with the point i.
template <class Tag>
__device__ void order_by_x(const PointList& points, unsigned size, const Rank* bounds, const RankValues& values,
                           unsigned lane, const GridMemory& memory, const Tag& tag) {
  const double end_y = values(1, bounds[1]);
  for (unsigned i = lane; i < size; i += kLanes) {
    const unsigned x = points.column(0)[i];
    const unsigned place = place_of(points.column(0), size, x, i);
    memory.widths[place] = values(0, x);
    memory.heights[place] = end_y - values(1, points.column(1)[i]);
    memory.places[place] = static_cast<std::uint16_t>(tag(i));
  }
  if (lane == 0) memory.widths[size] = values(0, bounds[0]);
  __syncwarp();
  for (unsigned first = 0; first < size; first += kLanes) {
    const unsigned i = first + lane;
    const double width = i < size ? memory.widths[i + 1] - memory.widths[i] : 0;
    __syncwarp();
    if (i < size) memory.widths[i] = width;
    __syncwarp();
  }
}

/// The volume of points of three dimensions that ascend in the last one. A lane takes what lies between the z of a
/// point and that of the next: the area of the points up to there, which have a place in it, by x.
__device__ inline double volume_of_3d(const PointList& points, unsigned size, const Rank* bounds,
                                      const RankValues& values, unsigned lane, const GridMemory& memory) {
  order_by_x(points, size, bounds, values, lane, memory, [](unsigned i) { return i; });
  double volume = 0;
  for (unsigned i = lane; i < size; i += kLanes) {
    const unsigned above = i + 1 < size ? points.column(2)[i + 1] : bounds[2];
    double height = 0;
    double area = 0;
#pragma unroll 4
    for (unsigned place = 0; place < size; ++place) {
      const double own = memory.places[place] <= i ? memory.heights[place] : 0;
      height = own > height ? own : height;
      area = add_product(area, memory.widths[place], height);
    }
    volume = add_product(volume, area, values(2, above) - values(2, points.column(2)[i]));
  }
  volume = sum_of_warp(volume);
  __syncwarp();
  return volume;
}

/// The same of up to kLanes points of four dimensions: lanes take cells of z and w.
__device__ inline double volume_of_4d(const PointList& points, unsigned size, const Rank* bounds,
                                      const RankValues& values, unsigned lane, const GridMemory& memory) {
  constexpr unsigned kBits = 8;  // of the place by z
  unsigned place_z = 0;
  if (lane < size) {
    const unsigned z = points.column(2)[lane];
    place_z = place_of(points.column(2), size, z, lane);
    memory.depths_z[place_z] = values(2, z);
    memory.depths_w[lane] = values(3, points.column(3)[lane]);
  }
  if (lane == 0) {
    memory.depths_z[size] = values(2, bounds[2]);
    memory.depths_w[size] = values(3, bounds[3]);
  }
  order_by_x(points, size, bounds, values, lane, memory,
             [&](unsigned i) { return i << kBits | place_z; });  // i is the lane
  double volume = 0;
  unsigned w = 0;
  unsigned z = lane;
  for (unsigned cell = lane; cell < size * size; cell += kLanes, z += kLanes) {
    while (z >= size) {
      z -= size;
      ++w;
    }
    double height = 0;
    double area = 0;
#pragma unroll 4
    for (unsigned place = 0; place < size; ++place) {
      const unsigned places = memory.places[place];
      const bool counts = places >> kBits <= w && (places & ((1u << kBits) - 1)) <= z;
      const double own = counts ? memory.heights[place] : 0;
      height = own > height ? own : height;
      area = add_product(area, memory.widths[place], height);
    }
    const double depth = memory.depths_z[z + 1] - memory.depths_z[z];
    volume = add_product(volume, area * depth, memory.depths_w[w + 1] - memory.depths_w[w]);
  }
  volume = sum_of_warp(volume);
  __syncwarp();
  return volume;
}

}  // namespace skyrank::kernels::cuda::indicators

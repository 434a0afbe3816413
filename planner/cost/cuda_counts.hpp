#pragma once

#include <algorithm>
#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/terms.hpp"

namespace skyrank::planner::cost {

/// Rows that count others, or a skyband, on a GPU (kernels/cuda/dominance_counts).
struct CountShape {
  double rows = 0;
  double asking = 0;     ///< rows whose numbers are asked for, or that a skyband keeps
  double dims = 0;       ///< keys of a row
  double key_bytes = 4;  ///< bytes of one key: 4 or 8
  double sent = 0;       ///< bytes that have to go to the GPU first
};

namespace counts {

inline constexpr double kTile = 512;     // asking rows that a row meets at a time
inline constexpr double kPlace = 80;     // operations for the place of a row by a key
inline constexpr double kWords = 16;     // words of a set
inline constexpr double kWord = 10;      // operations for a word that is added up,
inline constexpr double kWordKey = 4;    // and for each key
inline constexpr double kTableKey = 66;  // bytes of the tables of an asking row by a key
inline constexpr double kNumber = 4;     // bytes

struct CountSteps {
  double tiles = 0;
  double places = 0;
  double operations = 0;
};

inline CountSteps steps_of(double rows, double asking, double dims) {
  const double tiles = std::ceil(asking / kTile);
  return {tiles, rows * tiles * dims * kPlace, rows * tiles * kWords * (kWord + kWordKey * dims)};
}

}  // namespace counts

/// Each row finds its place in each tile of asking rows by each key, and adds up a set of these. The operations are
/// those of the compiled code, at the rate of other kernels.
inline Cost cuda_counts(const CountShape& shape) {
  const counts::CountSteps steps = counts::steps_of(shape.rows, shape.asking, shape.dims);
  const double table = std::min(steps.tiles * counts::kTile * shape.dims * (counts::kTableKey + shape.key_bytes), 64e6);
  return {{{"start", 1, kCudaStart},
           {"bytes-sent", shape.sent + counts::kNumber * shape.asking, kTransferByte},
           {"bytes-fetched", counts::kNumber * shape.asking, kTransferByte},
           {"launches", 3, kCudaLaunch},
           {"bytes", shape.rows * shape.dims * shape.key_bytes + table, kCudaByte},
           {"places", steps.places, kCudaOperation},
           {"sets", steps.operations, kCudaOperation}},
          shape.sent + table + counts::kNumber * shape.asking};
}

/// A sample leaves a few times as many rows as the skyband keeps, and these count each other.
inline Cost cuda_skyband(const CountShape& shape) {
  constexpr double kLeft = 8;        // rows that a sample leaves, over those that the skyband keeps
  constexpr double kSample = 4096;   // rows of the sample, which count each other twice
  constexpr double kJudgedKey = 60;  // operations for a row that meets the judges, for each key
  constexpr double kLaunches = 16;
  const double left = std::min(shape.rows, kLeft * shape.asking);
  const counts::CountSteps of_sample = counts::steps_of(kSample, 2 * kSample, shape.dims);
  const counts::CountSteps of_left = counts::steps_of(left, left, shape.dims);
  Cost cost = cuda_counts({.rows = left, .asking = left, .dims = shape.dims, .key_bytes = shape.key_bytes});
  return {{{"start", 1, kCudaStart},
           {"bytes-sent", shape.sent, kTransferByte},
           {"bytes-fetched", 8 * shape.asking + 2 * counts::kNumber * kSample, kTransferByte},
           {"launches", kLaunches, kCudaLaunch},
           {"waits", 4, kCudaWait},
           {"bytes", shape.rows * shape.dims * shape.key_bytes, kCudaByte},
           {"judged", shape.rows * shape.dims * kJudgedKey, kCudaOperation},
           {"places", of_sample.places + of_left.places, kCudaOperation},
           {"sets", of_sample.operations + of_left.operations, kCudaOperation}},
          shape.sent + shape.rows / 8 + left * (shape.dims * shape.key_bytes + 8) + cost.bytes};
}

}  // namespace skyrank::planner::cost

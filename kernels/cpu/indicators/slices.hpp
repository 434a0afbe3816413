#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::indicators {

/// Points column by column. Behind the last one there is room for one more, and for a vector of infinities, which loops
/// over whole vectors read.
class PointColumns {
 public:
  static constexpr std::size_t kPadding = 8;

  /// Forgets all points, and has room for so many.
  void reset(std::size_t room, std::size_t dims) {
    if (room + 1 + kPadding > capacity_ || dims > dims_) {
      capacity_ = std::max(2 * capacity_, room + 1 + kPadding);
      dims_ = dims;
      values_ = Array<double>(capacity_ * dims_);
    }
    set_size(0, dims);
  }

  /// Takes the first points of what was written into the columns.
  void set_size(std::size_t size, std::size_t dims) {
    size_ = size;
    for (std::size_t j = 0; j < dims; ++j) {
      std::fill_n(column(j) + size, kPadding, std::numeric_limits<double>::infinity());
    }
  }

  PointColumns copy() const {
    PointColumns other;
    other.reset(size_, dims_);
    for (std::size_t j = 0; j < dims_; ++j) std::copy_n(column(j), size_, other.column(j));
    other.set_size(size_, dims_);
    return other;
  }

  std::size_t size() const { return size_; }
  double* column(std::size_t j) { return values_.get() + j * capacity_; }
  const double* column(std::size_t j) const { return values_.get() + j * capacity_; }

 private:
  Array<double> values_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t dims_ = 0;
};

/// The memory of one thread, for calls with points of one number of dimensions.
struct SliceMemory {
  struct Level {
    PointColumns list;        ///< points of the slices before
    PointColumns candidates;  ///< points that limit the volume of the current one
    Vector<double> bounds = Vector<double>(kMaxDims);
  };

  Vector<Level> levels;     ///< by number of dimensions
  Vector<double> stairs_x;  ///< stairs of a sweep in three dimensions
  Vector<double> stairs_y;
  std::size_t listed = 0;  ///< points that the list of the highest level has met
};

/// Writes, for each i in [begin, end), the volume that the point i adds to those before it. `points` ascend in their
/// last column. Calls with one `memory` ascend.
void slice_volumes(const PointColumns& points, std::size_t dims, const double* reference, std::size_t begin,
                   std::size_t end, double* volumes, SliceMemory& memory, const Context& context);

/// Writes, for each i in [begin, end), the volume that the point i adds to all others. `points` ascend in their last
/// column, and are as before after the call.
void lone_volumes(PointColumns& points, std::size_t dims, const double* reference, std::size_t begin, std::size_t end,
                  double* volumes, SliceMemory& memory, const Context& context);

}  // namespace skyrank::kernels::indicators

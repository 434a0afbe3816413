#include "kernels/cpu/indicators/slices.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indicators/slices.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Volumes in four dimensions and more, slice by slice.
//
// Points ascend in their last objective. The i-th adds its height, up to the reference, times the volume that it alone
// dominates in the other objectives, beside the points before it. That volume is its box less the hypervolume of the
// points before it, moved into the box (the limit set); it has one dimension less, and is found in the same way down to
// a sweep in three dimensions. Three things keep the limit sets small:
// - the list of points before has none that a later one dominates without the last objective;
// - a point that is greater in one objective alone cuts the box, instead of becoming one of the limit set, and with it
//   goes all that lies beyond the cut;
// - lists are kept in the order of their last objective, so that limit sets come in order without being sorted.
// One pass over the list finds all this, several points at a time.
//
// Sources: While, Bradstreet, Barone: A Fast Way of Calculating Exact Hypervolumes, IEEE Transactions on Evolutionary
// Computation 16(1), 2012 (limit sets, slices); in four dimensions the sum is that of HV4D, Guerreiro, Fonseca,
// Emmerich: A Fast Dimension-Sweep Algorithm for the Hypervolume Indicator in Four Dimensions, CCCG 2012.
//
// Cost: in four dimensions O(n^2) for lists, and a sweep of each limit set; then up to a factor of n for each
// dimension.
HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::indicators {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Lists are of a dozen to some hundred points, for which vectors of eight are slower than those of four.
using Tag = hn::CappedTag<double, 4>;
using Values = hn::Vec<Tag>;
using Mask = hn::Mask<Tag>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxFlat = 512;  ///< points whose stairs are searched one by one

/// Compares a point with those of a list. `kDims` is their number of dimensions, or 0 where it is a variable.
template <std::size_t kDims>
class Comparison {
 public:
  HWY_INLINE Comparison(const double* point, const double* limits, std::size_t dims) : dims_(dims) {
    for (std::size_t j = 0; j < this->dims(); ++j) {
      point_[j] = hn::Set(Tag(), point[j]);
      bounds_[j] = hn::Set(Tag(), limits[j]);
    }
  }

  /// Finds how far the point's box reaches. Returns false if a point of the list is nowhere greater.
  HWY_INLINE bool meet(const PointColumns& list) {
    const Tag tag;
    for (std::size_t i = 0; i < list.size(); i += hn::Lanes(tag)) {
      Mask greater_in_one = hn::FirstN(tag, 0);
      Mask greater_in_two = hn::FirstN(tag, 0);
      Mask less = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < dims(); ++j) {
        const Values other = hn::LoadU(tag, list.column(j) + i);
        const Mask greater = hn::Lt(point_[j], other);
        greater_in_two = hn::Or(greater_in_two, hn::And(greater_in_one, greater));
        greater_in_one = hn::Or(greater_in_one, greater);
        less = hn::Or(less, hn::Lt(other, point_[j]));
      }
      if (!hn::AllTrue(tag, greater_in_one)) return false;
      const Mask cuts = hn::AndNot(greater_in_two, greater_in_one);
      // In three dimensions nearly all vectors have such a point, and a branch costs more than what it saves.
      if (kDims == 3 || !hn::AllFalse(tag, cuts)) cut(list, i, cuts);
      if (i + hn::Lanes(tag) > list.size()) less = hn::Or(less, hn::Not(hn::FirstN(tag, list.size() - i)));
      dominates_some_ |= !hn::AllTrue(tag, less);
    }
    return true;
  }

  /// Returns true if the point is nowhere greater than some point that `meet` saw.
  bool dominates_some() const { return dominates_some_; }

  /// Writes the box's end, and returns its volume.
  HWY_INLINE double box(const double* point, double* bounds) {
    double volume = 1;
    for (std::size_t j = 0; j < dims(); ++j) {
      bounds[j] = hn::GetLane(hn::MinOfLanes(Tag(), bounds_[j]));
      bounds_[j] = hn::Set(Tag(), bounds[j]);
      volume *= bounds[j] - point[j];
    }
    return volume;
  }

  /// Copies the points that reach into the box, moved into it.
  HWY_INLINE void collect(const PointColumns& list, PointColumns& candidates) const {
    const Tag tag;
    std::size_t size = 0;
    for (std::size_t i = 0; i < list.size(); i += hn::Lanes(tag)) {
      Mask inside = hn::Lt(hn::LoadU(tag, list.column(0) + i), bounds_[0]);
      for (std::size_t j = 1; j < dims(); ++j) {
        inside = hn::And(inside, hn::Lt(hn::LoadU(tag, list.column(j) + i), bounds_[j]));
      }
      if (hn::AllFalse(tag, inside)) continue;
      for (std::size_t j = 0; j < dims(); ++j) {
        const Values moved = hn::Max(hn::LoadU(tag, list.column(j) + i), point_[j]);
        hn::StoreU(hn::Compress(moved, inside), tag, candidates.column(j) + size);
      }
      size += hn::CountTrue(tag, inside);
    }
    candidates.set_size(size, dims());
  }

  /// Takes the points out that are nowhere less.
  HWY_INLINE void remove_dominated(PointColumns& list) const {
    const Tag tag;
    std::size_t size = 0;
    for (std::size_t i = 0; i < list.size(); i += hn::Lanes(tag)) {
      Mask less = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < dims(); ++j) {
        less = hn::Or(less, hn::Lt(hn::LoadU(tag, list.column(j) + i), point_[j]));
      }
      for (std::size_t j = 0; j < dims(); ++j) {
        hn::StoreU(hn::Compress(hn::LoadU(tag, list.column(j) + i), less), tag, list.column(j) + size);
      }
      size += hn::CountTrue(tag, less);
    }
    list.set_size(size, dims());
  }

  std::size_t dims() const { return kDims > 0 ? kDims : dims_; }

 private:
  HWY_INLINE void cut(const PointColumns& list, std::size_t i, Mask cuts) {
    const Tag tag;
    for (std::size_t j = 0; j < dims(); ++j) {
      const Values other = hn::LoadU(tag, list.column(j) + i);
      const Mask here = hn::And(cuts, hn::Lt(point_[j], other));
      bounds_[j] = hn::Min(bounds_[j], hn::IfThenElse(here, other, hn::Set(tag, kInfinity)));
    }
  }

  static constexpr std::size_t kRoom = kDims > 0 ? kDims : kMaxDims;
  std::size_t dims_;
  Values point_[kRoom];
  Values bounds_[kRoom];
  bool dominates_some_ = false;
};

/// Adds a point at its place by the last column.
void insert(const double* point, std::size_t dims, PointColumns& list) {
  const std::size_t size = list.size();
  const double* const last = list.column(dims - 1);
  const auto place = static_cast<std::size_t>(std::upper_bound(last, last + size, point[dims - 1]) - last);
  for (std::size_t j = 0; j < dims; ++j) {
    double* const column = list.column(j);
    std::copy_backward(column + place, column + size, column + size + 1);
    column[place] = point[j];
  }
  list.set_size(size + 1, dims);
}

/// Returns the volume between two corners of a box. The first is a point of `points`.
double box_of(const PointColumns& points, std::size_t i, const double* bounds, std::size_t dims) {
  double volume = 1;
  for (std::size_t j = 0; j < dims; ++j) volume *= bounds[j] - points.column(j)[i];
  return volume;
}

double volume_of_two(const PointColumns& points, const double* bounds, std::size_t dims) {
  double shared = 1;
  for (std::size_t j = 0; j < dims; ++j) shared *= bounds[j] - std::max(points.column(j)[0], points.column(j)[1]);
  return box_of(points, 0, bounds, dims) + (box_of(points, 1, bounds, dims) - shared);
}

double volume_of_2d(const PointColumns& points, const double* bounds) {
  double volume = 0;
  double least = bounds[0];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = points.column(0)[i];
    if (x >= least) continue;
    volume += (least - x) * (bounds[1] - points.column(1)[i]);
    least = x;
  }
  return volume;
}

/// Stairs of a sweep: x ascends and y descends, between a step at each end.
class Stairs {
 public:
  Stairs(double bound_x, double bound_y, double* x, double* y) : x_(x), y_(y) {
    x_[0] = -kInfinity;
    y_[0] = bound_y;
    x_[1] = bound_x;
    y_[1] = -kInfinity;
  }

  /// Adds a point, and returns the area that it adds.
  double add(double x, double y) {
    std::size_t place = 1;
    while (x_[place] < x) ++place;
    if (y_[place - 1] <= y) return 0;
    double area = 0;
    double left = x;
    double top = y_[place - 1];
    std::size_t end = place;
    for (; y_[end] >= y; ++end) {
      area += (x_[end] - left) * (top - y);
      left = x_[end];
      top = y_[end];
    }
    area += (x_[end] - left) * (top - y);
    replace(place, end);
    x_[place] = x;
    y_[place] = y;
    return area;
  }

 private:
  /// Makes the steps [begin, end) one.
  void replace(std::size_t begin, std::size_t end) {
    if (end == begin) {
      std::copy_backward(x_ + begin, x_ + size_, x_ + size_ + 1);
      std::copy_backward(y_ + begin, y_ + size_, y_ + size_ + 1);
    } else if (end > begin + 1) {
      std::copy(x_ + end, x_ + size_, x_ + begin + 1);
      std::copy(y_ + end, y_ + size_, y_ + begin + 1);
    }
    size_ = size_ + 1 - (end - begin);
  }

  double* x_;
  double* y_;
  std::size_t size_ = 2;
};

class Slices {
 public:
  Slices(SliceMemory& memory, const Context& context) : memory_(memory), context_(context) {}

  /// Returns the volume of points that ascend in their last column.
  double volume(const PointColumns& points, const double* bounds, std::size_t dims) {
    switch (points.size()) {
      case 0: return 0;
      case 1: return box_of(points, 0, bounds, dims);
      case 2: return volume_of_two(points, bounds, dims);
      default: break;
    }
    if (dims == 2) return volume_of_2d(points, bounds);
    if (dims == 3) return volume_of_3d(points, bounds);
    if (dims > 4) context_.check();
    PointColumns& list = memory_.levels[dims - 1].list;
    list.reset(points.size(), dims - 1);
    std::array<double, kMaxDims> point;
    double volume = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = 0; j < dims; ++j) point[j] = points.column(j)[i];
      volume += (bounds[dims - 1] - point[dims - 1]) * added_volume(point.data(), bounds, dims - 1, list);
    }
    return volume;
  }

  /// Returns the volume that a point adds to those of a list, and adds it to the list.
  double added_volume(const double* point, const double* limits, std::size_t dims, PointColumns& list) {
    switch (dims) {
      case 3: return added_volume_of<3>(point, limits, dims, list);
      case 4: return added_volume_of<4>(point, limits, dims, list);
      case 5: return added_volume_of<5>(point, limits, dims, list);
      case 6: return added_volume_of<6>(point, limits, dims, list);
      default: return added_volume_of<0>(point, limits, dims, list);
    }
  }

  /// Adds a point to a list.
  void add(const double* point, const double* limits, std::size_t dims, PointColumns& list) const {
    if (dims == 3) return add_of<3>(point, limits, dims, list);
    add_of<0>(point, limits, dims, list);
  }

  /// Returns the volume that a point adds to those of a list.
  double lone_volume(const double* point, const double* limits, std::size_t dims, const PointColumns& list) {
    Comparison<0> comparison(point, limits, dims);
    return comparison.meet(list) ? left_of_box(comparison, point, list) : 0;
  }

 private:
  template <std::size_t kDims>
  double added_volume_of(const double* point, const double* limits, std::size_t dims, PointColumns& list) {
    Comparison<kDims> comparison(point, limits, dims);
    if (!comparison.meet(list)) return 0;
    const double volume = left_of_box(comparison, point, list);
    if (comparison.dominates_some()) comparison.remove_dominated(list);
    insert(point, dims, list);
    return volume;
  }

  template <std::size_t kDims>
  void add_of(const double* point, const double* limits, std::size_t dims, PointColumns& list) const {
    Comparison<kDims> comparison(point, limits, dims);
    if (!comparison.meet(list)) return;
    if (comparison.dominates_some()) comparison.remove_dominated(list);
    insert(point, dims, list);
  }

  /// Returns the volume of a point's box without what the points of a list dominate of it.
  template <std::size_t kDims>
  double left_of_box(Comparison<kDims>& comparison, const double* point, const PointColumns& list) {
    SliceMemory::Level& level = memory_.levels[comparison.dims()];
    const double box = comparison.box(point, level.bounds.data());
    level.candidates.reset(list.size(), comparison.dims());
    comparison.collect(list, level.candidates);
    return box - volume(level.candidates, level.bounds.data(), comparison.dims());
  }

  double volume_of_3d(const PointColumns& points, const double* bounds) {
    if (points.size() > kMaxFlat) return volume_of_many(points, bounds);
    if (memory_.stairs_x.empty()) {
      memory_.stairs_x.resize(kMaxFlat + 3);
      memory_.stairs_y.resize(kMaxFlat + 3);
    }
    Stairs stairs(bounds[0], bounds[1], memory_.stairs_x.data(), memory_.stairs_y.data());
    double volume = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      volume += stairs.add(points.column(0)[i], points.column(1)[i]) * (bounds[2] - points.column(2)[i]);
    }
    return volume;
  }

  double volume_of_many(const PointColumns& points, const double* bounds) const {
    RawVector<double> rows(3 * points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = 0; j < 3; ++j) rows[3 * i + j] = points.column(j)[i];
    }
    return hypervolume_3d({rows.data(), points.size(), 3}, bounds, context_);
  }

  SliceMemory& memory_;
  const Context& context_;
};

void slices(const PointColumns& points, std::size_t dims, const double* reference, std::size_t begin, std::size_t end,
            double* volumes, SliceMemory& memory, const Context& context) {
  Slices slices(memory, context);
  PointColumns& list = memory.levels[dims - 1].list;
  if (memory.listed == 0) list.reset(points.size(), dims - 1);
  std::array<double, kMaxDims> point;
  for (std::size_t& i = memory.listed; i < end; ++i) {
    context.check();
    for (std::size_t j = 0; j < dims; ++j) point[j] = points.column(j)[i];
    if (i < begin) {
      slices.add(point.data(), reference, dims - 1, list);
    } else {
      const double height = reference[dims - 1] - point[dims - 1];
      volumes[i] = height * slices.added_volume(point.data(), reference, dims - 1, list);
    }
  }
}

void lone(PointColumns& points, std::size_t dims, const double* reference, std::size_t begin, std::size_t end,
          double* volumes, SliceMemory& memory, const Context& context) {
  Slices slices(memory, context);
  std::array<double, kMaxDims> point;
  for (std::size_t i = begin; i < end; ++i) {
    context.check();
    for (std::size_t j = 0; j < dims; ++j) point[j] = points.column(j)[i];
    points.column(0)[i] = kInfinity;  // takes the point itself out of all boxes
    volumes[i] = slices.lone_volume(point.data(), reference, dims, points);
    points.column(0)[i] = point[0];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::indicators
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::indicators {

HWY_EXPORT(slices);
HWY_EXPORT(lone);

void slice_volumes(const PointColumns& points, std::size_t dims, const double* reference, std::size_t begin,
                   std::size_t end, double* volumes, SliceMemory& memory, const Context& context) {
  if (memory.levels.size() < dims) memory.levels.resize(dims);
  HWY_DYNAMIC_DISPATCH(slices)(points, dims, reference, begin, end, volumes, memory, context);
}

void lone_volumes(PointColumns& points, std::size_t dims, const double* reference, std::size_t begin, std::size_t end,
                  double* volumes, SliceMemory& memory, const Context& context) {
  if (memory.levels.size() < dims + 1) memory.levels.resize(dims + 1);
  HWY_DYNAMIC_DISPATCH(lone)(points, dims, reference, begin, end, volumes, memory, context);
}

}  // namespace skyrank::kernels::indicators
#endif

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/indicators/rank_set.hpp"
#include "kernels/cpu/indicators/sweep_3d.hpp"

// Contributions in three dimensions: points by z, which build stairs in x and y. For each point of the stairs there is
// a list of rectangles, the area that it alone dominates at the current z. A point that comes gets its rectangles from
// the points that it takes out of the stairs, ends theirs, and cuts those of its two neighbours. A rectangle counts
// when it ends: its area times the z that it lasted. Only volumes above 0 are added, so that small contributions are
// exact too.
//
// Source: Emmerich, Fonseca: Computing Hypervolume Contributions in Low Dimensions: Asymptotically Optimal Algorithm
// and Complexity Results, EMO 2011, section 4. HVC3D (Guerreiro, Fonseca, IEEE TEVC 22(3), 2018) has the same
// complexity.
//
// Cost: O(n log n) for the orders; each point makes one rectangle more than it ends.
namespace skyrank::kernels::indicators {
namespace {

constexpr std::size_t kNone = RankSet::kNone;
constexpr std::size_t kCheckPoints = std::size_t{1} << 16;  ///< points between two looks at the stop token

/// A part of what a point alone dominates: from `left` to `right` and from the point's y to `top`, since `z`.
struct Box {
  double left = 0;
  double right = 0;
  double top = 0;
  double z = 0;
  std::size_t before = kNone;  ///< neighbours in the list of the point; x ascends and tops descend
  std::size_t after = kNone;
};

class Contributions {
 public:
  Contributions(const SweepOrder& order, const double* reference)
      : points_(order.points), reference_(reference), stairs_(points_.size()), lists_(points_.size()) {}

  /// Adds the next point of the sweep.
  void add(std::size_t rank) {
    const Point3& point = points_[rank];
    const std::size_t before = stairs_.before(rank);
    if (before != kNone && points_[before].y <= point.y) {
      const Point3& other = points_[before];
      if (other.x == point.x && other.y == point.y && other.z == point.z) lists_[before].twice = true;
      return;
    }
    double top = before == kNone ? reference_[1] : points_[before].y;
    double left = point.x;
    std::size_t after = stairs_.after(rank);
    for (; after != kNone && points_[after].y >= point.y; after = stairs_.after(after)) {
      append(rank, {left, points_[after].x, top, point.z});
      left = points_[after].x;
      top = points_[after].y;
      finish(after, point.z);
      stairs_.erase(after);
    }
    append(rank, {left, after == kNone ? reference_[0] : points_[after].x, top, point.z});
    stairs_.insert(rank);
    if (before != kNone) cut_right(before, point.x, point.z);
    if (after != kNone) cut_top(after, point.y, point.z);
  }

  /// Ends all rectangles at the reference, and writes the contributions.
  void write(std::span<double> contributions) {
    for (std::size_t rank = 0; rank < points_.size(); ++rank) {
      finish(rank, reference_[2]);
      contributions[points_[rank].row] = lists_[rank].twice ? 0 : lists_[rank].volume;
    }
  }

 private:
  struct List {
    std::size_t first = kNone;
    std::size_t last = kNone;
    double volume = 0;
    bool twice = false;  ///< another point is equal
  };

  void append(std::size_t rank, const Box& box) { link_last(rank, new_box(box)); }

  std::size_t new_box(const Box& box) {
    if (free_ == kNone) {
      boxes_.push_back(box);
      return boxes_.size() - 1;
    }
    const std::size_t place = free_;
    free_ = boxes_[place].after;
    boxes_[place] = box;
    return place;
  }

  void link_last(std::size_t rank, std::size_t place) {
    List& list = lists_[rank];
    boxes_[place].before = list.last;
    boxes_[place].after = kNone;
    (list.last == kNone ? list.first : boxes_[list.last].after) = place;
    list.last = place;
  }

  void link_first(std::size_t rank, std::size_t place) {
    List& list = lists_[rank];
    boxes_[place].before = kNone;
    boxes_[place].after = list.first;
    (list.first == kNone ? list.last : boxes_[list.first].before) = place;
    list.first = place;
  }

  /// Counts what a rectangle of a point had up to z.
  void count(std::size_t rank, const Box& box, double z) {
    lists_[rank].volume += (box.right - box.left) * (box.top - points_[rank].y) * (z - box.z);
  }

  Box take_first(std::size_t rank, double z) {
    List& list = lists_[rank];
    const std::size_t place = list.first;
    list.first = boxes_[place].after;
    (list.first == kNone ? list.last : boxes_[list.first].before) = kNone;
    return release(rank, place, z);
  }

  Box take_last(std::size_t rank, double z) {
    List& list = lists_[rank];
    const std::size_t place = list.last;
    list.last = boxes_[place].before;
    (list.last == kNone ? list.first : boxes_[list.last].after) = kNone;
    return release(rank, place, z);
  }

  Box release(std::size_t rank, std::size_t place, double z) {
    const Box box = boxes_[place];
    count(rank, box, z);
    boxes_[place].after = free_;
    free_ = place;
    return box;
  }

  void finish(std::size_t rank, double z) {
    while (lists_[rank].first != kNone) take_first(rank, z);
  }

  /// Ends what a point alone dominates from x on.
  void cut_right(std::size_t rank, double x, double z) {
    while (lists_[rank].last != kNone && boxes_[lists_[rank].last].right > x) {
      const Box box = take_last(rank, z);
      if (box.left < x) append(rank, {box.left, x, box.top, z});
    }
  }

  /// Ends what a point alone dominates from y on. What is left below is one rectangle.
  void cut_top(std::size_t rank, double y, double z) {
    if (lists_[rank].first == kNone || boxes_[lists_[rank].first].top <= y) return;
    const double left = boxes_[lists_[rank].first].left;
    double right = left;
    while (lists_[rank].first != kNone && boxes_[lists_[rank].first].top > y) right = take_first(rank, z).right;
    link_first(rank, new_box({left, right, y, z}));
  }

  const RawVector<Point3>& points_;
  const double* reference_;
  RankSet stairs_;
  Vector<List> lists_;
  Vector<Box> boxes_;
  std::size_t free_ = kNone;  ///< first of the boxes that are free, linked by `after`
};

}  // namespace

void contributions_3d(const PointRows& points, const double* reference, std::span<double> contributions,
                      const Context& context) {
  const SweepOrder order = sweep_order(points, context);
  Contributions sweep(order, reference);
  for (std::size_t i = 0; i < order.ranks.size(); ++i) {
    if (i % kCheckPoints == 0) context.check();
    sweep.add(order.ranks[i]);
  }
  sweep.write(contributions);
}

}  // namespace skyrank::kernels::indicators

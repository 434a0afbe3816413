#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/dominance_counts/window.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Counts by three keys or more: every point is compared with the points of a window, a vector of them at a time.
//
// Points go by in the order of the sums of their keys, so that all dominators of a point come before it (as in SFS and
// SaLSa). The window has those that fewer than `enough` rows dominate. It suffices: the first `enough` dominators of a
// point in this order have fewer each, as their dominators are among them, and all dominators of a point of the
// k-skyband are in the k-skyband. Comparing ends once `enough` are found.
//
// A block of points is compared with the window by all threads, then each point that is left with those before it in
// the block. Without a limit the window has all points from the beginning. What a point dominates is counted in the
// same way by the complements of its keys.
//
// Cost: a comparison of up to d vectors for each point and each vector of points of the window, on all threads.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dominance_counts/pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::dominance_counts {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns how many rows those of the points [begin, end) stand for that are nowhere greater than a point.
std::int64_t count_not_greater(const WindowView& window, std::size_t begin, std::size_t end,
                               const std::int32_t* point) {
  const hn::ScalableTag<std::int32_t> tag;
  const std::size_t lanes = hn::Lanes(tag);
  auto sum = hn::Zero(tag);
  std::size_t j = begin;
  const auto add = [&](std::size_t at, auto weights) {
    auto greater = hn::Gt(hn::LoadU(tag, window.columns + at), hn::Set(tag, point[0]));
    for (std::size_t c = 1; c < window.dims; ++c) {
      if (c % 2 == 0 && hn::AllTrue(tag, greater)) return;
      greater =
          hn::Or(greater, hn::Gt(hn::LoadU(tag, window.columns + c * window.stride + at), hn::Set(tag, point[c])));
    }
    sum = hn::Add(sum, hn::IfThenZeroElse(greater, weights));
  };
  for (; j + lanes <= end; j += lanes) add(j, hn::LoadU(tag, window.weights + j));
  if (j < end) add(j, hn::IfThenElseZero(hn::FirstN(tag, end - j), hn::LoadU(tag, window.weights + j)));
  return hn::GetLane(hn::SumOfLanes(tag, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::dominance_counts
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::dominance_counts {

HWY_EXPORT(count_not_greater);

std::int64_t count_within(const WindowView& window, std::size_t begin, std::size_t end, const std::int32_t* point) {
  return HWY_DYNAMIC_DISPATCH(count_not_greater)(window, begin, end, point);
}

namespace {

constexpr std::size_t kBlock = 2048;  ///< points that are compared with one window
constexpr std::size_t kGrain = 16;    ///< points that one thread takes at a time
constexpr std::size_t kTile = 2048;   ///< points of the window that stay in the caches

/// The points with which others are compared. It grows with them.
class Window {
 public:
  Window(std::size_t room, std::size_t dims) : dims_(dims) { grow(room); }

  std::size_t size() const { return size_; }
  WindowView view() const { return {columns_.data(), weights_.data(), stride_, dims_}; }

  void push(const std::int32_t* point, std::int32_t weight) {
    if (size_ + kMaxLanes == stride_) grow(2 * size_ + 1);
    for (std::size_t c = 0; c < dims_; ++c) columns_[c * stride_ + size_] = point[c];
    weights_[size_++] = weight;
  }

  /// Forgets the points from `size` on.
  void truncate(std::size_t size) { size_ = size; }

 private:
  void grow(std::size_t room) {
    const std::size_t stride = room + kMaxLanes;
    Scratch<std::int32_t> columns(stride * dims_, 0);
    for (std::size_t c = 0; c < dims_; ++c) {
      std::copy_n(columns_.begin() + static_cast<std::ptrdiff_t>(c * stride_), size_,
                  columns.begin() + static_cast<std::ptrdiff_t>(c * stride));
    }
    columns_ = std::move(columns);
    weights_.resize(stride, 0);
    stride_ = stride;
  }

  std::size_t dims_;
  std::size_t stride_ = 0;
  std::size_t size_ = 0;
  Scratch<std::int32_t> columns_;
  Scratch<std::int32_t> weights_;
};

/// The points in ascending order of the sums of their codes, or of the complements of these.
struct OrderedPoints {
  Scratch<std::int32_t> codes;  ///< point by point
  Vector<std::uint32_t> order;  ///< their places among all points
  std::size_t dims;

  const std::int32_t* at(std::size_t i) const { return codes.data() + i * dims; }

  OrderedPoints(const WeightedPoints& points, Direction direction, const Context& context)
      : codes(points.size * points.dims), order(points.size), dims(points.dims) {
    const std::int32_t flip = direction == Direction::dominated ? -1 : 0;
    Vector<std::int64_t> sums(points.size);
    const std::size_t d = points.dims;
    for (std::size_t i = 0; i < points.size; ++i) {
      for (std::size_t c = 0; c < d; ++c) sums[i] += points.codes[i * d + c] ^ flip;
    }
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    parallel_sort(
        order.begin(), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return sums[a] != sums[b] ? sums[a] < sums[b] : a < b; }, context);
    for (std::size_t i = 0; i < points.size; ++i) {
      for (std::size_t c = 0; c < d; ++c) codes[i * d + c] = points.codes[order[i] * d + c] ^ flip;
    }
  }
};

/// Counts points among all that come before them.
void count_all(const WeightedPoints& points, const OrderedPoints& ordered, std::int64_t* counts, Work& work,
               const Context& context) {
  Window all(points.size, points.dims);
  Vector<std::uint32_t> wanted;
  for (std::size_t i = 0; i < points.size; ++i) {
    all.push(ordered.at(i), points.weights[ordered.order[i]]);
    if (points.wanted[ordered.order[i]] == 0) continue;
    wanted.push_back(static_cast<std::uint32_t>(i));
    if (context.count_work) work.dominance_tests += i;
  }
  parallel_for(wanted.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t first = begin; first < end; first += kGrain) {
      context.check();
      const std::size_t last = std::min(end, first + kGrain);
      std::int64_t found[kGrain] = {};
      for (std::size_t tile = 0; tile < wanted[last - 1]; tile += kTile) {
        for (std::size_t i = first; i < last; ++i) {
          const std::size_t before = std::min<std::size_t>(wanted[i], tile + kTile);
          if (tile < before) found[i - first] += count_within(all.view(), tile, before, ordered.at(wanted[i]));
        }
      }
      for (std::size_t i = first; i < last; ++i) counts[ordered.order[wanted[i]]] = found[i - first];
    }
  });
}

/// Counts points among those before them that fewer than `enough` rows dominate.
class BandCount {
 public:
  BandCount(const WeightedPoints& points, const OrderedPoints& ordered, std::int64_t enough, const Context& context)
      : points_(points), ordered_(ordered), enough_(enough), context_(context), window_(kBlock, points.dims) {}

  /// Counts the points [first, first + size) of the order, behind all before.
  void add_block(std::size_t first, std::size_t size, std::int64_t* counts, Work& work) {
    const std::size_t before = window_.size();
    found_.assign(size, 0);
    parallel_for(size, kGrain, [&](std::size_t begin, std::size_t end) { count_in_window(first, begin, end); });
    left_.clear();
    for (std::size_t i = 0; i < size; ++i) {
      if (found_[i] < enough_) left_.push_back(static_cast<std::uint32_t>(i));
    }
    for (const std::uint32_t i : left_) push(first + i);
    parallel_for(left_.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        found_[left_[j]] += count_within(window_.view(), before, before + j, ordered_.at(first + left_[j]));
      }
    });
    if (context_.count_work) work.dominance_tests += size * before + left_.size() * left_.size() / 2;
    for (std::size_t i = 0; i < size; ++i) counts[ordered_.order[first + i]] = std::min(found_[i], enough_);
    window_.truncate(before);
    for (const std::uint32_t i : left_) {
      if (found_[i] < enough_) push(first + i);
    }
  }

 private:
  void push(std::size_t i) { window_.push(ordered_.at(i), points_.weights[ordered_.order[i]]); }

  void count_in_window(std::size_t first, std::size_t begin, std::size_t end) {
    context_.check();
    for (std::size_t tile = 0; tile < window_.size(); tile += kTile) {
      const std::size_t last = std::min(window_.size(), tile + kTile);
      for (std::size_t i = begin; i < end; ++i) {
        if (found_[i] < enough_) found_[i] += count_within(window_.view(), tile, last, ordered_.at(first + i));
      }
    }
  }

  const WeightedPoints& points_;
  const OrderedPoints& ordered_;
  const std::int64_t enough_;
  const Context& context_;
  Window window_;
  Vector<std::int64_t> found_;
  Vector<std::uint32_t> left_;  ///< points of the block that too few dominate so far
};

}  // namespace

void pairs(const WeightedPoints& points, Direction direction, std::int64_t enough, std::int64_t* counts, Work& work,
           const Context& context) {
  const OrderedPoints ordered(points, direction, context);
  if (enough >= static_cast<std::int64_t>(kMaxLevelRows)) return count_all(points, ordered, counts, work, context);
  BandCount band(points, ordered, enough, context);
  for (std::size_t first = 0; first < points.size; first += kBlock) {
    band.add_block(first, std::min(kBlock, points.size - first), counts, work);
  }
}

}  // namespace skyrank::kernels::dominance_counts
#endif  // HWY_ONCE

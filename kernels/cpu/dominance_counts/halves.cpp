#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/dominance_counts/window.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"

// Counts by three keys or more of many points: Bentley's divide and conquer for all points of an empirical distribution
// function ("Multidimensional Divide-and-Conquer", CACM 23(4), 1980).
//
// Points go by in lexicographic order, so that no later one dominates an earlier one and the first key is settled. A
// sequence is counted half by half; what remains are points of the first half that later ones of the second count,
// whatever their order, and halves come back sorted by the next key: their merge is a sequence in which that key is
// settled too. By the last key one pass over both halves counts. Where few pairs are left, vectors compare them all.
//
// Cost: O(n log^(d-1) n), on all threads.
namespace skyrank::kernels::dominance_counts {
namespace {

/// A point that is counted, or one that counts those before it: its code by the key at hand, so that numbers order
/// items as codes do, of equal codes the counted ones first.
using Item = std::uint64_t;

constexpr Item kAsks = Item{1} << 31;
static_assert(kMaxLevelRows < kAsks, "a point's number fits below");

constexpr std::size_t kSerial = std::size_t{1} << 14;  ///< items of a sequence that one thread counts

bool asks(Item item) { return (item & kAsks) != 0; }
std::size_t point_of(Item item) { return item & (kAsks - 1); }

/// Returns true if comparing all pairs of counted and asking items costs less than halving them, whatever the number of
/// keys: halving leaves fewer pairs with each key.
bool is_compared(double asking, double counted) {
  constexpr double kPairs = 1000.0 * 1000.0;
  constexpr double kPairsOfItem = 300;  // as few ask for many, or many for few
  return asking * counted <= std::max(kPairs, kPairsOfItem * (asking + counted));
}

/// Merges two sorted sequences, without branches that depend on their items.
void merge(std::span<const Item> a, std::span<const Item> b, Item* out) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const bool second = b[j] < a[i];
    *out++ = second ? b[j] : a[i];
    j += second ? 1 : 0;
    i += second ? 0 : 1;
  }
  out = std::copy(a.begin() + static_cast<std::ptrdiff_t>(i), a.end(), out);
  std::copy(b.begin() + static_cast<std::ptrdiff_t>(j), b.end(), out);
}

/// Copies the items that ask, or those that do not, and returns their number.
std::size_t take(std::span<const Item> items, bool asking, Item* out) {
  Item* const begin = out;
  for (const Item item : items) {
    *out = item;
    out += asks(item) == asking ? 1 : 0;
  }
  return static_cast<std::size_t>(out - begin);
}

class Halves {
 public:
  /// Numbers points in lexicographic order or, for what they dominate, in reverse with complements as codes.
  Halves(const WeightedPoints& points, Direction direction, const Context& context)
      : context_(context),
        dims_(points.dims),
        size_(points.size),
        codes_(points.dims * points.size),
        weights_(points.size),
        counts_(points.size) {
    const bool reverse = direction == Direction::dominated;
    for (std::size_t place = 0; place < size_; ++place) {
      const std::size_t point = reverse ? size_ - 1 - place : place;
      for (std::size_t k = 0; k < dims_; ++k) codes_[k * size_ + place] = points.codes[point * dims_ + k] ^ -reverse;
      weights_[place] = points.weights[point];
    }
  }

  /// Counts, for each item that asks, those before it that do not ask and are not greater by the keys from `key` on.
  /// Sorts the items by `key` if asked for.
  void count(std::span<Item> items, std::size_t key, bool sorts) {
    const auto asking = static_cast<std::size_t>(std::ranges::count_if(items, asks));
    const std::size_t counted = items.size() - asking;
    if (is_compared(static_cast<double>(asking), static_cast<double>(counted))) {
      if (asking > 0 && counted > 0) compare(items, key, counted);
      if (sorts) sort(items, key);
      return;
    }
    if (items.size() > kSerial) context_.check();
    const std::size_t half = items.size() / 2;
    const std::span<Item> first = items.first(half);
    const std::span<Item> second = items.subspan(half);
    const auto count_half = [&](bool is_second) { count(is_second ? second : first, key, true); };
    if (items.size() > kSerial) {
      parallel_for(2, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) count_half(i == 1);
      });
    } else {
      count_half(false);
      count_half(true);
    }
    Scratch<Item> room(items.size());
    count_across(first, second, key, room);
    if (!sorts) return;
    merge(first, second, room.data());
    std::ranges::copy(room, items.begin());
  }

  std::int64_t count_of(std::size_t place) const { return counts_[place]; }
  std::uint64_t compared() const { return compared_; }

 private:
  Item coded(Item item, std::size_t key) const {
    const auto code = static_cast<std::uint32_t>(codes_[key * size_ + point_of(item)]) ^ 0x80000000U;
    return (Item{code} << 32) | static_cast<std::uint32_t>(item);
  }

  void sort(std::span<Item> items, std::size_t key) const {
    for (Item& item : items) item = coded(item, key);
    const hwy::Sorter sorter;  // not shared: it may hold memory that a sort works in
    sorter(items.data(), items.size(), hwy::SortAscending());
  }

  /// Counts items of the first half for those of the second; both are sorted by `key`.
  void count_across(std::span<const Item> first, std::span<const Item> second, std::size_t key, Scratch<Item>& room) {
    if (key + 1 == dims_) return count_by_last(first, second);
    Item* const counted = room.data();
    const std::size_t num_counted = take(first, false, counted);
    Item* const asking = counted + num_counted;
    const std::size_t num_asking = take(second, true, asking);
    if (num_counted == 0 || num_asking == 0) return;
    Scratch<Item> both(num_counted + num_asking);
    merge({counted, num_counted}, {asking, num_asking}, both.data());
    count(both, key + 1, false);
  }

  void count_by_last(std::span<const Item> first, std::span<const Item> second) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    for (const Item item : second) {
      if (!asks(item)) continue;
      for (; i < first.size() && first[i] < item; ++i) sum += asks(first[i]) ? 0 : weights_[point_of(first[i])];
      counts_[point_of(item)] += sum;
    }
  }

  /// Compares each item that asks with those before it.
  void compare(std::span<const Item> items, std::size_t key, std::size_t counted) {
    const std::size_t dims = dims_ - key;
    const std::size_t stride = counted + kMaxLanes;
    Scratch<std::int32_t> room(stride * (dims + 1), 0);
    std::int32_t* const weights = room.data() + stride * dims;
    const WindowView window{room.data(), weights, stride, dims};
    Array<std::int32_t> asking(dims);
    std::size_t size = 0;
    for (const Item item : items) {
      const std::size_t point = point_of(item);
      const bool is_asking = asks(item);
      for (std::size_t k = 0; k < dims; ++k) {
        (is_asking ? asking[k] : room[k * stride + size]) = codes_[(key + k) * size_ + point];
      }
      if (is_asking) {
        counts_[point] += count_within(window, 0, size, asking.get());
      } else {
        weights[size++] = weights_[point];
      }
    }
    if (context_.count_work) compared_ += (items.size() - counted) * counted / 2;
  }

  const Context& context_;
  std::size_t dims_;
  std::size_t size_;
  Scratch<std::int32_t> codes_;  ///< by key, then by point
  Scratch<std::int32_t> weights_;
  Vector<std::int64_t> counts_;
  std::atomic<std::uint64_t> compared_ = 0;
};

}  // namespace

bool are_halved(std::size_t points, std::size_t wanted) {
  return !is_compared(static_cast<double>(wanted), static_cast<double>(points));
}

void halves(const WeightedPoints& points, Direction direction, std::int64_t* counts, Work& work,
            const Context& context) {
  Halves halves(points, direction, context);
  const bool reverse = direction == Direction::dominated;
  const auto point_at = [&](std::size_t place) { return reverse ? points.size - 1 - place : place; };
  Scratch<Item> items;
  items.reserve(2 * points.size);
  for (std::size_t place = 0; place < points.size; ++place) {
    if (points.wanted[point_at(place)] != 0) items.push_back(place | kAsks);
    items.push_back(place);
  }
  halves.count(items, 1, false);
  for (std::size_t place = 0; place < points.size; ++place) counts[point_at(place)] = halves.count_of(place);
  if (context.count_work) work.dominance_tests += halves.compared();
}

}  // namespace skyrank::kernels::dominance_counts

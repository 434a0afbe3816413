#include "kernels/cpu/skyline/window.hpp"

#include <algorithm>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/skyline/window.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The first of `count` rows in blocks that is nowhere greater than `row`, or `count`. `compared` is set to the rows
/// looked at.
template <class Lane>
std::size_t find(const Lane* HWY_RESTRICT blocks, std::size_t d, std::size_t count, const Lane* HWY_RESTRICT row,
                 std::size_t& compared) {
  constexpr std::size_t kBlockRows = 64 / sizeof(Lane);
  const hn::CappedTag<Lane, kBlockRows> tag;
  const std::size_t step = hn::Lanes(tag);
  for (std::size_t first = 0; first < count; first += step) {
    const Lane* keys = blocks + first / kBlockRows * kBlockRows * d + first % kBlockRows;
    auto greater = hn::Gt(hn::Load(tag, keys), hn::Set(tag, row[0]));
    bool hopeless = false;
    for (std::size_t c = 1; c < d && !hopeless; ++c) {
      keys += kBlockRows;
      greater = hn::Or(greater, hn::Gt(hn::Load(tag, keys), hn::Set(tag, row[c])));
      hopeless = (c % 2 == 1) && hn::AllTrue(tag, greater);
    }
    if (hopeless) continue;
    const auto as_good = hn::AndNot(greater, hn::FirstN(tag, std::min(step, count - first)));
    const auto lane = hn::FindFirstTrue(tag, as_good);
    if (lane >= 0) {
      compared = std::min(count, first + step);
      return first + static_cast<std::size_t>(lane);
    }
  }
  compared = count;
  return count;
}

std::size_t find4(const std::int32_t* blocks, std::size_t d, std::size_t count, const std::int32_t* row,
                  std::size_t& compared) {
  return find(blocks, d, count, row, compared);
}

std::size_t find8(const std::int64_t* blocks, std::size_t d, std::size_t count, const std::int64_t* row,
                  std::size_t& compared) {
  return find(blocks, d, count, row, compared);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {

HWY_EXPORT(find4);
HWY_EXPORT(find8);

template <class Key>
void Window<Key>::push_back(const Key* row) {
  if (size_ % kBlockRows == 0 && lines_.size() < (size_ / kBlockRows + 1) * d_) lines_.resize(lines_.size() + d_);
  Line* const block = lines_.data() + size_ / kBlockRows * d_;
  for (std::size_t c = 0; c < d_; ++c) block[c].lanes[size_ % kBlockRows] = lane_of(row[c]);
  ++size_;
}

template <class Key>
typename Window<Key>::Search Window<Key>::find_at_least_as_good(const Key* row, std::size_t count) const {
  if (count == 0) return {};
  Lane lanes[kMaxDims];
  std::transform(row, row + d_, lanes, lane_of);
  Search search;
  if constexpr (sizeof(Key) == 4) {
    search.position = HWY_DYNAMIC_DISPATCH(find4)(lines_.front().lanes, d_, count, lanes, search.tests);
  } else {
    search.position = HWY_DYNAMIC_DISPATCH(find8)(lines_.front().lanes, d_, count, lanes, search.tests);
  }
  search.found = search.position < count;
  return search;
}

template class Window<std::uint32_t>;
template class Window<std::uint64_t>;

}  // namespace skyrank::kernels::skyline
#endif  // HWY_ONCE

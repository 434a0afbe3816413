#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/common/keys/with_key.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pick/greedy.hpp"
#include "kernels/cpu/pick/pick.hpp"

namespace skyrank::kernels {
namespace {

constexpr std::size_t kBlock = 2048;
constexpr std::size_t kBlocksOfTask = 8;

/// How a row compares with others, as bits: none, the first, or both.
enum : std::uint8_t { kBetter = 1, kWorse = 2 };

using Comparisons = std::array<std::uint8_t, kBlock>;

/// Compares a row with the rows [begin, begin + size).
void compare(const StepsOfKeys& rows, std::size_t row, std::size_t begin, std::size_t size, Comparisons& result) {
  std::fill_n(result.begin(), size, std::uint8_t{0});
  for (const std::vector<KeyColumn>& step : rows.steps) {
    Comparisons found;
    std::fill_n(found.begin(), size, std::uint8_t{0});
    for (const KeyColumn& column : step) {
      with_key(column.width, [&]<class Key>(Key) {
        const Key own = column.as<Key>()[row];
        const Key* const keys = column.as<Key>() + begin;
        for (std::size_t i = 0; i < size; ++i) {
          found[i] |= static_cast<std::uint8_t>((own < keys[i] ? kBetter : 0) | (own > keys[i] ? kWorse : 0));
        }
      });
    }
    for (std::size_t i = 0; i < size; ++i) result[i] = result[i] != 0 ? result[i] : found[i];
  }
}

/// The rows that those picked dominate.
class Covered {
 public:
  explicit Covered(const StepsOfKeys& rows) : rows_(rows), covered_(rows.n) {
    std::fill(covered_.begin(), covered_.end(), std::uint8_t{0});
  }

  /// Returns the number of further rows that a row dominates.
  std::uint64_t gain(std::size_t row) const {
    std::atomic<std::uint64_t> sum{0};
    parallel_for(rows_.n, kBlock * kBlocksOfTask, [&](std::size_t begin, std::size_t end) {
      std::uint64_t count = 0;
      for_blocks(row, begin, end, [&](std::size_t at, std::size_t size, const Comparisons& compared) {
        for (std::size_t i = 0; i < size; ++i) count += compared[i] == kBetter && covered_[at + i] == 0 ? 1 : 0;
      });
      sum += count;
    });
    return sum;
  }

  void take(std::size_t row) {
    parallel_for(rows_.n, kBlock * kBlocksOfTask, [&](std::size_t begin, std::size_t end) {
      for_blocks(row, begin, end, [&](std::size_t at, std::size_t size, const Comparisons& compared) {
        for (std::size_t i = 0; i < size; ++i) {
          if (compared[i] == kBetter) covered_[at + i] = 1;
        }
      });
    });
  }

 private:
  template <class F>
  void for_blocks(std::size_t row, std::size_t begin, std::size_t end, const F& f) const {
    Comparisons compared;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t size = std::min(kBlock, end - at);
      compare(rows_, row, at, size, compared);
      f(at, size, compared);
    }
  }

  const StepsOfKeys& rows_;
  Vector<std::uint8_t> covered_;
};

}  // namespace

Vector<std::size_t> pick_by_coverage(const StepsOfKeys& rows, std::span<const std::int64_t> candidates,
                                     std::size_t count, const Context& context) {
  Covered covered(rows);
  const auto row_of = [&](std::size_t i) { return static_cast<std::size_t>(candidates[i]); };
  const auto gain = [&](std::size_t i) {
    context.check();
    return covered.gain(row_of(i));
  };
  Vector<std::uint64_t> gains(candidates.size());
  parallel_for(candidates.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) gains[i] = gain(i);
  });
  return pick_greedily(gains, count, gain, [&](std::size_t i) { covered.take(row_of(i)); });
}

}  // namespace skyrank::kernels

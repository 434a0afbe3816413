#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/topk/scan.hpp"

// Zone maps of keys: the least key of every kZoneRows rows. They give a bound for the k-th key, and let a selection
// pass over zones that are above it.
namespace skyrank::kernels::topk {

/// Writes the least of every kZoneRows keys; the last zone may have fewer.
void fill_zone_map(const std::uint32_t* keys, std::size_t count, std::uint32_t* out);
void fill_zone_map(const std::uint64_t* keys, std::size_t count, std::uint64_t* out);

/// A zone map as a kernel uses it: it leaves out the zones whose least keys are above a limit.
class Zones {
 public:
  /// Has no zones.
  Zones() = default;
  /// Takes the least key of each zone of n rows; null if they are not known.
  Zones(const void* least, KeyWidth width, std::size_t n) : least_{least, width}, n_(n) {}

  /// Returns true if it pays to look at the zones of n rows for a bound of k places: most rows are not read again then.
  static bool can_bound(std::size_t k, std::size_t n) {
    constexpr std::size_t kFewRows = std::size_t{1} << 17;
    constexpr std::size_t kZonesPerPlace = 8;
    return n >= kFewRows && k <= n / (kZoneRows * kZonesPerPlace);
  }

  explicit operator bool() const { return least_.data != nullptr; }
  const KeyColumn& least() const { return least_; }
  std::size_t rows() const { return n_; }

  static std::size_t count(std::size_t n) { return (n + kZoneRows - 1) / kZoneRows; }
  static std::size_t begin_of(std::size_t zone) { return zone * kZoneRows; }
  std::size_t end_of(std::size_t zone) const { return std::min(n_, begin_of(zone + 1)); }

  /// Rows that one call of for_each_open can take.
  static constexpr std::size_t kRows = 256 * kZoneRows;

  /// Calls body(first, last) for the rows of [begin, end), at most kRows, in zones that have a key up to `limit`:
  /// ascending stretches, as long as `most` at the longest.
  template <class Body>
  void for_each_open(std::size_t begin, std::size_t end, std::uint64_t limit, std::size_t most,
                     const Body& body) const {
    std::array<std::uint32_t, kRows / kZoneRows + 1> open;
    const std::size_t first_zone = begin / kZoneRows;
    const std::size_t last_zone = (end + kZoneRows - 1) / kZoneRows;
    const std::size_t count = find_at_most(least_, first_zone, last_zone, limit, open.data());
    for (std::size_t i = 0; i < count;) {
      const std::size_t first = i++;
      while (i < count && open[i] == open[i - 1] + 1 && (i - first + 1) * kZoneRows <= most) ++i;
      body(std::max(begin, begin_of(first_zone + open[first])), std::min(end, begin_of(first_zone + open[i - 1] + 1)));
    }
  }

 private:
  KeyColumn least_;
  std::size_t n_ = 0;
};

}  // namespace skyrank::kernels::topk

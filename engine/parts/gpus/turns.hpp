#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <skyrank/partial.hpp>

namespace skyrank::exec {

/// Parts begin at whole words of bits, so that validity is read as in the whole table.
inline constexpr std::int64_t kRowAlignment = 64;

/// Deals out the rows of a table in ascending parts, to several threads. Thread-safe.
class Turns {
 public:
  Turns(std::int64_t rows, std::int64_t rows_at_a_time) : rows_(rows), at_a_time_(rows_at_a_time) {}

  /// Returns the next rows; nothing once all were dealt out, or the dealing was ended.
  std::optional<RowRange> next() {
    const std::lock_guard lock(mutex_);
    if (ended_) return std::nullopt;
    if (!returned_.empty()) {
      RowRange& range = returned_.back();
      const RowRange part{range.begin, std::min(range.end, range.begin + at_a_time_)};
      range.begin = part.end;
      if (range.begin == range.end) returned_.pop_back();
      return part;
    }
    if (dealt_ == rows_) return std::nullopt;
    const RowRange part{dealt_, std::min(rows_, dealt_ + at_a_time_)};
    dealt_ = part.end;
    return part;
  }

  /// Takes rows back that did not fit, to deal them out again: in halves, and all others in parts as small. Returns
  /// false where these would be so small that rows are not what takes the memory.
  bool take_back(RowRange range) {
    const std::int64_t half = (range.end - range.begin) / 2 / kRowAlignment * kRowAlignment;
    if (half == 0) return false;
    const std::lock_guard lock(mutex_);
    at_a_time_ = std::min(at_a_time_, half);
    returned_.push_back(range);
    return true;
  }

  /// Takes rows back that were not looked at, to deal them out again.
  void give_back(RowRange range) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(range);
  }

  /// Deals out no more.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }

 private:
  std::mutex mutex_;
  const std::int64_t rows_;
  std::int64_t at_a_time_;
  RowId dealt_ = 0;
  std::vector<RowRange> returned_;
  bool ended_ = false;
};

}  // namespace skyrank::exec

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// Counts bytes that cross between the host's memory and a device's: columns, keys, lists of rows, answers. Single
// numbers with which the host steers kernels (counts, flags) do not count.
namespace skyrank::kernels {

struct TransferBytes {
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
};

/// Counts for one query, whatever else the device does. Thread-safe.
class TransferTally {
 public:
  void sent(std::size_t bytes) { to_device_.fetch_add(bytes, std::memory_order_relaxed); }
  void fetched(std::size_t bytes) { from_device_.fetch_add(bytes, std::memory_order_relaxed); }
  TransferBytes bytes() const {
    return {to_device_.load(std::memory_order_relaxed), from_device_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> to_device_ = 0;
  std::atomic<std::uint64_t> from_device_ = 0;
};

/// The tally of what this thread transfers; null: nothing is counted.
TransferTally* current_tally();
/// Sets it, and gives the one before.
TransferTally* exchange_tally(TransferTally* tally);

/// Makes a tally this thread's, or none, while it lives.
class TallyScope {
 public:
  explicit TallyScope(TransferTally* tally) : before_(exchange_tally(tally)) {}
  ~TallyScope() { exchange_tally(before_); }
  TallyScope(const TallyScope&) = delete;
  TallyScope& operator=(const TallyScope&) = delete;

 private:
  TransferTally* before_;
};

}  // namespace skyrank::kernels

#pragma once

#include <cstddef>

// Programs that link this count what operator new gives, and refuse more than they allow themselves.
namespace skyrank::memory {

/// Bytes that are allocated now.
std::size_t live();

/// The most bytes that were allocated at a time since the last `reset_peak`.
std::size_t peak();
void reset_peak();

/// While one lives, operator new throws std::bad_alloc rather than let there be more than `bytes`, in any thread.
class Limit {
 public:
  explicit Limit(std::size_t bytes);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
};

}  // namespace skyrank::memory

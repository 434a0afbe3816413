#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "kernels/common/noted_work.hpp"

namespace skyrank::kernels::topk {

/// Notes the stages of a run that counts its work, by the host's clock. Runs may be at the same time; only so many
/// stages are kept for whoever asks for them.
class NotedClock {
 public:
  explicit NotedClock(bool wanted) : wanted_(wanted) {}

  /// Ends a stage that began where the one before ended. `rows`: elements that it leaves to the next.
  void end(const char* name, std::uint64_t rows) {
    if (!wanted_) return;
    constexpr std::size_t kMaxStages = 4096;
    static std::mutex mutex;
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - begin_).count();
    begin_ = now;
    const std::scoped_lock lock(mutex);
    if (noted_stages().size() < kMaxStages) noted_stages().push_back({.name = name, .ms = ms, .rows = rows});
  }

 private:
  bool wanted_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace skyrank::kernels::topk

#include "tools/skyrank/terminal/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

namespace skyrank::tools {

Progress::Progress(Console& console, std::string what) : console_(console), what_(std::move(what)) {
  if (!console.shows_status()) return;
  try {
    ticker_ = std::jthread([this](const std::stop_token& stop) { show_elapsed(stop); });
  } catch (const std::system_error&) {  // the work goes on without being watched
  }
}

Progress::~Progress() {
  if (!ticker_.joinable()) return;
  ticker_.request_stop();
  ticker_.join();
  console_.show_status("");
}

void Progress::done(std::uint64_t amount, std::uint64_t total) {
  if (total > 0) percent_ = static_cast<int>(100 * (static_cast<double>(amount) / static_cast<double>(total)));
}

void Progress::show_elapsed(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(500);
  while (!wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const int percent = percent_;
    const std::string share = percent < 0 ? "" : fmt::format("  {} %", percent);
    console_.show_status(fmt::format("{}{}  {:.1f} s", what_, share, seconds));
    pause = std::chrono::milliseconds(100);
  }
}

}  // namespace skyrank::tools

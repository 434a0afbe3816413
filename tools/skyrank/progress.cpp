#include "tools/skyrank/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace skyrank::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void show_elapsed(const std::stop_token& stop, Console& console, const std::string& what) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const auto start = Clock::now();
  auto pause = milliseconds(500);
  while (!wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    console.show_status(fmt::format("{}  {:.1f} s", what, seconds));
    pause = milliseconds(100);
  }
}

}  // namespace

Progress::Progress(Console& console, std::string what) : console_(console) {
  if (!console.shows_status()) return;
  ticker_ = std::jthread(
      [&console, what = std::move(what)](const std::stop_token& stop) { show_elapsed(stop, console, what); });
}

Progress::~Progress() {
  if (!ticker_.joinable()) return;
  ticker_.request_stop();
  ticker_.join();
  console_.show_status("");
}

}  // namespace skyrank::tools

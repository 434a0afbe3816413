#include "tools/skyrank/terminal/last_resort.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "datasets/columnar/memory_reserve.hpp"
#include "engine/files/output_file.hpp"

namespace skyrank::tools {
namespace {

/// Writes without allocating, and without stdio, whose locks another thread may hold.
void complain(std::string_view message) {
  std::array<char, 1024> line{};
  constexpr std::string_view kPrefix = "skyrank: ";
  const std::size_t shown = std::min(message.size(), line.size() - kPrefix.size() - 1);
  std::memcpy(line.data(), kPrefix.data(), kPrefix.size());
  std::memcpy(line.data() + kPrefix.size(), message.data(), shown);
  line[kPrefix.size() + shown] = '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), kPrefix.size() + shown + 1);
}

/// Ends the process without running destructors, which would wait for threads.
[[noreturn]] void fail_now() {
  exec::remove_temporary_files();
  ::_exit(1);
}

[[noreturn]] void end_aborted(int) {
  complain("stopped by a library that cannot go on, most likely for want of memory");
  fail_now();
}

[[noreturn]] void end_process() {
  static std::atomic_flag ending;
  while (ending.test_and_set()) ::pause();  // another thread is at it
  try {
    if (std::current_exception() != nullptr) throw;
    complain("stopped by a fault of its own");
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("stopped by an error of unknown kind");
  }
  fail_now();
}

}  // namespace

void install_last_resort() {
  std::set_terminate(end_process);
  std::signal(SIGABRT, end_aborted);
  std::set_new_handler(datasets::give_up_memory_reserve);
}

}  // namespace skyrank::tools

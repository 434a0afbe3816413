#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace skyrank::tests {

/// Returns true if all threads of the process but this one sleep.
inline bool others_sleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == own) continue;
    std::ifstream file(thread.path() / "stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    // The state follows the name, which is in parentheses and may have some itself.
    const auto end = stat.rfind(')');
    if (end != std::string::npos && stat.compare(end, 3, ") S") != 0) return false;
  }
  return true;
}

/// Forks while no other thread runs: a lock that one of them held would stay locked in the child. A program that runs
/// many tests has threads of oneTBB's from the first of them on.
inline pid_t fork_when_idle() {
  for (int tries = 0; tries < 1000 && !others_sleep(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ::fork();
}

}  // namespace skyrank::tests

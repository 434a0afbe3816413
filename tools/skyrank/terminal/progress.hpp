#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "tools/skyrank/terminal/console.hpp"

namespace skyrank::tools {

/// While it lives and standard error is a terminal, shows what is going on and for how long ("reading tweets  45 %  3.2
/// s"). Work of less than half a second shows nothing.
class Progress {
 public:
  Progress(Console& console, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// How much of the work is done, where that is known; from any thread.
  void done(std::uint64_t amount, std::uint64_t total);

 private:
  void show_elapsed(const std::stop_token& stop);

  Console& console_;
  std::string what_;
  std::atomic<int> percent_ = -1;
  std::jthread ticker_;
};

}  // namespace skyrank::tools

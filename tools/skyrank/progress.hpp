#pragma once

#include <string>
#include <thread>

#include "tools/skyrank/console.hpp"

namespace skyrank::tools {

/// While it lives and standard error is a terminal, shows what is going on and for how long ("reading tweets  3.2 s").
/// Work of less than half a second shows nothing.
class Progress {
 public:
  Progress(Console& console, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  Console& console_;
  std::jthread ticker_;
};

}  // namespace skyrank::tools

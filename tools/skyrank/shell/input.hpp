#pragma once

#include <cstddef>
#include <span>

#include "tools/skyrank/terminal/signals.hpp"

namespace skyrank::tools {

/// The outcome of reading input: bytes, SIGINT, or the end, which another signal is too.
struct InputRead {
  enum class Kind { bytes, interrupted, end };
  Kind kind = Kind::end;
  std::size_t count = 0;
};

/// The standard input of a program that signals may call away from reading.
class Input {
 public:
  explicit Input(const Signals& signals);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Waits until bytes or a signal come, and reads what there is. ResourceError where the input cannot be read.
  InputRead read(std::span<char> bytes) const;

 private:
  bool has_signal_before_input() const;

  const Signals& signals_;
  const int terminal_;  // < 0: none
};

}  // namespace skyrank::tools

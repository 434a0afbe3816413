#include "tools/skyrank/shell/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include <skyrank/error.hpp>

namespace skyrank::tools {
namespace {

/// Opens the terminal whose keys send signals, if it is the standard input, such that reading it does not wait. The
/// kernel drops what was typed before SIGINT: a read of what poll() saw would wait for the next key. The standard input
/// keeps its own flags, as the process that started this one has them too.
int open_terminal() {
  if (tcgetsid(STDIN_FILENO) != getsid(0)) return -1;
  return ::open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

}  // namespace

Input::Input(const Signals& signals) : signals_(signals), terminal_(open_terminal()) {}

Input::~Input() {
  if (terminal_ >= 0) ::close(terminal_);
}

InputRead Input::read(std::span<char> bytes) const {
  for (;;) {
    if (has_signal_before_input())
      return {signals_.exit_status() != 0 ? InputRead::Kind::end : InputRead::Kind::interrupted};
    const ssize_t count = ::read(terminal_ < 0 ? STDIN_FILENO : terminal_, bytes.data(), bytes.size());
    if (count > 0) return {InputRead::Kind::bytes, static_cast<std::size_t>(count)};
    if (count == 0 || errno == EIO) return {};  // the latter of a terminal that is gone
    if (errno != EINTR && errno != EAGAIN) throw ResourceError("the standard input cannot be read");
  }
}

/// Waits for one of both.
bool Input::has_signal_before_input() const {
  pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
  while (::poll(waits, signals_.descriptor() < 0 ? 1 : 2, -1) < 0) {
    if (errno != EINTR) throw ResourceError("the standard input cannot be waited for");
  }
  return waits[1].revents != 0;
}

}  // namespace skyrank::tools

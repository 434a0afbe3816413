#include "tools/skyrank/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "datasets/display.hpp"

namespace skyrank::tools {
namespace {

bool colours_wanted(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) != 0 && (no_color == nullptr || *no_color == '\0') && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string styled(std::string_view code, std::string_view text) {
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

/// Sees to it that no file opened later takes the place of a standard descriptor that the caller closed; writing to the
/// substitute fails as writing to the closed one would.
void occupy_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      [[maybe_unused]] const int taken = open("/dev/null", O_RDONLY);
    }
  }
}

}  // namespace

Console::Console()
    : output_is_terminal_(isatty(STDOUT_FILENO) != 0),
      output_has_colours_(colours_wanted(STDOUT_FILENO)),
      error_is_terminal_(isatty(STDERR_FILENO) != 0),
      error_has_colours_(colours_wanted(STDERR_FILENO)) {
  occupy_closed_descriptors();
}

void Console::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_status();
  check_output();
  has_printed_ = true;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) output_error_ = errno;
  check_output();
}

void Console::flush() {
  const std::lock_guard lock(mutex_);
  flush_output();
  check_output();
}

void Console::flush_output() {
  if (std::fflush(stdout) != 0 && output_error_ == 0) output_error_ = errno;
}

void Console::check_output() const {
  if (output_error_ == EPIPE) throw OutputClosed{};
  if (output_error_ != 0) throw ResourceError("standard output: " + std::generic_category().message(output_error_));
}

namespace {

/// Returns text whose control characters, but for line breaks, are shown as escapes: names in messages come from
/// strangers' files and must not steer the terminal.
std::string safe_lines(std::string_view text) {
  std::string lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines += datasets::printable(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void Console::complain(std::string_view message) {
  const std::lock_guard lock(mutex_);
  clear_status();
  flush_output();  // what was printed before belongs above the message where both go to one place
  const std::string prefix = error_has_colours_ ? styled("1;31", "skyrank:") : "skyrank:";
  std::fputs((prefix + " " + safe_lines(message) + "\n").c_str(), stderr);
}

std::string Console::strong(std::string_view text) const {
  return output_has_colours_ ? styled("1", text) : std::string(text);
}

std::string Console::faint(std::string_view text) const {
  return output_has_colours_ ? styled("2", text) : std::string(text);
}

void Console::show_status(std::string_view text) {
  if (!error_is_terminal_) return;
  const std::lock_guard lock(mutex_);
  clear_status();
  if (text.empty()) return;
  flush_output();
  std::fputs(datasets::printable(text).c_str(), stderr);
  std::fflush(stderr);
  status_shown_ = true;
}

void Console::clear_status() {
  if (!status_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  status_shown_ = false;
}

}  // namespace skyrank::tools

#include "tools/skyrank/terminal/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "datasets/write/display.hpp"

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

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

bool is_regular(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Console::Console(std::stop_token stop)
    : output_is_terminal_(isatty(STDOUT_FILENO) != 0),
      output_has_colours_(colours_wanted(STDOUT_FILENO)),
      error_is_terminal_(isatty(STDERR_FILENO) != 0),
      error_has_colours_(colours_wanted(STDERR_FILENO)),
      stop_(std::move(stop)),
      output_blocks_(!is_regular(STDOUT_FILENO)) {
  occupy_closed_descriptors();
}

Console::~Console() {
  const std::lock_guard lock(mutex_);
  flush_output();
}

void Console::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_status();
  check_output();
  has_printed_ = true;
  output_ += text;
  if (output_.size() >= kBufferBytes) flush_output();
  check_output();
}

void Console::flush() {
  const std::lock_guard lock(mutex_);
  flush_output();
  check_output();
}

void Console::flush_output() {
  std::string_view text = output_;
  while (!text.empty() && output_error_ == 0) text.remove_prefix(write_some(text));
  output_.clear();
}

/// Writes a part of the text and returns how many bytes; 0 after an interruption, and with the output's error set.
std::size_t Console::write_some(std::string_view text) {
  if (output_blocks_) {
    if (!wait_for_reader()) return 0;
    text = text.substr(0, PIPE_BUF);  // so many do not block where there is room at all
  }
  const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
  if (n < 0 && errno != EINTR && errno != EAGAIN) output_error_ = errno;
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

/// Waits until the output takes more; false after a stop that comes first.
bool Console::wait_for_reader() {
  constexpr int kMilliseconds = 20;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  while (::poll(&output, 1, kMilliseconds) == 0) {
    if (!stop_.stop_requested()) continue;
    output_error_ = ECANCELED;
    return false;
  }
  return true;
}

void Console::check_output() const {
  if (output_error_ == EPIPE) throw OutputClosed{};
  if (output_error_ == ECANCELED) throw CancelledError("writing to standard output was cancelled");
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

void Console::say(const char* event, std::string_view message) {
  if (is_logging()) return log(log_line_(event, message));
  const std::lock_guard lock(mutex_);
  clear_status();
  flush_output();  // what was printed before belongs above the message where both go to one place
  std::string prefix = error_has_colours_ ? styled("1;31", "skyrank:") : "skyrank:";
  const std::string_view kind = event == std::string_view("warning") ? " warning: " : " ";
  std::fputs((prefix.append(kind) + safe_lines(message) + "\n").c_str(), stderr);
}

void Console::log(std::string_view line) {
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string Console::strong(std::string_view text) const {
  return output_has_colours_ ? styled("1", text) : std::string(text);
}

std::string Console::faint(std::string_view text) const {
  return output_has_colours_ ? styled("2", text) : std::string(text);
}

void Console::show_status(std::string_view text) {
  if (!shows_status()) return;
  const std::lock_guard lock(mutex_);
  clear_status();
  if (text.empty() || stop_.stop_requested()) return;
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

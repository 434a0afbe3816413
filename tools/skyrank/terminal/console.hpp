#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank::tools {

/// The command line itself is wrong.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The reader of standard output went away (`| head`): nothing more is wanted, and nobody needs to be told.
struct OutputClosed {};

/// Standard output and standard error as the commands see them. Colours and progress appear only on terminals, and
/// colours not at all where NO_COLOR is set (https://no-color.org). Safe to use from several threads.
class Console {
 public:
  explicit Console(std::stop_token stop = {});
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Leaves out from now on what `note`, `warn` and `show_status` would say.
  void set_quiet(bool quiet) { quiet_ = quiet; }

  /// Writes to standard output, buffered. ResourceError when that fails (a full disk), OutputClosed for a closed pipe,
  /// CancelledError when a stop is requested while nobody takes the output.
  void print(std::string_view text);
  /// The same for what is said beside answers, such as sizes and times.
  void note(std::string_view text) {
    if (!quiet_) print(text);
  }
  /// Has `complain` and `warn` write line("error" or "warning", message) from now on, and leaves out progress.
  void set_log(std::function<std::string(const char* event, std::string_view message)> line) {
    log_line_ = std::move(line);
  }
  bool is_logging() const { return log_line_ != nullptr; }
  /// Writes a line to standard error.
  void log(std::string_view line);

  /// Hands everything printed so far to the system; throws as `print` does.
  void flush();
  /// Returns true if anything went to standard output.
  bool has_printed() const { return has_printed_; }
  /// One line on standard error: "skyrank: message".
  void complain(std::string_view message) { say("error", message); }
  /// The same of what does not keep the command from its work: "skyrank: warning: message".
  void warn(std::string_view message) {
    if (!quiet_) say("warning", message);
  }

  /// The same of what is good to know: "skyrank: note: message".
  void hint(std::string_view message) {
    if (!quiet_) complain("note: " + std::string(message));
  }

  /// Text for standard output, emphasised or subdued where it shows colours.
  std::string strong(std::string_view text) const;
  std::string faint(std::string_view text) const;

  /// Replaces the transient status line on standard error; empty text removes it. Does nothing without a terminal.
  void show_status(std::string_view text);
  bool shows_status() const { return error_is_terminal_ && !quiet_ && !is_logging(); }
  /// Returns true if a person reads standard output.
  bool output_is_terminal() const { return output_is_terminal_; }

  /// The token of the run whose console it is.
  const std::stop_token& stop() const { return stop_; }

 private:
  void say(const char* event, std::string_view message);
  // With mutex_ held:
  void flush_output();
  std::size_t write_some(std::string_view text);
  bool wait_for_reader();
  void check_output() const;
  void clear_status();

  bool output_is_terminal_ = false;
  bool output_has_colours_ = false;
  bool error_is_terminal_ = false;
  bool error_has_colours_ = false;
  bool status_shown_ = false;
  bool has_printed_ = false;
  bool quiet_ = false;
  std::function<std::string(const char*, std::string_view)> log_line_;
  std::stop_token stop_;
  bool output_blocks_ = false;  // where nobody takes it: pipes, terminals
  std::string output_;          // printed and not yet written
  int output_error_ = 0;        // errno of the first failure on standard output; ECANCELED after a stop
  std::mutex mutex_;
};

}  // namespace skyrank::tools

#include "tools/skyrank/shell/line_editor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "engine/text.hpp"
#include "tools/skyrank/shell/edit_line.hpp"
#include "tools/skyrank/shell/input.hpp"

namespace skyrank::tools {
namespace {

/// Reads lines as they come, of a pipe, a file or a terminal that edits them.
class PlainReader final : public LineEditor {
 public:
  explicit PlainReader(const Signals& signals) : input_(signals), is_terminal_(isatty(STDIN_FILENO) != 0) {}

  LineRead read(const std::string& prompt) override {
    if (is_terminal_) {
      std::fputs(prompt.c_str(), stdout);
      std::fflush(stdout);
    }
    for (;;) {
      if (auto line = take_line()) return {LineRead::Kind::line, *std::move(line)};
      if (ended_) return {};
      if (fill() == InputRead::Kind::interrupted) {
        buffer_.clear();
        return {LineRead::Kind::interrupted};
      }
    }
  }

  void remember(const std::string& /*text*/) override {}

 private:
  std::optional<std::string> take_line() {
    const std::size_t end = buffer_.find('\n', begin_);
    if (end == std::string::npos && (!ended_ || begin_ == buffer_.size())) return std::nullopt;
    std::string line = buffer_.substr(begin_, end == std::string::npos ? end : end - begin_);
    begin_ = end == std::string::npos ? buffer_.size() : end + 1;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  InputRead::Kind fill() {
    buffer_.erase(0, std::exchange(begin_, 0));
    char bytes[1 << 14];
    const InputRead read = input_.read(bytes);
    ended_ = read.kind == InputRead::Kind::end;
    buffer_.append(bytes, read.count);
    return read.kind;
  }

  const Input input_;
  const bool is_terminal_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not taken
  bool ended_ = false;
};

}  // namespace

std::size_t begin_of_word(std::string_view text) {
  const auto is_part = [](char c) { return query::is_name_character(c) || static_cast<unsigned char>(c) >= 0x80; };
  std::size_t begin = text.size();
  while (begin > 0 && is_part(text[begin - 1])) --begin;
  const bool is_command = begin == 1 && text.front() == '.';
  return is_command ? 0 : begin;
}

std::unique_ptr<LineEditor> make_line_editor(const Signals& signals, Complete complete) {
  const bool edits = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (edits) {
    if (auto editor = make_edit_line(signals, std::move(complete))) return editor;
  }
  return std::make_unique<PlainReader>(signals);
}

}  // namespace skyrank::tools

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/skyrank/terminal/signals.hpp"

// Reads lines for the shell: with history and completion on a terminal, plainly elsewhere.
namespace skyrank::tools {

/// The outcome of reading a line.
struct LineRead {
  enum class Kind { line, interrupted, end };
  Kind kind = Kind::end;
  std::string text = {};  ///< the line, without its end
};

/// Returns the words that may stand in place of the last word of a text.
using Complete = std::function<std::vector<std::string>(std::string_view text)>;

/// Returns where the word that is to be completed begins: behind the last character that no name has.
std::size_t begin_of_word(std::string_view text);

/// Reads lines from the standard input. SIGINT ends the reading of a line; SIGTERM and SIGHUP end the input.
class LineEditor {
 public:
  LineEditor() = default;
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  virtual ~LineEditor() = default;

  /// Shows the prompt, where a person types, and reads a line. ResourceError where the input cannot be read.
  virtual LineRead read(const std::string& prompt) = 0;
  /// Adds a text to the history.
  virtual void remember(const std::string& text) = 0;
};

/// Makes an editor: on a terminal libedit, where the program is built with it, with the history of a file; elsewhere
/// one that only reads.
std::unique_ptr<LineEditor> make_line_editor(const Signals& signals, Complete complete);

}  // namespace skyrank::tools

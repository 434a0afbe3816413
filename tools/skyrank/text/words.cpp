#include "tools/skyrank/text/words.hpp"

#include <algorithm>

namespace skyrank::tools {

std::string with_separators(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > first; i -= 3)
    text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

std::string counted(std::int64_t number, std::string_view singular, std::string_view plural) {
  return with_separators(number) + " " + std::string(number == 1 ? singular : plural);
}

std::string wrapped(std::string_view text, std::string_view indentation, std::size_t width) {
  std::string lines;
  std::size_t used = indentation.size();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool first = lines.empty();
    if (!first && used + 1 + word.size() > width) {
      lines += "\n" + std::string(indentation);
      used = indentation.size();
    } else if (!first) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

}  // namespace skyrank::tools

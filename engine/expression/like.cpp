#include "engine/expression/like.hpp"

#include <algorithm>
#include <cstddef>

namespace skyrank::exec {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The place of the character after that at `place`.
std::size_t after_character(std::string_view text, std::size_t place) {
  ++place;
  while (place < text.size() && continues_character(text[place])) ++place;
  return place;
}

}  // namespace

bool is_like(std::string_view text, std::string_view pattern) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t after_percent = kNone;  // where the pattern goes on after the last `%`
  std::size_t retry = 0;              // the first character of the text that this `%` does not stand for
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_percent = ++p;
      retry = t;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      t = after_character(text, t);
      ++p;
      continue;
    }
    const std::size_t literal = p + 1 < pattern.size() && pattern[p] == '\\' ? p + 1 : p;
    if (literal < pattern.size() && pattern[literal] == text[t]) {
      ++t;
      p = literal + 1;
      continue;
    }
    if (after_percent == kNone) return false;
    retry = after_character(text, retry);
    t = retry;
    p = after_percent;
  }
  return pattern.find_first_not_of('%', p) == kNone;
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); });
}

}  // namespace skyrank::exec

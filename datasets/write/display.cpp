#include "datasets/write/display.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace skyrank::datasets {
namespace {

struct Character {
  char32_t code = 0xFFFD;
  std::size_t bytes = 1;
  bool valid = false;
};

// The character at the start of a text that is not empty.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes, true};
}

struct CodePoints {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool in_ranges(char32_t code, const std::array<CodePoints, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](CodePoints r) { return code >= r.first && code <= r.last; });
}

int width_of(char32_t code) {
  constexpr std::array<CodePoints, 9> kCombining{{{0x300, 0x36F},
                                                  {0x483, 0x489},
                                                  {0x591, 0x5BD},
                                                  {0x64B, 0x65F},
                                                  {0x1AB0, 0x1AFF},
                                                  {0x200B, 0x200F},
                                                  {0x20D0, 0x20FF},
                                                  {0xFE00, 0xFE0F},
                                                  {0xFE20, 0xFE2F}}};
  constexpr std::array<CodePoints, 11> kWide{{{0x1100, 0x115F},
                                              {0x2E80, 0x303E},
                                              {0x3041, 0x4DBF},
                                              {0x4E00, 0xA4CF},
                                              {0xAC00, 0xD7A3},
                                              {0xF900, 0xFAFF},
                                              {0xFE30, 0xFE6F},
                                              {0xFF00, 0xFF60},
                                              {0xFFE0, 0xFFE6},
                                              {0x1F300, 0x1FAFF},
                                              {0x20000, 0x3FFFD}}};
  if (code < 0x300) return 1;
  if (in_ranges(code, kCombining)) return 0;
  return in_ranges(code, kWide) ? 2 : 1;
}

void append_escaped(std::string& out, char32_t control) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (control) {
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\x";
      out += kHex[(control >> 4) & 15];
      out += kHex[control & 15];
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = decode(text);
    const bool control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);
    if (control) {
      append_escaped(out, c.code);
    } else if (c.valid) {
      out += text.substr(0, c.bytes);
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    width += width_of(c.code);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string truncate(std::string text, int width) {
  if (display_width(text) <= width) return text;
  std::size_t kept = 0;
  int used = 0;
  for (;;) {
    const Character c = decode(std::string_view(text).substr(kept));
    used += width_of(c.code);
    if (used > width - 1) break;
    kept += c.bytes;
  }
  return text.substr(0, kept) + "…";
}

}  // namespace skyrank::datasets

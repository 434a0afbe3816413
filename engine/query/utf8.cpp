#include "engine/query/utf8.hpp"

#include <array>

namespace skyrank::query {
namespace {

// A row of Unicode's table 3-7: a range of first bytes, the range of the second, and the length. Later bytes
// are 80..BF.
struct Form {
  unsigned char first_low, first_high, second_low, second_high;
  std::size_t length;
};

constexpr std::array kForms = {
    Form{0x00, 0x7F, 0x00, 0x00, 1}, Form{0xC2, 0xDF, 0x80, 0xBF, 2}, Form{0xE0, 0xE0, 0xA0, 0xBF, 3},
    Form{0xE1, 0xEC, 0x80, 0xBF, 3}, Form{0xED, 0xED, 0x80, 0x9F, 3}, Form{0xEE, 0xEF, 0x80, 0xBF, 3},
    Form{0xF0, 0xF0, 0x90, 0xBF, 4}, Form{0xF1, 0xF3, 0x80, 0xBF, 4}, Form{0xF4, 0xF4, 0x80, 0x8F, 4},
};

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool in_range(unsigned char byte, unsigned char low, unsigned char high) { return low <= byte && byte <= high; }

// Length of the sequence at `i`; 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  for (const Form& form : kForms) {
    if (!in_range(byte_at(text, i), form.first_low, form.first_high)) continue;
    if (form.length == 1) return 1;
    if (i + form.length > text.size()) return 0;
    if (!in_range(byte_at(text, i + 1), form.second_low, form.second_high)) return 0;
    for (std::size_t k = 2; k < form.length; ++k) {
      if (!in_range(byte_at(text, i + k), 0x80, 0xBF)) return 0;
    }
    return form.length;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace skyrank::query

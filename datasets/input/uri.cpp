#include "datasets/input/uri.hpp"

#include <algorithm>
#include <charconv>

namespace skyrank::datasets {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_letter_or_digit(char c) {
  const char lower = lower_letter(c);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string scheme_of(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  std::string scheme(name.substr(0, colon));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), lower_letter);
  const bool is_word = std::all_of(scheme.begin(), scheme.end(),
                                   [](char c) { return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.'; });
  return is_word && (scheme == "file" || name.substr(colon).starts_with("://")) ? scheme : std::string();
}

bool is_remote(std::string_view name) {
  const std::string scheme = scheme_of(name);
  return !scheme.empty() && scheme != "file";
}

std::string_view without_query(std::string_view uri) { return uri.substr(0, uri.find('?')); }

std::string decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    const bool encoded =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded.push_back(encoded ? static_cast<char>(byte) : text[i]);
    if (encoded) i += 2;
  }
  return decoded;
}

std::string encode_percent(std::string_view path) {
  constexpr std::string_view kPlain = "/-_.~=";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    if (is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos) {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return encoded;
}

}  // namespace skyrank::datasets

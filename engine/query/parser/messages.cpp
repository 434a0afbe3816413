#include "engine/query/parser/messages.hpp"

#include <algorithm>
#include <array>

#include "engine/query/ast.hpp"
#include "engine/query/utf8.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

bool is_double_symbol(std::string_view text) {
  constexpr std::array<std::string_view, 10> kSymbols = {"<=", ">=", "<>", "!=", "==", "&&", "||", "**", "=>", "::"};
  return std::find(kSymbols.begin(), kSymbols.end(), text) != kSymbols.end();
}

}  // namespace

std::string_view token_at(std::string_view text, std::size_t offset) {
  constexpr std::size_t kLongest = 40;
  std::size_t end = offset;
  while (end < text.size() && end - offset < kLongest && is_name_character(text[end])) ++end;
  if (end > offset) return text.substr(offset, end - offset);
  if (is_double_symbol(text.substr(offset, 2))) return text.substr(offset, 2);
  ++end;
  while (end < text.size() && continues_character(text[end])) ++end;
  return text.substr(offset, end - offset);
}

std::string_view token_before(std::string_view text, std::size_t offset) {
  const std::size_t last = text.substr(0, offset).find_last_not_of(" \t\r\n\v\f");
  if (last == std::string_view::npos) return {};
  std::size_t begin = last;
  while (begin > 0 && is_name_character(text[begin]) && is_name_character(text[begin - 1])) --begin;
  if (begin == last && last > 0 && is_double_symbol(text.substr(last - 1, 2))) --begin;
  const std::string_view token = text.substr(begin, last + 1 - begin);
  return token == "'" || token == "`" || token == "\"" || static_cast<unsigned char>(token.front()) >= 0x80
             ? std::string_view()
             : token;
}

bool is_reserved_word(std::string_view word) { return is_one_of(word, reserved_words()); }

bool is_bare_name(std::string_view token) {
  return !token.empty() && is_name_character(token.front()) && !is_digit(token.front()) && !is_reserved_word(token);
}

std::string hint(std::string_view found, bool value_expected) {
  struct Hint {
    std::string_view found;
    std::string_view advice;
  };
  constexpr std::array<Hint, 7> kHints = {{{"&&", "write 'and'"},
                                           {"!", "write 'not', or '!=' between two values"},
                                           {"\"", "strings stand in single quotes, names with spaces in backquotes"},
                                           {"**", "there is no power operator: multiply, or use exp and log"},
                                           {"=>", "write '>='"},
                                           {";", "an expression has no ';'"},
                                           {"{", "lists stand in brackets: [a, b]"}}};
  constexpr std::array<std::string_view, 9> kComparisons = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "between"};
  for (const Hint& known : kHints) {
    if (known.found == found) return std::string(" (").append(known.advice) + ")";
  }
  if (!value_expected && std::find(kComparisons.begin(), kComparisons.end(), found) != kComparisons.end()) {
    return " (comparisons do not chain: join them with 'and')";
  }
  if (static_cast<unsigned char>(found.front()) >= 0x80 && !find_invalid_utf8(found)) {
    return " (a name with other characters than letters, digits and _ stands in backquotes)";
  }
  if (value_expected && equal_ignoring_case(found, "not")) return " (put 'not' and its condition in parentheses)";
  if (value_expected && is_reserved_word(found)) {
    return " (a column of that name stands in backquotes)";
  }
  return {};
}

std::string shown(std::string_view token) {
  const auto byte = static_cast<unsigned char>(token.front());
  if (byte < 0x20 || byte == 0x7F) return "the control character " + std::to_string(static_cast<int>(byte));
  if (find_invalid_utf8(token)) return "a byte that is not UTF-8";
  return in_quotes(token);
}

}  // namespace skyrank::query

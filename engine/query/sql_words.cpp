#include "engine/query/sql_words.hpp"

#include <algorithm>
#include <array>

#include "engine/text.hpp"

namespace skyrank::query {
namespace {

// The words of clauses come first: the lists share their beginning. Later words (SKYBAND, PICK, STEP, WEIGHTED,
// FEASIBLE, ...) are not here: they stand only where no name can, so that columns may be called so.
constexpr std::array<std::string_view, 28> kWords = {
    "select", "from",   "where",   "group",   "aggregate", "preferring", "skyline", "partition", "order",   "limit",
    "by",     "offset", "options", "as",      "levels",    "with",       "asc",     "desc",      "qualify", "having",
    "low",    "high",   "around",  "inverse", "pareto",    "plus",       "prior",   "distinct"};
constexpr std::size_t kClauseWords = 20;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The end of the quoted text that begins at `offset`: behind its closing quote, or the end of the text.
std::size_t end_of_quoted(std::string_view text, std::size_t offset) {
  const char quote = text[offset];
  std::size_t end = offset + 1;
  while (end < text.size()) {
    if (text[end] != quote) {
      ++end;
    } else if (end + 1 < text.size() && text[end + 1] == quote) {
      end += 2;
    } else {
      return end + 1;
    }
  }
  return text.size();
}

bool is_quote(char c) { return c == '\'' || c == '"' || c == '`'; }

constexpr std::string_view kRowNumber = "row_number";
constexpr std::array<std::string_view, 6> kForeignWords = {"join", "union", "intersect", "except", "window", "lateral"};
constexpr std::array<std::string_view, 7> kOtherStatements = {"insert", "update", "delete", "create",
                                                              "drop",   "alter",  "merge"};

// The foreign part that begins with a token, given the token before it and the one after it.
std::string foreign_at(std::string_view before, std::string_view word, std::string_view after) {
  if (is_one_of(word, kForeignWords)) return in_capitals(word);
  if (before.empty() && equal_ignoring_case(word, "with")) return "WITH";
  if (before.empty() && is_one_of(word, kOtherStatements)) return in_capitals(word);
  if (before == "(" && equal_ignoring_case(word, "select")) return "a sub-query";
  if (equal_ignoring_case(word, "exists") && after == "(") return "EXISTS";
  if (before == ")" && equal_ignoring_case(word, "over")) return "a window (OVER)";
  if (before == "(" && equal_ignoring_case(word, "distinct")) return "DISTINCT in an aggregate";
  return {};
}

// Another way to say a foreign part of a statement.
std::string advice_on(std::string_view what, std::string_view text) {
  if (what == "JOIN") return ": in Python, skyrank.sql(statement, joined=duckdb.sql('... JOIN ...'))";
  if (what.starts_with("DISTINCT")) return "; SELECT DISTINCT e gives each of the values once";
  if (what != "a sub-query" && !what.starts_with("a window")) return {};
  bool is_ranking = false;
  for (SqlToken token = sql_token(text, 0); !is_ranking && token.begin < text.size();
       token = sql_token(text, token.end)) {
    is_ranking = equal_ignoring_case(token.in(text), kRowNumber);
  }
  return is_ranking
             ? "; the first rows of each partition are QUALIFY ROW_NUMBER() OVER (PARTITION BY e ORDER BY f) <= k"
             : "";
}

}  // namespace

bool is_word_character(char c) { return is_name_character(c) || static_cast<unsigned char>(c) >= 0x80; }

std::span<const std::string_view> sql_clause_words() { return std::span(kWords).first(kClauseWords); }

std::span<const std::string_view> sql_preference_words() { return kWords; }

bool is_sql_keyword(std::string_view word) { return is_one_of(word, kWords) || is_one_of(word, kForeignWords); }

std::string without_comments(std::string_view sql, std::optional<std::size_t>& open_comment) {
  std::string text(sql);
  std::size_t i = 0;
  while (i < text.size()) {
    if (is_quote(text[i])) {
      i = end_of_quoted(text, i);
      continue;
    }
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (two != "--" && two != "/*") {
      ++i;
      continue;
    }
    const bool to_line_end = two == "--";
    const std::size_t close = to_line_end ? text.find('\n', i) : text.find("*/", i + 2);
    if (close == std::string::npos && !to_line_end) open_comment = i;
    const std::size_t end = close == std::string::npos ? text.size() : close + (to_line_end ? 0 : 2);
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return c != '\n'; }, ' ');
    i = end;
  }
  return text;
}

SqlToken sql_token(std::string_view text, std::size_t offset) {
  std::size_t begin = offset;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  if (begin >= text.size()) return {text.size(), text.size()};
  if (is_quote(text[begin])) return {begin, end_of_quoted(text, begin)};
  std::size_t end = begin;
  while (end < text.size() && is_word_character(text[end])) ++end;
  return {begin, std::max(end, begin + 1)};
}

std::optional<ForeignSql> find_foreign_sql(std::string_view text, bool numbers_rows) {
  SqlToken before;
  SqlToken row_number;
  bool is_qualified = false;  // which has a window of its own
  for (SqlToken token = sql_token(text, 0); token.begin < text.size(); token = sql_token(text, token.end)) {
    const std::string_view after = sql_token(text, token.end).in(text);
    is_qualified = is_qualified || equal_ignoring_case(token.in(text), "qualify");
    if (equal_ignoring_case(token.in(text), kRowNumber)) row_number = token;
    const SqlToken bracket = sql_token(text, row_number.end);
    const bool numbers = numbers_rows && row_number.end > 0 && sql_token(text, bracket.end).begin == before.begin;
    const bool is_own = (is_qualified || numbers) && equal_ignoring_case(token.in(text), "over");
    if (std::string what = foreign_at(before.in(text), token.in(text), after); !what.empty() && !is_own) {
      std::string advice = advice_on(what, text);
      return ForeignSql{token.begin, std::move(what), std::move(advice)};
    }
    before = token;
  }
  return std::nullopt;
}

}  // namespace skyrank::query

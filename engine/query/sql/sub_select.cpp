#include "engine/query/sql/sub_select.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

// Finds by tokens what a statement is over, before it is parsed: the columns of SELECT come first in a text, and their
// meaning depends on FROM.
namespace skyrank::query {
namespace {

bool is_bare_word(std::string_view token) {
  return !token.empty() && is_word_character(token.front()) && !is_digit(token.front());
}

bool is_quoted_name(std::string_view token) {
  return token.size() > 2 && (token.front() == '"' || token.front() == '`') && token.back() == token.front();
}

std::string name_in(std::string_view token) {
  const bool is_quoted = token.size() > 2 && (is_quoted_name(token) || token.front() == '\'');
  return is_quoted ? unquoted(token.substr(1, token.size() - 2), token.front()) : std::string(token);
}

// Returns true for a word that begins a clause behind FROM.
bool begins_clause(std::string_view word) {
  constexpr std::array<std::string_view, 17> kWords = {
      "where", "group",   "aggregate", "having", "preferring", "skyline", "partition", "qualify", "levels",
      "at",    "skyband", "pick",      "order",  "limit",      "offset",  "with",      "options"};
  return is_one_of(word, kWords);
}

// Returns the token behind the bracket that opens at `open`, or nothing where it does not close.
std::optional<std::size_t> end_of_brackets(std::string_view text, const SqlToken& open) {
  int depth = 0;
  for (SqlToken token = open; token.begin < text.size(); token = sql_token(text, token.end)) {
    const std::string_view word = token.in(text);
    depth += word == "(" ? 1 : word == ")" ? -1 : 0;
    if (depth == 0) return token.end;
  }
  return std::nullopt;
}

// Returns the name of a file without its folders and its ending.
std::string stem_of(std::string_view path) {
  const std::string_view file = path.substr(path.find_last_of("/\\") + 1);
  return std::string(file.substr(0, file.find('.')));
}

// Reads `AS name` or a name alone behind a table.
void find_alias(std::string_view text, FromClause& from) {
  const SqlToken first = sql_token(text, from.table_end);
  const bool has_word = equal_ignoring_case(first.in(text), "as");
  const SqlToken name = has_word ? sql_token(text, first.end) : first;
  const std::string_view word = name.in(text);
  if (!is_quoted_name(word) && (!is_bare_word(word) || is_sql_keyword(word) || begins_clause(word))) return;
  const std::string_view next = sql_token(text, name.end).in(text);
  const bool ends = next.empty() || next == ";" || begins_clause(next);
  if (!has_word && !ends) return;
  from.alias_begin = first.begin;
  from.alias_end = name.end;
  from.names = {name_in(word)};
}

}  // namespace

std::optional<FromClause> find_from(std::string_view text) {
  int depth = 0;
  for (SqlToken token = sql_token(text, 0); token.begin < text.size(); token = sql_token(text, token.end)) {
    const std::string_view word = token.in(text);
    depth += word == "(" ? 1 : word == ")" ? -1 : 0;
    if (depth != 0 || !equal_ignoring_case(word, "from")) continue;
    const SqlToken table = sql_token(text, token.end);
    FromClause from;
    from.table_begin = table.begin;
    from.table_end = table.end;
    const SqlToken inner = sql_token(text, table.end);
    if (table.in(text) == "(" && (inner.in(text) == ")" || equal_ignoring_case(inner.in(text), "select"))) {
      const auto end = end_of_brackets(text, table);
      if (!end) return std::nullopt;
      from.table_end = *end;
      from.is_sub_select = true;
    } else {
      const std::string name = name_in(table.in(text));
      from.names = {name, stem_of(name)};
    }
    find_alias(text, from);
    return from;
  }
  return std::nullopt;
}

std::vector<Qualifier> find_qualifiers(std::string_view text, const FromClause& from) {
  std::vector<Qualifier> found;
  SqlToken before;
  for (SqlToken token = sql_token(text, 0); token.begin < text.size();
       before = token, token = sql_token(text, token.end)) {
    const std::string_view word = token.in(text);
    const bool is_name = is_quoted_name(word) || is_bare_word(word);
    if (!is_name || before.in(text) == "." || token.begin == from.table_begin) continue;
    const SqlToken point = sql_token(text, token.end);
    const SqlToken column = sql_token(text, point.end);
    const std::string_view next = column.in(text);
    if (point.in(text) != "." || point.begin != token.end || column.begin != point.end) continue;
    if (next == "*" || is_quoted_name(next) || is_bare_word(next))
      found.push_back({token.begin, point.end, name_in(word)});
  }
  return found;
}

}  // namespace skyrank::query

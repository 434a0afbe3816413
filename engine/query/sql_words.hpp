#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// The words of SkyRank's SQL, and what can be told of a statement before it is parsed.
namespace skyrank::query {

/// Words that begin or join clauses: no names anywhere in a statement, unless in quotes.
std::span<const std::string_view> sql_clause_words();

/// These and the words of preferences (LOW, PLUS, ...): no names within PREFERRING, unless in quotes.
std::span<const std::string_view> sql_preference_words();

/// Returns true for a word, in any case, that names something only in quotes: one of either list, or one that begins a
/// part of SQL that SkyRank refuses.
bool is_sql_keyword(std::string_view word);

/// Returns the statement with spaces in place of its comments (`-- ...` and `/* ... */`), so that offsets stay. The
/// offset of a comment that does not end is stored in `open_comment`.
std::string without_comments(std::string_view sql, std::optional<std::size_t>& open_comment);

/// Returns true for letters, digits, '_' and everything beyond ASCII.
bool is_word_character(char c);

/// A token outside quotes: a word of letters, digits and '_', or one other character. A quoted text is one token.
struct SqlToken {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
};

/// Returns the token at or after `offset`; an empty one at the end of the text.
SqlToken sql_token(std::string_view text, std::size_t offset);

/// A part of SQL that SkyRank leaves to SQL engines.
struct ForeignSql {
  std::size_t offset;
  std::string what;    ///< "JOIN", "a sub-query", ...
  std::string advice;  ///< the end of the message where there is another way; else empty
};

/// Finds the first such part of a statement without comments. One that `numbers_rows` may select ROW_NUMBER() OVER.
std::optional<ForeignSql> find_foreign_sql(std::string_view text, bool numbers_rows = false);

}  // namespace skyrank::query

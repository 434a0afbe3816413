#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Tokens of JSON, and texts in quotes. simdjson does both.
namespace skyrank::datasets {

/// Bytes that are read behind a text, whatever they are.
constexpr std::int64_t kJsonPadding = 64;

/// The places where tokens of a text begin: brackets, commas, colons, strings, and words and numbers. Reuses its memory
/// from one text to the next.
class JsonTokens {
 public:
  JsonTokens();
  ~JsonTokens();
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;

  /// Finds the tokens of a text of less than 4 GiB, which has padding behind it. Returns false where the text is not
  /// UTF-8, or a string is not closed or has a control character inside.
  bool find(std::string_view text);
  /// Returns the offsets of the tokens that were found.
  std::span<const std::uint32_t> begins() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Returns the offset of the character behind the backslash of the first wrong escape of a string; nothing where there
/// is none. The text is what stands between the quotes.
std::optional<std::size_t> wrong_escape(std::string_view text);

/// Returns the text of a string, given without its quotes, with its escapes replaced.
std::string unescaped(std::string_view text);

}  // namespace skyrank::datasets

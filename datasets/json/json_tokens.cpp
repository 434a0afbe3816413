#include "datasets/json/json_tokens.hpp"

#include <simdjson.h>

#include <algorithm>
#include <new>
#include <optional>

// The first stage of simdjson finds tokens and checks UTF-8 with the vector instructions of the machine. Its second
// stage is left out: it says neither where an error is nor that a key comes twice, and knows no NaN.
namespace skyrank::datasets {
namespace {

static_assert(kJsonPadding >= static_cast<std::int64_t>(simdjson::SIMDJSON_PADDING));

std::optional<std::string> parse_string(std::string_view text) {
  constexpr std::size_t kQuotes = 2;
  std::string padded;
  padded.reserve(text.size() + kQuotes + simdjson::SIMDJSON_PADDING);
  padded.append(1, '"').append(text).append(1, '"');
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string_view value;
  const auto error = parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS || document.get_string().get(value) != simdjson::SUCCESS) return std::nullopt;
  return std::string(value);
}

}  // namespace

struct JsonTokens::Parser {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> tokens;
  std::size_t count = 0;
};

JsonTokens::JsonTokens() : parser_(std::make_unique<Parser>()) {}

JsonTokens::~JsonTokens() = default;

bool JsonTokens::find(std::string_view text) {
  constexpr std::size_t kMinCapacity = std::size_t{1} << 16;
  auto& tokens = parser_->tokens;
  parser_->count = 0;
  if (text.empty()) return true;
  if (tokens == nullptr || tokens->capacity() < text.size()) {
    const std::size_t capacity = std::max(text.size(), kMinCapacity);
    const auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, tokens);
    if (error != simdjson::SUCCESS) throw std::bad_alloc();
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto error = tokens->stage1(bytes, text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::SUCCESS) parser_->count = tokens->n_structural_indexes;
  return error == simdjson::SUCCESS || error == simdjson::EMPTY;
}

std::span<const std::uint32_t> JsonTokens::begins() const {
  if (parser_->count == 0) return {};
  return {parser_->tokens->structural_indexes.get(), parser_->count};
}

std::optional<std::size_t> wrong_escape(std::string_view text) {
  constexpr std::string_view kSimple = "\"\\/bfnrt";
  constexpr std::size_t kUnit = 6;  // of \uXXXX, of which two may be one character
  std::size_t size = 2;
  bool is_wrong = false;
  for (std::size_t i = text.find('\\'); i < text.size(); i = text.find('\\', i + size)) {
    size = 2;
    if (kSimple.find(text.substr(i + 1, 1)) != std::string_view::npos) continue;
    if (!is_wrong && parse_string(text)) return std::nullopt;
    is_wrong = true;
    size = parse_string(text.substr(i, kUnit)) ? kUnit : 2 * kUnit;
    if (!parse_string(text.substr(i, size))) return i + 1;
  }
  return std::nullopt;
}

std::string unescaped(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  return parse_string(text).value_or(std::string(text));
}

}  // namespace skyrank::datasets

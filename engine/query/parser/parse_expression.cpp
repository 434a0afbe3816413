#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/parser/grammar.hpp"
#include "engine/query/parser/tree_builder.hpp"
#include "engine/query/places.hpp"

// Runs the grammar of expressions over texts.
namespace skyrank::query {
namespace {

namespace peg = tao::pegtl;

// A rule that must match and does not ends the parse with a message in the user's words.
template <class Rule>
struct control : peg::normal<Rule> {  // NOLINT(readability-identifier-naming): as PEGTL names its own
  template <class Input>
  [[noreturn]] static void raise(const Input& in, TreeBuilder& builder) {
    if constexpr (requires { Rule::kClosesQuote; }) {
      builder.fail_unclosed();
    } else {
      builder.fail_expecting(in.byte(), grammar::kExpected<Rule>);
    }
  }
};

}  // namespace

NodePtr parse_expression(std::string_view text, const PlaceFunction& place) {
  TreeBuilder builder(text, place);
  peg::memory_input<peg::tracking_mode::eager> input(text.data(), text.size(), "");
  peg::parse<grammar::whole, rules::action, control>(input, builder);
  return std::move(builder).result();
}

ParsedPrefix parse_sql_expression(std::string_view text, std::size_t offset, std::span<const std::string_view> reserved,
                                  const PlaceFunction& place) {
  TreeBuilder builder(text, place, reserved);
  peg::memory_input<peg::tracking_mode::eager> input(text.data() + offset, text.data() + text.size(), "", offset, 1, 1);
  peg::parse<grammar::beginning, rules::action, control>(input, builder);
  const std::size_t end = input.byte();
  return {std::move(builder).result(), end};
}

NodePtr parse_expression(std::string_view text, const Location& origin) {
  const Places places(text, origin);
  return parse_expression(text, [&](std::size_t offset) { return places.at(offset); });
}

}  // namespace skyrank::query

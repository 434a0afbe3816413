#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/parser/grammar.hpp"
#include "engine/query/parser/tree_builder.hpp"
#include "engine/query/places.hpp"
#include "engine/query/values.hpp"
#include "engine/time.hpp"

// Connects the grammar's rules with the tree: what a match builds, and the message where a rule fails that must match.
//
// Actions bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query {
namespace {

namespace peg = tao::pegtl;

// Undoes the doubling of the quote inside a quoted text.
std::string unquoted(std::string_view inner, char quote) {
  std::string result;
  result.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    result += inner[i];
    if (inner[i] == quote) ++i;
  }
  return result;
}

// Actions change the tree when a rule of the grammar matches.
template <class Rule>
struct action : peg::nothing<Rule> {};

// Rules that recurse count the levels.
struct nesting : peg::maybe_nothing {
  template <class Rule, peg::apply_mode A, peg::rewind_mode M, template <class...> class Action,
            template <class...> class Control, class Input>
  static bool match(Input& in, TreeBuilder& builder) {
    builder.enter(in.byte());
    const bool matched = peg::match<Rule, A, M, Action, Control>(in, builder);
    builder.leave();
    return matched;
  }
};
template <>
struct action<grammar::nested> : nesting {};
template <>
struct action<grammar::nested_negation> : nesting {};
template <>
struct action<grammar::nested_signed_value> : nesting {};

template <>
struct action<grammar::number_text> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_number(in.position().byte, in.string_view());
  }
};
template <>
struct action<grammar::negative_number> {
  static void apply0(TreeBuilder& builder) { builder.negate_number(); }
};

struct begin_quoted {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.begin_quoted(in.position().byte);
  }
};
template <>
struct action<grammar::string_open> : begin_quoted {};
template <>
struct action<grammar::name_open> : begin_quoted {};
template <>
struct action<grammar::sql_name_open> : begin_quoted {};
template <>
struct action<grammar::sql_name_text> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_column(in.position().byte - 1, unquoted(in.string_view(), '"'), true);
  }
};
template <>
struct action<grammar::string_text> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_literal(in.position().byte - 1, unquoted(in.string_view(), '\''));
  }
};
template <>
struct action<grammar::name_text> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_column(in.position().byte - 1, unquoted(in.string_view(), '`'), true);
  }
};
template <>
struct action<grammar::bare_name> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_column(in.position().byte, in.string(), false);
  }
};

template <>
struct action<grammar::date> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.convert_string(in.position().byte, parse_date, "date", "2017-05-01");
  }
};
template <>
struct action<grammar::timestamp> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.convert_string(in.position().byte, parse_timestamp, "timestamp", "2017-05-01 12:00:00");
  }
};

template <>
struct action<grammar::true_value> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_literal(in.position().byte, true);
  }
};
template <>
struct action<grammar::false_value> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_literal(in.position().byte, false);
  }
};
template <>
struct action<grammar::null_value> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.push_literal(in.position().byte, Null{});
  }
};

template <>
struct action<grammar::open_call> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    const std::string_view text = in.string_view();
    builder.open_call(in.position().byte, text.substr(0, text.find_first_of(" \t\r\n\v\f(")));
  }
};
template <>
struct action<grammar::call> {
  static void apply0(TreeBuilder& builder) { builder.close_call(); }
};

template <>
struct action<grammar::open_case> {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.open(in.position().byte);
  }
};
template <>
struct action<grammar::case_when> {
  static void apply0(TreeBuilder& builder) { builder.close(Op::case_when); }
};

template <Op op>
struct prefix {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.combine_at(in.position().byte, op, 1);
  }
};
template <>
struct action<grammar::negative_value> : prefix<Op::negate> {};
template <>
struct action<grammar::negated> : prefix<Op::logical_not> {};

template <Op op, std::size_t operands = 2, bool negated = false>
struct infix {
  static void apply0(TreeBuilder& builder) { builder.combine(op, operands, negated); }
};
template <>
struct action<grammar::times> : infix<Op::multiply> {};
template <>
struct action<grammar::over> : infix<Op::divide> {};
template <>
struct action<grammar::remainder> : infix<Op::modulo> {};
template <>
struct action<grammar::plus> : infix<Op::add> {};
template <>
struct action<grammar::less_by> : infix<Op::subtract> {};
template <>
struct action<grammar::is_equal> : infix<Op::equal> {};
template <>
struct action<grammar::is_not_equal> : infix<Op::not_equal> {};
template <>
struct action<grammar::is_less> : infix<Op::less> {};
template <>
struct action<grammar::is_less_equal> : infix<Op::less_equal> {};
template <>
struct action<grammar::is_greater> : infix<Op::greater> {};
template <>
struct action<grammar::is_greater_equal> : infix<Op::greater_equal> {};
template <>
struct action<grammar::is_between> : infix<Op::between, 3> {};
template <>
struct action<grammar::is_not_between> : infix<Op::between, 3, true> {};
template <>
struct action<grammar::is_like> : infix<Op::like> {};
template <>
struct action<grammar::is_not_like> : infix<Op::like, 2, true> {};
template <>
struct action<grammar::null_test> : infix<Op::is_null, 1> {};
template <>
struct action<grammar::not_null_test> : infix<Op::is_null, 1, true> {};
template <>
struct action<grammar::and_also> : infix<Op::logical_and> {};
template <>
struct action<grammar::or_else> : infix<Op::logical_or> {};

struct open_list {
  template <class Input>
  static void apply(const Input& in, TreeBuilder& builder) {
    builder.open(in.position().byte);
  }
};
template <>
struct action<grammar::begin_in> : open_list {};
template <>
struct action<grammar::begin_not_in> : open_list {};
template <>
struct action<grammar::is_in> {
  static void apply0(TreeBuilder& builder) { builder.close(Op::in, 1); }
};
template <>
struct action<grammar::is_not_in> {
  static void apply0(TreeBuilder& builder) { builder.close(Op::in, 1, true); }
};

// A rule that must match and does not ends the parse with a message in the user's words.
template <class Rule>
struct control : peg::normal<Rule> {
  template <class Input>
  [[noreturn]] static void raise(const Input& in, TreeBuilder& builder) {
    if constexpr (std::is_same_v<Rule, grammar::string_close>) {
      builder.fail_unclosed("the string");
    } else if constexpr (std::is_same_v<Rule, grammar::name_close> || std::is_same_v<Rule, grammar::sql_name_close>) {
      builder.fail_unclosed("the quoted name");
    } else {
      builder.fail_expecting(in.byte(), grammar::kExpected<Rule>);
    }
  }
};

}  // namespace

NodePtr parse_expression(std::string_view text, const PlaceFunction& place) {
  TreeBuilder builder(text, place);
  peg::memory_input<peg::tracking_mode::eager> input(text.data(), text.size(), "");
  peg::parse<grammar::whole, action, control>(input, builder);
  return std::move(builder).result();
}

ParsedPrefix parse_sql_expression(std::string_view text, std::size_t offset, std::span<const std::string_view> reserved,
                                  const PlaceFunction& place) {
  TreeBuilder builder(text, place, reserved);
  peg::memory_input<peg::tracking_mode::eager> input(text.data() + offset, text.data() + text.size(), "", offset, 1, 1);
  peg::parse<grammar::prefix, action, control>(input, builder);
  const std::size_t end = input.byte();
  return {std::move(builder).result(), end};
}

NodePtr parse_expression(std::string_view text, const Location& origin) {
  const Places places(text, origin);
  return parse_expression(text, [&](std::size_t offset) { return places.at(offset); });
}

}  // namespace skyrank::query
// NOLINTEND(readability-identifier-naming)

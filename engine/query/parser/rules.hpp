#pragma once

#include <cstddef>
#include <optional>
#include <tao/pegtl.hpp>

#include "engine/text.hpp"

// Provides what the grammars of expressions (grammar.hpp) and of SQL statements (sql/parse.cpp) share. A rule says
// itself what its match does to the builder that goes along: it is a `does` of an effect and of what it matches.
//
// Rules, effects and actions bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query::rules {

namespace peg = tao::pegtl;

struct spaces : peg::star<peg::space> {};
template <class... Rules>
struct token : peg::seq<Rules..., spaces> {};
template <char... Characters>
struct symbol : token<peg::string<Characters...>> {
  static constexpr char kSpelling[] = {'\'', Characters..., '\'', '\0'};  ///< for messages
};
template <char... Characters>
struct word : token<peg::istring<Characters...>, peg::not_at<peg::identifier_other>> {
  static constexpr char kSpelling[] = {to_upper(Characters)..., '\0'};
};

/// A rule that the builder matches: Read(offset) returns where the match ends, or nothing.
template <auto Read>
struct read {
  using rule_t = read;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& in, Builder& builder) {
    const std::optional<std::size_t> end = (builder.*Read)(in.byte());
    if (end) in.bump(*end - in.byte());
    return end.has_value();
  }
};
/// A rule that matches nothing where Test(offset) of the builder is true.
template <auto Test>
struct is {
  using rule_t = is;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& in, Builder& builder) {
    return (builder.*Test)(in.byte());
  }
};

/// A rule whose match has an effect.
template <class Effect, class Rule>
struct does : Rule {
  using effect = Effect;
};
/// Gives PEGTL the effect of a rule.
template <class Rule>
struct action : peg::nothing<Rule> {};
template <class Rule>
requires requires { typename Rule::effect; }
struct action<Rule> : Rule::effect {};

/// Calls Function(Arguments...) of the builder.
template <auto Function, auto... Arguments>
struct calls {
  template <class Builder>
  static void apply0(Builder& builder) {
    (builder.*Function)(Arguments...);
  }
};
/// Calls Function(offset of the match, Arguments...).
template <auto Function, auto... Arguments>
struct calls_at {
  template <class Input, class Builder>
  static void apply(const Input& in, Builder& builder) {
    (builder.*Function)(in.position().byte, Arguments...);
  }
};
/// Calls Function(offset of the match, its text).
template <auto Function>
struct calls_with_text {
  template <class Input, class Builder>
  static void apply(const Input& in, Builder& builder) {
    (builder.*Function)(in.position().byte, in.string_view());
  }
};
/// Lets the builder count the levels of rules that recurse.
struct nests : peg::maybe_nothing {
  template <class Rule, peg::apply_mode A, peg::rewind_mode M, template <class...> class Action,
            template <class...> class Control, class Input, class Builder>
  static bool match(Input& in, Builder& builder) {
    builder.enter(in.byte());
    const bool matched = peg::match<Rule, A, M, Action, Control>(in, builder);
    builder.leave();
    return matched;
  }
};

}  // namespace skyrank::query::rules
// NOLINTEND(readability-identifier-naming)

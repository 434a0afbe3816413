#include "engine/query/sql/parse.hpp"

#include <algorithm>
#include <string>
#include <tao/pegtl.hpp>

#include "engine/query/places.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/query/sql_words.hpp"

// Grammar rules bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query {
namespace {

namespace peg = tao::pegtl;
using Kind = Preference::Kind;

// The grammar of statements. Expressions inside are those of engine/query/parser, which a rule calls. As
// there, no rule with an action is ever backtracked over.
namespace grammar {

struct spaces : peg::star<peg::space> {};
template <char... Characters>
struct symbol : peg::seq<peg::string<Characters...>, spaces> {};
template <char... Characters>
struct word : peg::seq<peg::istring<Characters...>, peg::not_at<peg::identifier_other>, spaces> {};

// A rule that the builder reads.
template <std::optional<std::size_t> (SqlBuilder::*Read)(std::size_t)>
struct read {
  using rule_t = read;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input>
  static bool match(Input& in, SqlBuilder& builder) {
    const std::optional<std::size_t> end = (builder.*Read)(in.byte());
    if (end) in.bump(*end - in.byte());
    return end.has_value();
  }
};

struct comma : symbol<','> {};
struct open : symbol<'('> {};
struct close : symbol<')'> {};
struct star : symbol<'*'> {};
struct equals : symbol<'='> {};
struct by : word<'b', 'y'> {};
struct as : word<'a', 's'> {};
struct distinct : word<'d', 'i', 's', 't', 'i', 'n', 'c', 't'> {};

struct expression : read<&SqlBuilder::read_expression> {};
struct preferred : read<&SqlBuilder::read_preferred> {};
struct value : read<&SqlBuilder::read_value> {};
struct integer : read<&SqlBuilder::read_integer> {};
struct name : read<&SqlBuilder::read_alias> {};
struct table : read<&SqlBuilder::read_table> {};

// Aggregates, in SELECT, in AGGREGATE, and where a value is ranked.
struct open_aggregate : read<&SqlBuilder::open_aggregate> {};
struct star_argument : peg::seq<star> {};
struct argument : peg::seq<expression> {};
struct aggregate : peg::if_must<open_aggregate, peg::sor<star_argument, argument>, close> {};
struct aggregate_reference : peg::seq<aggregate> {};
struct ranked : peg::sor<aggregate_reference, expression> {};

struct select_word : word<'s', 'e', 'l', 'e', 'c', 't'> {};
struct alias : peg::if_must<as, name> {};
struct selected : peg::seq<peg::sor<aggregate, expression>, peg::opt<alias>> {};
struct selection : peg::sor<star, peg::list_must<selected, comma>> {};
struct select : peg::if_must<select_word, selection> {};

struct from_word : word<'f', 'r', 'o', 'm'> {};
struct from : peg::if_must<from_word, table> {};

struct where_word : word<'w', 'h', 'e', 'r', 'e'> {};
struct condition : peg::seq<expression> {};
struct where : peg::if_must<where_word, condition> {};

struct group_word : word<'g', 'r', 'o', 'u', 'p'> {};
struct group_column : peg::seq<expression, peg::opt<alias>> {};
struct group_by : peg::if_must<group_word, by, peg::list_must<group_column, comma>> {};

struct aggregate_word : word<'a', 'g', 'g', 'r', 'e', 'g', 'a', 't', 'e'> {};
struct an_aggregate : peg::seq<aggregate> {};
struct defined : peg::seq<peg::must<an_aggregate>, peg::opt<alias>> {};
struct aggregates : peg::if_must<aggregate_word, peg::list_must<defined, comma>> {};

// Preferences: PLUS binds more tightly than PRIOR TO.
struct preference;
struct nested : peg::seq<preference> {};
struct low_word : word<'l', 'o', 'w'> {};
struct high_word : word<'h', 'i', 'g', 'h'> {};
struct preferred_value : peg::sor<aggregate_reference, preferred> {};
struct low : peg::if_must<low_word, preferred_value> {};
struct high : peg::if_must<high_word, preferred_value> {};
struct true_condition : peg::if_must<word<'w', 'h', 'e', 'r', 'e'>, preferred> {};
struct list_begin : peg::success {};
struct preferences : peg::seq<list_begin, peg::list_must<nested, comma>> {};
struct pareto : peg::if_must<word<'p', 'a', 'r', 'e', 't', 'o'>, open, preferences, close> {};
struct prior_list : peg::if_must<peg::seq<word<'p', 'r', 'i', 'o', 'r'>, peg::at<open>>, open, preferences, close> {};
struct group : peg::if_must<read<&SqlBuilder::open_preferences>, nested, close> {};
struct term;
struct nested_term : peg::seq<term> {};
struct inverse : peg::if_must<word<'i', 'n', 'v', 'e', 'r', 's', 'e'>, nested_term> {};
struct around : peg::if_must<word<'a', 'r', 'o', 'u', 'n', 'd'>, value> {};
struct set_begin : peg::seq<open> {};
struct member : peg::seq<value> {};
struct set : peg::if_must<word<'e', 'l', 's', 'e'>, set_begin, peg::list_must<member, comma>, close> {};
struct value_term : peg::seq<preferred, peg::opt<around>, peg::star<set>> {};
struct term : peg::sor<low, high, true_condition, inverse, pareto, prior_list, group, value_term> {};
struct plus : peg::if_must<word<'p', 'l', 'u', 's'>, term> {};
struct all : peg::seq<list_begin, term, peg::star<plus>> {};
struct prior_to : peg::if_must<word<'p', 'r', 'i', 'o', 'r'>, word<'t', 'o'>, all> {};
struct preference : peg::seq<list_begin, all, peg::star<prior_to>> {};
struct preferring_word : word<'p', 'r', 'e', 'f', 'e', 'r', 'r', 'i', 'n', 'g'> {};
struct preferring : peg::if_must<preferring_word, peg::opt<distinct>, preference> {};

// SKYLINE OF: Börzsönyi, Kossmann, Stocker, "The Skyline Operator", ICDE 2001.
struct skyline_word : word<'s', 'k', 'y', 'l', 'i', 'n', 'e'> {};
struct of : word<'o', 'f'> {};
struct skyline_direction : peg::sor<word<'m', 'i', 'n'>, word<'m', 'a', 'x'>, word<'d', 'i', 'f', 'f'>, peg::success> {
};
struct skyline_term : peg::seq<ranked, skyline_direction> {};
struct skyline_terms : peg::list_must<skyline_term, comma> {};
struct skyline : peg::if_must<skyline_word, of, peg::opt<distinct>, skyline_terms> {};

struct partition_word : word<'p', 'a', 'r', 't', 'i', 't', 'i', 'o', 'n'> {};
struct partition_column : peg::seq<expression, peg::opt<alias>> {};
struct partition_by : peg::if_must<partition_word, by, peg::list_must<partition_column, comma>> {};

struct levels_word : word<'l', 'e', 'v', 'e', 'l', 's'> {};
struct levels : peg::if_must<levels_word, integer> {};
struct at_word : word<'a', 't'> {};
struct least : word<'l', 'e', 'a', 's', 't'> {};
struct at_least : peg::if_must<at_word, least, integer> {};

struct order_word : word<'o', 'r', 'd', 'e', 'r'> {};
struct ascending : word<'a', 's', 'c'> {};
struct descending : word<'d', 'e', 's', 'c'> {};
struct first : word<'f', 'i', 'r', 's', 't'> {};
struct last : word<'l', 'a', 's', 't'> {};
struct first_or_last : peg::sor<first, last> {};
struct nulls : peg::if_must<word<'n', 'u', 'l', 'l', 's'>, first_or_last> {};
struct direction : peg::sor<descending, ascending, peg::success> {};
struct order_term : peg::seq<ranked, direction, peg::opt<nulls>> {};
struct order_by : peg::if_must<order_word, by, peg::list_must<order_term, comma>> {};

struct limit_word : word<'l', 'i', 'm', 'i', 't'> {};
struct limit : peg::if_must<limit_word, integer> {};
struct offset_word : word<'o', 'f', 'f', 's', 'e', 't'> {};
struct offset : peg::if_must<offset_word, integer> {};
struct with_word : word<'w', 'i', 't', 'h'> {};
struct ties : word<'t', 'i', 'e', 's'> {};
struct with_ties : peg::if_must<with_word, ties> {};

struct options_word : word<'o', 'p', 't', 'i', 'o', 'n', 's'> {};
struct option_text : read<&SqlBuilder::read_option_text> {};
struct option_begin : peg::success {};
struct option_entry : peg::seq<option_text, peg::opt<peg::if_must<equals, option_text>>> {};
struct option_list : peg::if_must<open, peg::list_must<option_entry, comma>, close> {};
struct option_value : peg::sor<option_list, option_text> {};
struct option : peg::seq<option_begin, peg::must<option_text, equals, option_value>> {};
struct options : peg::if_must<options_word, open, peg::list_must<option, comma>, close> {};

struct clause : peg::sor<where, group_by, aggregates, preferring, skyline, partition_by, levels, at_least, order_by,
                         limit, offset, with_ties, options, select, from> {};
struct end : peg::seq<peg::opt<symbol<';'>>, peg::eof> {};
struct statement : peg::seq<spaces, peg::must<select, from>, peg::star<clause>, peg::must<end>> {};

}  // namespace grammar

// What the parser says it wants where a rule fails that must not.
template <class Rule>
constexpr const char* kExpected = "a value";
template <>
constexpr const char* kExpected<grammar::select> = "SELECT";
template <>
constexpr const char* kExpected<grammar::from> = "',' or FROM";
template <>
constexpr const char* kExpected<grammar::table> = "a table: FROM 'hotels.csv' or a name";
template <>
constexpr const char* kExpected<grammar::name> = "a name";
template <>
constexpr const char* kExpected<grammar::an_aggregate> = "COUNT, SUM, MIN, MAX or AVG and '('";
template <>
constexpr const char* kExpected<grammar::by> = "BY";
template <>
constexpr const char* kExpected<grammar::open> = "'('";
template <>
constexpr const char* kExpected<grammar::set_begin> = "'('";
template <>
constexpr const char* kExpected<grammar::close> = "',' or ')'";
template <>
constexpr const char* kExpected<grammar::equals> = "'='";
template <>
constexpr const char* kExpected<grammar::option_text> = "a name, a string or a number";
template <>
constexpr const char* kExpected<grammar::option_value> = "a name, a string, a number or a list in parentheses";
template <>
constexpr const char* kExpected<grammar::word<'t', 'o'>> = "TO";
template <>
constexpr const char* kExpected<grammar::of> = "OF";
template <>
constexpr const char* kExpected<grammar::least> = "LEAST";
template <>
constexpr const char* kExpected<grammar::ties> = "TIES";
template <>
constexpr const char* kExpected<grammar::first_or_last> = "FIRST or LAST";
template <>
constexpr const char* kExpected<grammar::end> = "an operator, the next clause or the end";

// What a match does to the query.
template <class Rule>
struct action : peg::nothing<Rule> {};

struct nesting : peg::maybe_nothing {
  template <class Rule, peg::apply_mode A, peg::rewind_mode M, template <class...> class Action,
            template <class...> class Control, class Input>
  static bool match(Input& in, SqlBuilder& builder) {
    builder.enter(in.byte());
    const bool matched = peg::match<Rule, A, M, Action, Control>(in, builder);
    builder.leave();
    return matched;
  }
};
template <>
struct action<grammar::nested> : nesting {};
template <>
struct action<grammar::nested_term> : nesting {};

// The word of a clause, in capitals, for messages.
template <class Input>
std::string word_of(const Input& in) {
  std::string word = in.string();
  word.erase(word.find_last_not_of(" \t\r\n\v\f") + 1);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return word;
}

template <Clause clause>
struct begins {
  template <class Input>
  static void apply(const Input& in, SqlBuilder& builder) {
    builder.begin(clause, word_of(in), in.position().byte);
  }
};
template <>
struct action<grammar::select_word> : begins<Clause::select> {};
template <>
struct action<grammar::from_word> : begins<Clause::from> {};
template <>
struct action<grammar::where_word> : begins<Clause::where> {};
template <>
struct action<grammar::group_word> : begins<Clause::group_by> {};
template <>
struct action<grammar::aggregate_word> : begins<Clause::aggregate> {};
template <>
struct action<grammar::preferring_word> : begins<Clause::prefer> {};
template <>
struct action<grammar::skyline_word> : begins<Clause::prefer> {};
template <>
struct action<grammar::partition_word> : begins<Clause::partition_by> {};
template <>
struct action<grammar::levels_word> : begins<Clause::levels> {};
template <>
struct action<grammar::at_word> : begins<Clause::levels> {};
template <>
struct action<grammar::order_word> : begins<Clause::order_by> {};
template <>
struct action<grammar::limit_word> : begins<Clause::limit> {};
template <>
struct action<grammar::offset_word> : begins<Clause::offset> {};
template <>
struct action<grammar::with_word> : begins<Clause::ties> {};
template <>
struct action<grammar::options_word> : begins<Clause::options> {};

template <void (SqlBuilder::*Do)()>
struct does {
  static void apply0(SqlBuilder& builder) { (builder.*Do)(); }
};
template <>
struct action<grammar::selected> : does<&SqlBuilder::end_selected> {};
template <>
struct action<grammar::defined> : does<&SqlBuilder::define_aggregate> {};
template <>
struct action<grammar::aggregate_reference> : does<&SqlBuilder::refer_to_aggregate> {};
template <>
struct action<grammar::condition> : does<&SqlBuilder::where> {};
template <>
struct action<grammar::group_column> : does<&SqlBuilder::group_column> {};
template <>
struct action<grammar::partition_column> : does<&SqlBuilder::partition_column> {};
template <>
struct action<grammar::levels> : does<&SqlBuilder::levels> {};
template <>
struct action<grammar::at_least> : does<&SqlBuilder::at_least> {};
template <>
struct action<grammar::limit> : does<&SqlBuilder::limit> {};
template <>
struct action<grammar::offset> : does<&SqlBuilder::offset> {};
template <>
struct action<grammar::with_ties> : does<&SqlBuilder::with_ties> {};
template <>
struct action<grammar::distinct> : does<&SqlBuilder::distinct> {};
template <>
struct action<grammar::list_begin> : does<&SqlBuilder::open_composition> {};
template <>
struct action<grammar::inverse> : does<&SqlBuilder::inverse> {};
template <>
struct action<grammar::around> : does<&SqlBuilder::around> {};
template <>
struct action<grammar::set_begin> : does<&SqlBuilder::begin_set> {};
template <>
struct action<grammar::member> : does<&SqlBuilder::add_to_set> {};
template <>
struct action<grammar::value_term> : does<&SqlBuilder::end_value_term> {};
template <>
struct action<grammar::preferring> : does<&SqlBuilder::prefer> {};
template <>
struct action<grammar::skyline_terms> : does<&SqlBuilder::end_skyline> {};
template <>
struct action<grammar::option_begin> : does<&SqlBuilder::begin_option> {};
template <>
struct action<grammar::option> : does<&SqlBuilder::end_option> {};

template <bool Star>
struct ends_aggregate {
  static void apply0(SqlBuilder& builder) { builder.end_aggregate(Star); }
};
template <>
struct action<grammar::star_argument> : ends_aggregate<true> {};
template <>
struct action<grammar::argument> : ends_aggregate<false> {};

template <Kind kind>
struct makes_term {
  static void apply0(SqlBuilder& builder) { builder.term(kind); }
};
template <>
struct action<grammar::low> : makes_term<Kind::low> {};
template <>
struct action<grammar::high> : makes_term<Kind::high> {};
template <>
struct action<grammar::true_condition> : makes_term<Kind::where> {};

template <Kind kind, bool of_one>
struct composes {
  static void apply0(SqlBuilder& builder) { builder.close_composition(kind, of_one); }
};
template <>
struct action<grammar::all> : composes<Kind::pareto, false> {};
template <>
struct action<grammar::preference> : composes<Kind::prior, false> {};
template <>
struct action<grammar::pareto> : composes<Kind::pareto, true> {};
template <>
struct action<grammar::prior_list> : composes<Kind::prior, true> {};

template <>
struct action<grammar::skyline_direction> {
  template <class Input>
  static void apply(const Input& in, SqlBuilder& builder) {
    builder.skyline_term(word_of(in));
  }
};
template <>
struct action<grammar::direction> {
  template <class Input>
  static void apply(const Input& in, SqlBuilder& builder) {
    builder.rank(word_of(in) == "DESC");
  }
};
template <>
struct action<grammar::first> {
  template <class Input>
  static void apply(const Input& in, SqlBuilder& builder) {
    builder.nulls_first(in.position().byte);
  }
};
template <>
struct action<grammar::last> {
  template <class Input>
  static void apply(const Input& in, SqlBuilder& builder) {
    builder.nulls_last(in.position().byte);
  }
};

// A rule that must match and does not ends the parse with a message in the user's words.
template <class Rule>
struct control : peg::normal<Rule> {
  template <class Input>
  [[noreturn]] static void raise(const Input& in, SqlBuilder& builder) {
    builder.fail_expecting(in.byte(), kExpected<Rule>);
  }
};

}  // namespace

SqlStatement parse_sql(std::string_view sql, const PlaceFunction& place) {
  std::optional<std::size_t> open_comment;
  const std::string text = without_comments(sql, open_comment);
  if (open_comment) throw QueryError("the comment that begins here does not end", place(*open_comment));
  if (const auto foreign = find_foreign_sql(text)) {
    throw QueryError(foreign->what +
                         " is no part of SkyRank's SQL: run it in an SQL engine, such as DuckDB, and hand " +
                         "over its result as a file or an Arrow table",
                     place(foreign->offset));
  }
  SqlBuilder builder(text, place);
  peg::memory_input<peg::tracking_mode::eager> input(text.data(), text.size(), "");
  peg::parse<grammar::statement, action, control>(input, builder);
  return builder.finish();
}

}  // namespace skyrank::query

skyrank::Query skyrank::Query::parse(std::string_view sql) {
  const query::Places places(sql, {"sql", 1, 1});
  return query::parse_sql(sql, [&](std::size_t offset) { return places.at(offset); }).query;
}
// NOLINTEND(readability-identifier-naming)

#pragma once

#include <tao/pegtl.hpp>

#include "engine/query/parser/messages.hpp"

// The grammar of expressions. From loosest to tightest: or, and, not, one predicate (comparison, in, between, is null),
// sum, product, minus sign, primary. No rule with an action is ever backtracked over: where alternatives share a
// beginning, a rule without actions decides, and `if_must` commits.
//
// Grammar rules bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query::grammar {

namespace peg = tao::pegtl;

struct spaces : peg::star<peg::space> {};
template <class... Rules>
struct token : peg::seq<Rules..., spaces> {};
template <char... Characters>
struct symbol : token<peg::string<Characters...>> {};
struct word_end : peg::not_at<peg::identifier_other> {};
template <char... Characters>
struct word : token<peg::istring<Characters...>, word_end> {};

struct word_and : word<'a', 'n', 'd'> {};
struct word_or : word<'o', 'r'> {};
struct word_not : word<'n', 'o', 't'> {};
struct word_in : word<'i', 'n'> {};
struct word_between : word<'b', 'e', 't', 'w', 'e', 'e', 'n'> {};
struct word_is : word<'i', 's'> {};
struct word_null : word<'n', 'u', 'l', 'l'> {};
struct word_true : word<'t', 'r', 'u', 'e'> {};
struct word_false : word<'f', 'a', 'l', 's', 'e'> {};
struct word_case : word<'c', 'a', 's', 'e'> {};
struct word_when : word<'w', 'h', 'e', 'n'> {};
struct word_then : word<'t', 'h', 'e', 'n'> {};
struct word_else : word<'e', 'l', 's', 'e'> {};
struct word_end_case : word<'e', 'n', 'd'> {};
struct reserved : peg::sor<word_and, word_or, word_not, word_in, word_between, word_is, word_null, word_true,
                           word_false, word_case, word_when, word_then, word_else, word_end_case> {};

struct disjunction;
struct negation;
struct signed_value;
struct nested : peg::seq<disjunction> {};                // one level deeper: inside brackets, arguments, case
struct nested_negation : peg::seq<negation> {};          // after `not`
struct nested_signed_value : peg::seq<signed_value> {};  // after `-`

// Primaries.
struct digits : peg::plus<peg::digit> {};
struct exponent : peg::seq<peg::one<'e', 'E'>, peg::opt<peg::one<'+', '-'>>, digits> {};
struct fraction : peg::seq<peg::one<'.'>, peg::star<peg::digit>> {};
struct number_text
    : peg::seq<peg::sor<peg::seq<digits, peg::opt<fraction>>, peg::seq<peg::one<'.'>, digits>>, peg::opt<exponent>> {};
struct number : token<number_text> {};

struct string_text : peg::star<peg::sor<peg::two<'\''>, peg::not_one<'\''>>> {};
struct string_open : peg::one<'\''> {};
struct string_close : peg::one<'\''> {};
struct string : token<peg::if_must<string_open, string_text, string_close>> {};

// Rules of SQL statements, which ask the builder whether there is one.
struct only_in_sql {
  using rule_t = only_in_sql;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& /*in*/, Builder& builder) {
    return builder.is_sql();
  }
};
// A word that the statement reserves; consumes nothing.
struct sql_word {
  using rule_t = sql_word;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& in, Builder& builder) {
    return builder.is_reserved_at(in.byte());
  }
};
struct sql_name_text : peg::star<peg::sor<peg::two<'"'>, peg::not_one<'"'>>> {};
struct sql_name_open : peg::one<'"'> {};
struct sql_name_close : peg::one<'"'> {};

struct name_text : peg::star<peg::sor<peg::two<'`'>, peg::not_one<'`'>>> {};
struct name_open : peg::one<'`'> {};
struct name_close : peg::one<'`'> {};
struct quoted_name : token<peg::if_must<name_open, name_text, name_close>> {};
struct sql_quoted_name : peg::seq<only_in_sql, token<peg::if_must<sql_name_open, sql_name_text, sql_name_close>>> {};
struct bare_name : peg::identifier {};
struct name : token<peg::not_at<reserved>, peg::not_at<sql_word>, bare_name> {};

struct date_word : peg::seq<peg::istring<'d', 'a', 't', 'e'>, spaces, peg::at<string_open>> {};
struct date : peg::if_must<date_word, string> {};
struct timestamp_word
    : peg::seq<peg::istring<'t', 'i', 'm', 'e', 's', 't', 'a', 'm', 'p'>, spaces, peg::at<string_open>> {};
struct timestamp : peg::if_must<timestamp_word, string> {};

struct open_group : symbol<'('> {};
struct close_group : symbol<')'> {};
struct group : peg::if_must<open_group, nested, close_group> {};

struct comma : symbol<','> {};
struct items : peg::list_must<nested, comma> {};
struct function_name : peg::seq<peg::not_at<reserved>, peg::not_at<sql_word>, peg::identifier> {};
struct open_call : token<function_name, spaces, peg::one<'('>> {};
struct close_call : symbol<')'> {};
struct call : peg::if_must<open_call, peg::opt<peg::not_at<close_call>, peg::must<items>>, close_call> {};

struct open_case : word_case {};
struct first_when : word_when {};
struct first_branch : peg::must<first_when, nested, word_then, nested> {};
struct branch : peg::if_must<word_when, nested, word_then, nested> {};
struct otherwise : peg::if_must<word_else, nested> {};
struct close_case : word_end_case {};
struct case_when : peg::if_must<open_case, first_branch, peg::star<branch>, peg::opt<otherwise>, close_case> {};

struct true_value : word_true {};
struct false_value : word_false {};
struct null_value : word_null {};

struct primary : peg::sor<number, string, quoted_name, sql_quoted_name, group, true_value, false_value, null_value,
                          date, timestamp, case_when, call, name> {};

// Arithmetic.
struct minus : symbol<'-'> {};
struct negative_number : peg::seq<minus, number> {};
struct negative_value : peg::if_must<minus, nested_signed_value> {};
struct signed_value : peg::sor<negative_number, negative_value, primary> {};

struct times : peg::if_must<symbol<'*'>, signed_value> {};
struct over : peg::if_must<symbol<'/'>, signed_value> {};
struct remainder : peg::if_must<symbol<'%'>, signed_value> {};
struct product : peg::seq<signed_value, peg::star<peg::sor<times, over, remainder>>> {};

struct plus : peg::if_must<symbol<'+'>, product> {};
struct less_by : peg::if_must<symbol<'-'>, product> {};
struct sum : peg::seq<product, peg::star<peg::sor<plus, less_by>>> {};

// Predicates: at most one after a sum.
struct is_equal : peg::if_must<peg::sor<symbol<'=', '='>, symbol<'='>>, sum> {};
struct is_not_equal : peg::if_must<peg::sor<symbol<'!', '='>, symbol<'<', '>'>>, sum> {};
struct is_less_equal : peg::if_must<symbol<'<', '='>, sum> {};
struct is_less : peg::if_must<symbol<'<'>, sum> {};
struct is_greater_equal : peg::if_must<symbol<'>', '='>, sum> {};
struct is_greater : peg::if_must<symbol<'>'>, sum> {};

struct close_bracket : symbol<']'> {};
struct close_list : symbol<')'> {};
struct bracket_list : peg::if_must<symbol<'['>, items, close_bracket> {};
struct round_list : peg::if_must<symbol<'('>, items, close_list> {};
struct list : peg::sor<bracket_list, round_list> {};
struct begin_in : word_in {};
struct begin_not_in : peg::seq<word_not, word_in> {};
struct is_in : peg::if_must<begin_in, list> {};
struct is_not_in : peg::if_must<begin_not_in, list> {};

struct range_and : word_and {};
struct is_between : peg::if_must<word_between, sum, range_and, sum> {};
struct is_not_between : peg::if_must<peg::seq<word_not, word_between>, sum, range_and, sum> {};

struct null_test : peg::seq<word_null> {};
struct not_null_test : peg::seq<word_not, word_null> {};
struct null_tests : peg::sor<null_test, not_null_test> {};
struct is_null : peg::if_must<word_is, null_tests> {};

struct predicate : peg::seq<sum, peg::opt<peg::sor<is_not_equal, is_less_equal, is_less, is_greater_equal, is_greater,
                                                   is_equal, is_between, is_not_between, is_in, is_not_in, is_null>>> {
};

// Logic.
struct negated : peg::if_must<word_not, nested_negation> {};
struct negation : peg::sor<negated, predicate> {};
struct and_also : peg::if_must<word_and, negation> {};
struct conjunction : peg::seq<negation, peg::star<and_also>> {};
struct or_else : peg::if_must<word_or, conjunction> {};
struct disjunction : peg::seq<conjunction, peg::star<or_else>> {};

struct end_of_text : peg::eof {};
struct whole : peg::seq<spaces, peg::must<disjunction, end_of_text>> {};
struct prefix : peg::seq<spaces, peg::must<disjunction>> {};

/// Names what is missing where a rule fails that must match. Everything without a name of its own is the place of a
/// value.
template <class Rule>
inline constexpr const char* kExpected = kValue;
template <>
inline constexpr const char* kExpected<end_of_text> = "an operator";
template <>
inline constexpr const char* kExpected<close_group> = "an operator or ')'";
template <>
inline constexpr const char* kExpected<close_call> = "an operator, ',' or ')'";
template <>
inline constexpr const char* kExpected<close_list> = "an operator, ',' or ')'";
template <>
inline constexpr const char* kExpected<close_bracket> = "an operator, ',' or ']'";
template <>
inline constexpr const char* kExpected<list> = "'['";
template <>
inline constexpr const char* kExpected<null_tests> = "'null' or 'not null'";
template <>
inline constexpr const char* kExpected<range_and> = "'and' and the upper end of the range";
template <>
inline constexpr const char* kExpected<first_when> = "'when'";
template <>
inline constexpr const char* kExpected<word_then> = "an operator or 'then'";
template <>
inline constexpr const char* kExpected<close_case> = "an operator, 'when', 'else' or 'end'";

}  // namespace skyrank::query::grammar
// NOLINTEND(readability-identifier-naming)

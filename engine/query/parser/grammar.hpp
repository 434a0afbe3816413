#pragma once

#include <tao/pegtl.hpp>

#include "engine/query/parser/messages.hpp"
#include "engine/query/parser/rules.hpp"
#include "engine/query/parser/tree_builder.hpp"

// The grammar of expressions, and what each rule does to the tree. From loosest to tightest: or, and, not, one
// predicate (comparison, in, between, is null), sum, product, minus sign, primary. No rule with an effect is ever
// backtracked over: where alternatives share a beginning, a rule without effects decides, and `if_must` commits.
//
// Grammar rules bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query::grammar {

using namespace rules;  // NOLINT(google-build-using-namespace): the vocabulary of the grammar

/// An operation on the operands before it.
template <Op op, std::size_t operands, bool negated, class Rule>
struct operation : does<calls<&TreeBuilder::combine, op, operands, negated>, Rule> {};
template <Op op, class Sign, class Operand>
struct infix : operation<op, 2, false, peg::if_must<Sign, Operand>> {};
/// An operation on one operand, which begins with its sign.
template <Op op, class Sign, class Operand>
struct prefix : does<calls_at<&TreeBuilder::combine_at, op, std::size_t{1}, false>, peg::if_must<Sign, Operand>> {};

struct word_and : word<'a', 'n', 'd'> {};
struct word_or : word<'o', 'r'> {};
struct word_not : word<'n', 'o', 't'> {};
struct word_in : word<'i', 'n'> {};
struct word_between : word<'b', 'e', 't', 'w', 'e', 'e', 'n'> {};
// Words that are not reserved: no name can stand where they do.
struct word_like : word<'l', 'i', 'k', 'e'> {};
struct word_escape : word<'e', 's', 'c', 'a', 'p', 'e'> {};
struct word_as : word<'a', 's'> {};
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
struct nested : does<nests, peg::seq<disjunction>> {};  // one level deeper: inside brackets, arguments, case
struct nested_negation : does<nests, peg::seq<negation>> {};
struct nested_signed_value : does<nests, peg::seq<signed_value>> {};

// Primaries.
struct digits : peg::plus<peg::digit> {};
struct exponent : peg::seq<peg::one<'e', 'E'>, peg::opt<peg::one<'+', '-'>>, digits> {};
struct fraction : peg::seq<peg::one<'.'>, peg::star<peg::digit>> {};
struct mantissa : peg::sor<peg::seq<digits, peg::opt<fraction>>, peg::seq<peg::one<'.'>, digits>> {};
struct number_text : does<calls_with_text<&TreeBuilder::push_number>, peg::seq<mantissa, peg::opt<exponent>>> {};
struct number : token<number_text> {};

// Texts in quotes, which stand twice inside: strings, and names of columns.
template <char Quote>
struct open_quote : does<calls_at<&TreeBuilder::begin_quoted>, peg::one<Quote>> {};
template <char Quote>
struct quoted_text
    : does<calls_with_text<&TreeBuilder::push_quoted>, peg::star<peg::sor<peg::two<Quote>, peg::not_one<Quote>>>> {};
template <char Quote>
struct close_quote : peg::one<Quote> {
  static constexpr bool kClosesQuote = true;
};
template <char Quote>
struct quoted : token<peg::if_must<open_quote<Quote>, quoted_text<Quote>, close_quote<Quote>>> {};
struct string : quoted<'\''> {};
struct quoted_name : peg::sor<quoted<'`'>, peg::seq<is<&TreeBuilder::is_sql_at>, quoted<'"'>>> {};

struct no_keyword : peg::not_at<peg::sor<reserved, is<&TreeBuilder::is_reserved_at>>> {};
struct bare_name : does<calls_with_text<&TreeBuilder::push_name>, peg::identifier> {};
struct name : token<no_keyword, bare_name> {};

struct date_word : peg::seq<peg::istring<'d', 'a', 't', 'e'>, spaces, peg::at<peg::one<'\''>>> {};
struct date : does<calls_at<&TreeBuilder::make_date>, peg::if_must<date_word, string>> {};
struct timestamp_word
    : peg::seq<peg::istring<'t', 'i', 'm', 'e', 's', 't', 'a', 'm', 'p'>, spaces, peg::at<peg::one<'\''>>> {};
struct timestamp : does<calls_at<&TreeBuilder::make_timestamp>, peg::if_must<timestamp_word, string>> {};

struct open_group : symbol<'('> {};
struct close_group : symbol<')'> {};
struct group : peg::if_must<open_group, nested, close_group> {};

struct comma : symbol<','> {};
struct items : peg::list_must<nested, comma> {};
struct call_begin : token<no_keyword, peg::identifier, spaces, peg::one<'('>> {};
struct open_call : does<calls_with_text<&TreeBuilder::open_call>, call_begin> {};
struct close_call : symbol<')'> {};
struct arguments : peg::opt<peg::not_at<close_call>, peg::must<items>> {};
struct call : does<calls<&TreeBuilder::close_call>, peg::if_must<open_call, arguments, close_call>> {};

struct open_case : does<calls_at<&TreeBuilder::open>, word_case> {};
struct first_when : word_when {};
struct first_branch : peg::must<first_when, nested, word_then, nested> {};
struct branch : peg::if_must<word_when, nested, word_then, nested> {};
struct otherwise : peg::if_must<word_else, nested> {};
struct close_case : word_end_case {};
struct branches : peg::seq<first_branch, peg::star<branch>, peg::opt<otherwise>, peg::must<close_case>> {};
struct searched_case : does<calls<&TreeBuilder::close, Op::case_when, std::size_t{0}, false>, branches> {};
// CASE e WHEN v compares e with each v.
struct case_value : peg::seq<peg::not_at<word_when>, nested> {};
struct simple_case : does<calls<&TreeBuilder::close_simple_case>, peg::seq<case_value, branches>> {};
struct cases : peg::sor<peg::seq<peg::at<word_when>, searched_case>, simple_case> {};
struct case_when : peg::if_must<open_case, cases> {};

// CAST(e AS type), and e::type, which binds more tightly than any other operator.
struct type_size
    : peg::seq<peg::one<'('>, spaces, digits, spaces, peg::opt<peg::one<','>, spaces, digits, spaces>, peg::one<')'>> {
};
struct second_word : peg::seq<peg::plus<peg::space>, peg::istring<'p', 'r', 'e', 'c', 'i', 's', 'i', 'o', 'n'>,
                              peg::not_at<peg::identifier_other>> {};
struct type_text : peg::seq<peg::identifier, peg::opt<second_word>, peg::opt<spaces, type_size>> {};
struct target_type : token<does<calls_with_text<&TreeBuilder::close_cast>, type_text>> {};
struct cast_begin : token<peg::istring<'c', 'a', 's', 't'>, spaces, peg::one<'('>> {};
struct open_cast : does<calls_at<&TreeBuilder::open>, cast_begin> {};
struct as_type : word_as {};
struct close_type : symbol<')'> {};
struct cast : peg::if_must<open_cast, nested, as_type, target_type, close_type> {};
struct suffix_type : token<does<calls_with_text<&TreeBuilder::cast_last>, type_text>> {};
struct cast_suffix : peg::if_must<symbol<':', ':'>, suffix_type> {};

struct true_value : does<calls_at<&TreeBuilder::push_literal, true>, word_true> {};
struct false_value : does<calls_at<&TreeBuilder::push_literal, false>, word_false> {};
struct null_value : does<calls_at<&TreeBuilder::push_literal, Null{}>, word_null> {};

struct primary : peg::sor<number, string, quoted_name, group, true_value, false_value, null_value, date, timestamp,
                          case_when, cast, call, name> {};
struct value : peg::seq<primary, peg::star<cast_suffix>> {};

// Arithmetic.
struct minus : symbol<'-'> {};
struct negated_literal : does<calls<&TreeBuilder::negate_number>, peg::seq<minus, number>> {};
struct negative_number : peg::seq<negated_literal, peg::star<cast_suffix>> {};
struct negative_value : prefix<Op::negate, minus, nested_signed_value> {};
struct signed_value : peg::sor<negative_number, negative_value, value> {};

struct times : infix<Op::multiply, symbol<'*'>, signed_value> {};
struct over : infix<Op::divide, symbol<'/'>, signed_value> {};
struct remainder : infix<Op::modulo, symbol<'%'>, signed_value> {};
struct product : peg::seq<signed_value, peg::star<peg::sor<times, over, remainder>>> {};

struct plus : infix<Op::add, symbol<'+'>, product> {};
struct less_by : infix<Op::subtract, symbol<'-'>, product> {};
struct behind : infix<Op::concat, symbol<'|', '|'>, product> {};
struct sum : peg::seq<product, peg::star<peg::sor<plus, less_by, behind>>> {};

// Predicates: at most one after a sum.
struct is_equal : infix<Op::equal, peg::sor<symbol<'=', '='>, symbol<'='>>, sum> {};
struct is_not_equal : infix<Op::not_equal, peg::sor<symbol<'!', '='>, symbol<'<', '>'>>, sum> {};
struct is_less_equal : infix<Op::less_equal, symbol<'<', '='>, sum> {};
struct is_less : infix<Op::less, symbol<'<'>, sum> {};
struct is_greater_equal : infix<Op::greater_equal, symbol<'>', '='>, sum> {};
struct is_greater : infix<Op::greater, symbol<'>'>, sum> {};

struct close_bracket : symbol<']'> {};
struct close_list : symbol<')'> {};
struct bracket_list : peg::if_must<symbol<'['>, items, close_bracket> {};
struct round_list : peg::if_must<symbol<'('>, items, close_list> {};
struct list : peg::sor<bracket_list, round_list> {};
template <bool negated, class Begin>
struct membership : does<calls<&TreeBuilder::close, Op::in, std::size_t{1}, negated>,
                         peg::if_must<does<calls_at<&TreeBuilder::open>, Begin>, list>> {};
struct is_in : membership<false, word_in> {};
struct is_not_in : membership<true, peg::seq<word_not, word_in>> {};

struct range_and : word_and {};
template <bool negated, class Begin>
struct range : operation<Op::between, 3, negated, peg::if_must<Begin, sum, range_and, sum>> {};
struct is_between : range<false, word_between> {};
struct is_not_between : range<true, peg::seq<word_not, word_between>> {};

struct escape : does<calls<&TreeBuilder::escape_pattern>, peg::if_must<word_escape, string>> {};
struct pattern : peg::seq<sum, peg::opt<escape>> {};
struct is_like : infix<Op::like, word_like, pattern> {};
struct is_not_like : operation<Op::like, 2, true, peg::if_must<peg::seq<word_not, word_like>, pattern>> {};

struct null_test : operation<Op::is_null, 1, false, word_null> {};
struct not_null_test : operation<Op::is_null, 1, true, peg::seq<word_not, word_null>> {};
struct null_tests : peg::sor<null_test, not_null_test> {};
struct is_null : peg::if_must<word_is, null_tests> {};

struct predicate
    : peg::seq<sum, peg::opt<peg::sor<is_not_equal, is_less_equal, is_less, is_greater_equal, is_greater, is_equal,
                                      is_between, is_not_between, is_in, is_not_in, is_like, is_not_like, is_null>>> {};

// Logic.
struct negated : prefix<Op::logical_not, word_not, nested_negation> {};
struct negation : peg::sor<negated, predicate> {};
struct and_also : infix<Op::logical_and, word_and, negation> {};
struct conjunction : peg::seq<negation, peg::star<and_also>> {};
struct or_else : infix<Op::logical_or, word_or, conjunction> {};
struct disjunction : peg::seq<conjunction, peg::star<or_else>> {};

struct end_of_text : peg::eof {};
struct whole : peg::seq<spaces, peg::must<disjunction, end_of_text>> {};
struct beginning : peg::seq<spaces, peg::must<disjunction>> {};

/// Names what is missing where a rule fails that must match. Everything without a name of its own is the place of a
/// value.
template <class Rule>
inline constexpr const char* kExpected = kValue;
template <>
inline constexpr const char* kExpected<end_of_text> = "an operator";
template <>
inline constexpr const char* kExpected<close_group> = "an operator or ')'";
template <>
inline constexpr const char* kExpected<as_type> = "an operator or 'as' and a type";
template <>
inline constexpr const char* kExpected<target_type> = "a type, such as float64";
template <>
inline constexpr const char* kExpected<suffix_type> = "a type, such as float64";
template <>
inline constexpr const char* kExpected<close_type> = "')'";
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
inline constexpr const char* kExpected<cases> = "'when'";
template <>
inline constexpr const char* kExpected<first_when> = "an operator or 'when'";
template <>
inline constexpr const char* kExpected<word_then> = "an operator or 'then'";
template <>
inline constexpr const char* kExpected<close_case> = "an operator, 'when', 'else' or 'end'";

}  // namespace skyrank::query::grammar
// NOLINTEND(readability-identifier-naming)

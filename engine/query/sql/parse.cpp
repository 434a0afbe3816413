#include "engine/query/sql/parse.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tao/pegtl.hpp>

#include "engine/query/parser/rules.hpp"
#include "engine/query/places.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/query/sql/sub_select.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

// Rules bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query {
namespace {

namespace peg = tao::pegtl;
using Kind = Preference::Kind;

// The grammar of statements, and what each rule does to the query. Expressions inside are those of engine/query/parser,
// which a rule calls. As there, no rule with an effect is ever backtracked over.
namespace sql_grammar {

using namespace rules;  // NOLINT(google-build-using-namespace): the vocabulary of the grammar

// A rule and the function of the builder that its match calls.
template <auto Function, class Rule>
struct acts : does<calls<Function>, Rule> {};
// The first word of a clause.
template <Clause clause, char... Characters>
struct begins : does<calls_at<&SqlBuilder::begin, clause, word<Characters...>::kSpelling>, word<Characters...>> {};
// A composition of the preferences since the last `list_begin`; `of_one` makes one of a single preference too.
template <Kind kind, bool of_one, class Rule>
struct composes : does<calls<&SqlBuilder::close_composition, kind, of_one>, Rule> {};
template <Kind kind, class Rule>
struct makes_term : does<calls<&SqlBuilder::term, kind>, Rule> {};

struct comma : symbol<','> {};
struct open : symbol<'('> {};
struct close : symbol<')'> {};
struct star : symbol<'*'> {};
struct equals : symbol<'='> {};
struct by : word<'b', 'y'> {};
struct as : word<'a', 's'> {};
struct distinct : acts<&SqlBuilder::distinct, word<'d', 'i', 's', 't', 'i', 'n', 'c', 't'>> {};

struct expression : read<&SqlBuilder::read_expression> {};
struct preferred : read<&SqlBuilder::read_preferred> {};
struct value : read<&SqlBuilder::read_value> {};
struct integer : read<&SqlBuilder::read_integer> {};
struct name : read<&SqlBuilder::read_alias> {};
struct table : read<&SqlBuilder::read_table> {};

// Aggregates, in SELECT, in AGGREGATE, and where a value is ranked.
struct open_aggregate : read<&SqlBuilder::open_aggregate> {};
struct star_argument : does<calls<&SqlBuilder::end_aggregate, true>, star> {};
struct argument : does<calls<&SqlBuilder::end_aggregate, false>, expression> {};
struct aggregate : peg::if_must<open_aggregate, peg::sor<star_argument, argument>, close> {};
struct aggregate_reference : acts<&SqlBuilder::refer_to_aggregate, aggregate> {};
struct ranked : peg::sor<aggregate_reference, expression> {};

struct select_word : begins<Clause::select, 's', 'e', 'l', 'e', 'c', 't'> {};
struct alias : peg::if_must<as, name> {};
struct bare_name : read<&SqlBuilder::read_bare_alias> {};
struct selected_alias : peg::sor<alias, bare_name> {};
// ROW_NUMBER() OVER (...) AS n in a sub-select.
struct window_item;
struct selected : acts<&SqlBuilder::end_selected, peg::seq<peg::sor<aggregate, expression>, peg::opt<selected_alias>>> {
};
struct star_item : peg::seq<star, peg::opt<peg::if_must<peg::seq<is<&SqlBuilder::is_inner_at>, comma>, window_item>>> {
};
struct numbered : peg::seq<is<&SqlBuilder::is_inner_at>, window_item> {};
struct selection : peg::sor<star_item, peg::list_must<peg::sor<numbered, selected>, comma>> {};
struct select_distinct : read<&SqlBuilder::read_select_distinct> {};
struct select : peg::if_must<select_word, peg::opt<select_distinct>, selection> {};

struct from_word : begins<Clause::from, 'f', 'r', 'o', 'm'> {};
struct from : peg::if_must<from_word, table> {};

struct where_word : begins<Clause::where, 'w', 'h', 'e', 'r', 'e'> {};
struct condition : acts<&SqlBuilder::where, expression> {};
struct where : peg::if_must<where_word, condition> {};

struct group_word : begins<Clause::group_by, 'g', 'r', 'o', 'u', 'p'> {};
struct group_column : acts<&SqlBuilder::group_column, peg::seq<expression, peg::opt<alias>>> {};
struct group_by : peg::if_must<group_word, by, peg::list_must<group_column, comma>> {};

struct aggregate_word : begins<Clause::aggregate, 'a', 'g', 'g', 'r', 'e', 'g', 'a', 't', 'e'> {};
struct an_aggregate : peg::seq<aggregate> {};
struct defined : acts<&SqlBuilder::define_aggregate, peg::seq<peg::must<an_aggregate>, peg::opt<alias>>> {};
struct aggregates : peg::if_must<aggregate_word, peg::list_must<defined, comma>> {};

struct having_word : begins<Clause::having, 'h', 'a', 'v', 'i', 'n', 'g'> {};
struct group_condition : acts<&SqlBuilder::having, peg::seq<expression>> {};
struct having : peg::if_must<having_word, group_condition> {};

// Preferences: PLUS binds more tightly than PRIOR TO.
struct preference;
struct nested : does<nests, peg::seq<preference>> {};
struct low_word : word<'l', 'o', 'w'> {};
struct high_word : word<'h', 'i', 'g', 'h'> {};
struct preferred_value : peg::sor<aggregate_reference, preferred> {};
struct box_size : read<&SqlBuilder::read_box_size> {};
struct step : peg::if_must<word<'s', 't', 'e', 'p'>, box_size> {};
struct stepped_value : peg::seq<preferred_value, peg::opt<step>> {};
struct low : makes_term<Kind::low, peg::if_must<low_word, stepped_value>> {};
struct high : makes_term<Kind::high, peg::if_must<high_word, stepped_value>> {};
struct true_condition : makes_term<Kind::where, peg::if_must<word<'w', 'h', 'e', 'r', 'e'>, preferred>> {};
struct list_begin : acts<&SqlBuilder::open_composition, peg::success> {};
struct preferences : peg::seq<list_begin, peg::list_must<nested, comma>> {};
struct pareto
    : composes<Kind::pareto, true, peg::if_must<word<'p', 'a', 'r', 'e', 't', 'o'>, open, preferences, close>> {};
struct prior_list
    : composes<Kind::prior, true,
               peg::if_must<peg::seq<word<'p', 'r', 'i', 'o', 'r'>, peg::at<open>>, open, preferences, close>> {};
struct group : peg::if_must<read<&SqlBuilder::open_preferences>, nested, close> {};
struct term;
struct nested_term : does<nests, peg::seq<term>> {};
struct inverse : acts<&SqlBuilder::inverse, peg::if_must<word<'i', 'n', 'v', 'e', 'r', 's', 'e'>, nested_term>> {};
struct around : acts<&SqlBuilder::around, peg::if_must<word<'a', 'r', 'o', 'u', 'n', 'd'>, value>> {};
struct set_begin : acts<&SqlBuilder::begin_set, open> {};
struct member : acts<&SqlBuilder::add_to_set, value> {};
struct set : peg::if_must<word<'e', 'l', 's', 'e'>, set_begin, peg::list_must<member, comma>, close> {};
struct value_term : acts<&SqlBuilder::end_value_term, peg::seq<preferred, peg::opt<around>, peg::star<set>>> {};
struct term : peg::sor<low, high, true_condition, inverse, pareto, prior_list, group, value_term> {};
struct plus : peg::if_must<word<'p', 'l', 'u', 's'>, term> {};
struct all : composes<Kind::pareto, false, peg::seq<list_begin, term, peg::star<plus>>> {};
struct prior_to : peg::if_must<word<'p', 'r', 'i', 'o', 'r'>, word<'t', 'o'>, all> {};
struct preference : composes<Kind::prior, false, peg::seq<list_begin, all, peg::star<prior_to>>> {};
struct constraint : acts<&SqlBuilder::weight, peg::seq<expression>> {};
struct weighted
    : acts<&SqlBuilder::end_weights,
           peg::if_must<word<'w', 'e', 'i', 'g', 'h', 't', 'e', 'd'>, by, peg::list_must<constraint, comma>>> {};
struct violation : acts<&SqlBuilder::violation, peg::seq<expression>> {};
struct violations : peg::if_must<word<'v', 'i', 'o', 'l', 'a', 't', 'i', 'o', 'n'>, peg::list_must<violation, comma>> {
};
struct met : acts<&SqlBuilder::feasible, peg::seq<expression>> {};
struct feasible : peg::if_must<word<'f', 'e', 'a', 's', 'i', 'b', 'l', 'e'>, met, peg::opt<violations>> {};
struct preferring_word : begins<Clause::prefer, 'p', 'r', 'e', 'f', 'e', 'r', 'r', 'i', 'n', 'g'> {};
struct preferring
    : acts<&SqlBuilder::prefer,
           peg::if_must<preferring_word, peg::opt<distinct>, preference, peg::opt<weighted>, peg::opt<feasible>>> {};

// SKYLINE OF: Börzsönyi, Kossmann, Stocker, "The Skyline Operator", ICDE 2001.
struct skyline_word : begins<Clause::prefer, 's', 'k', 'y', 'l', 'i', 'n', 'e'> {};
struct of : word<'o', 'f'> {};
struct differs : acts<&SqlBuilder::partition_column, word<'d', 'i', 'f', 'f'>> {};
struct greatest : makes_term<Kind::high, word<'m', 'a', 'x'>> {};
struct smallest : makes_term<Kind::low, peg::opt<word<'m', 'i', 'n'>>> {};
struct skyline_direction : peg::sor<differs, greatest, smallest> {};
struct skyline_term : peg::seq<ranked, skyline_direction> {};
struct skyline_terms : acts<&SqlBuilder::end_skyline,
                            peg::seq<peg::list_must<skyline_term, comma>, peg::opt<weighted>, peg::opt<feasible>>> {};
struct skyline : peg::if_must<skyline_word, of, peg::opt<distinct>, skyline_terms> {};

struct partition_word : begins<Clause::partition_by, 'p', 'a', 'r', 't', 'i', 't', 'i', 'o', 'n'> {};
struct partition_column : acts<&SqlBuilder::partition_column, peg::seq<expression, peg::opt<alias>>> {};
struct partition_by : peg::if_must<partition_word, by, peg::list_must<partition_column, comma>> {};

struct levels_word : begins<Clause::levels, 'l', 'e', 'v', 'e', 'l', 's'> {};
struct levels : acts<&SqlBuilder::levels, peg::if_must<levels_word, integer>> {};
struct at_word : begins<Clause::levels, 'a', 't'> {};
struct least : word<'l', 'e', 'a', 's', 't'> {};
struct at_least : acts<&SqlBuilder::at_least, peg::if_must<at_word, least, integer>> {};

struct skyband_word : begins<Clause::levels, 's', 'k', 'y', 'b', 'a', 'n', 'd'> {};
struct all_rows : acts<&SqlBuilder::skyband_of_all, word<'a', 'l', 'l'>> {};
struct skyband_rows : acts<&SqlBuilder::skyband, peg::seq<integer>> {};
struct skyband : peg::if_must<skyband_word, peg::sor<all_rows, skyband_rows>> {};
struct pick_word : begins<Clause::pick, 'p', 'i', 'c', 'k'> {};
struct measure : read<&SqlBuilder::read_measure> {};
struct picked_by : peg::if_must<by, measure> {};
struct reference_value : acts<&SqlBuilder::reference_value, peg::seq<expression>> {};
struct reference : peg::if_must<word<'r', 'e', 'f', 'e', 'r', 'e', 'n', 'c', 'e'>, open,
                                peg::list_must<reference_value, comma>, close> {};
struct picked_count : acts<&SqlBuilder::pick, integer> {};
struct pick
    : acts<&SqlBuilder::end_pick, peg::if_must<pick_word, picked_count, peg::opt<picked_by>, peg::opt<reference>>> {};

struct order_word : begins<Clause::order_by, 'o', 'r', 'd', 'e', 'r'> {};
struct descending : does<calls<&SqlBuilder::rank, true>, word<'d', 'e', 's', 'c'>> {};
struct ascending : does<calls<&SqlBuilder::rank, false>, peg::opt<word<'a', 's', 'c'>>> {};
struct first : does<calls_at<&SqlBuilder::nulls_first>, word<'f', 'i', 'r', 's', 't'>> {};
struct last : does<calls_at<&SqlBuilder::nulls_last>, word<'l', 'a', 's', 't'>> {};
struct first_or_last : peg::sor<first, last> {};
struct nulls : peg::if_must<word<'n', 'u', 'l', 'l', 's'>, first_or_last> {};
struct direction : peg::sor<descending, ascending> {};
struct order_term : peg::seq<ranked, direction, peg::opt<nulls>> {};
struct order_by : peg::if_must<order_word, by, peg::list_must<order_term, comma>> {};

// The first rows of each partition, as other dialects say it.
struct qualify_word : begins<Clause::partition_by, 'q', 'u', 'a', 'l', 'i', 'f', 'y'> {};
struct row_number : word<'r', 'o', 'w', '_', 'n', 'u', 'm', 'b', 'e', 'r'> {};
struct over : word<'o', 'v', 'e', 'r'> {};
struct partition
    : peg::if_must<word<'p', 'a', 'r', 't', 'i', 't', 'i', 'o', 'n'>, by, peg::list_must<partition_column, comma>> {};
struct order : peg::seq<word<'o', 'r', 'd', 'e', 'r'>> {};
struct row_limit : read<&SqlBuilder::read_row_limit> {};
struct qualify
    : acts<&SqlBuilder::qualify, peg::if_must<qualify_word, row_number, open, close, over, open, peg::opt<partition>,
                                              order, by, peg::list_must<order_term, comma>, close, row_limit>> {};

struct window_begin : peg::seq<row_number, open, close, over> {};
struct window_item
    : acts<&SqlBuilder::number_rows, peg::if_must<window_begin, open, peg::opt<partition>, order, by,
                                                  peg::list_must<order_term, comma>, close, selected_alias>> {};

struct limit_word : begins<Clause::limit, 'l', 'i', 'm', 'i', 't'> {};
struct limit : acts<&SqlBuilder::limit, peg::if_must<limit_word, integer>> {};
struct offset_word : begins<Clause::offset, 'o', 'f', 'f', 's', 'e', 't'> {};
struct offset : acts<&SqlBuilder::offset, peg::if_must<offset_word, integer>> {};
struct with_word : begins<Clause::ties, 'w', 'i', 't', 'h'> {};
struct ties : word<'t', 'i', 'e', 's'> {};
struct with_ties : acts<&SqlBuilder::with_ties, peg::if_must<with_word, ties>> {};

struct options_word : begins<Clause::options, 'o', 'p', 't', 'i', 'o', 'n', 's'> {};
struct option_text : read<&SqlBuilder::read_option_text> {};
struct option_begin : acts<&SqlBuilder::begin_option, peg::success> {};
struct option_entry : peg::seq<option_text, peg::opt<peg::if_must<equals, option_text>>> {};
struct option_list : peg::if_must<open, peg::list_must<option_entry, comma>, close> {};
struct option_value : peg::sor<option_list, option_text> {};
struct option : acts<&SqlBuilder::end_option, peg::seq<option_begin, peg::must<option_text, equals, option_value>>> {};
struct options : peg::if_must<options_word, open, peg::list_must<option, comma>, close> {};

struct clause : peg::sor<where, group_by, aggregates, having, preferring, skyline, partition_by, qualify, levels,
                         at_least, skyband, pick, order_by, limit, offset, with_ties, options, select, from> {};
struct end : peg::seq<peg::opt<symbol<';'>>, peg::eof> {};
struct statement : peg::seq<spaces, peg::must<select, from>, peg::star<clause>, peg::must<end>> {};

}  // namespace sql_grammar

// Names what the parser wants where a rule fails that must not.
template <class Rule>
constexpr const char* kExpected = "a value";
template <class Rule>
requires requires { Rule::kSpelling; }
constexpr const char* kExpected<Rule> = Rule::kSpelling;
template <>
constexpr const char* kExpected<sql_grammar::select> = "SELECT";
template <>
constexpr const char* kExpected<sql_grammar::from> = "',' or FROM";
template <>
constexpr const char* kExpected<sql_grammar::table> = "a table: FROM 'hotels.csv' or a name";
template <>
constexpr const char* kExpected<sql_grammar::name> = "a name";
template <>
constexpr const char* kExpected<sql_grammar::an_aggregate> = "COUNT, SUM, MIN, MAX or AVG and '('";
template <>
constexpr const char* kExpected<sql_grammar::close> = "',' or ')'";
template <>
constexpr const char* kExpected<sql_grammar::option_text> = "a name, a string or a number";
template <>
constexpr const char* kExpected<sql_grammar::option_value> = "a name, a string, a number or a list in parentheses";
template <>
constexpr const char* kExpected<sql_grammar::row_number> = "ROW_NUMBER()";
template <>
constexpr const char* kExpected<sql_grammar::window_item> = "ROW_NUMBER() OVER (...)";
template <>
constexpr const char* kExpected<sql_grammar::selected_alias> = "a name: AS n";
template <>
constexpr const char* kExpected<sql_grammar::order> = "PARTITION BY or ORDER BY";
template <>
constexpr const char* kExpected<sql_grammar::row_limit> = "'<=' and a whole number";
template <>
constexpr const char* kExpected<sql_grammar::first_or_last> = "FIRST or LAST";
template <>
constexpr const char* kExpected<sql_grammar::box_size> = "the size of boxes, such as 5, 10% or '7d'";
template <>
constexpr const char* kExpected<sql_grammar::measure> = "DISTANCE, COVERAGE or HYPERVOLUME";
template <>
constexpr const char* kExpected<sql_grammar::end> = "an operator, the next clause or the end";

// A rule that must match and does not ends the parse with a message in the user's words.
template <class Rule>
struct sql_control : peg::normal<Rule> {
  template <class Input>
  [[noreturn]] static void raise(const Input& in, SqlBuilder& builder) {
    builder.fail_expecting(in.byte(), kExpected<Rule>);
  }
};

}  // namespace

namespace {

constexpr int kMaxSubSelects = 16;

void blank(std::string& text, std::size_t begin, std::size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
}

void refuse_foreign(std::string_view text, bool is_inner, const PlaceFunction& place) {
  const auto foreign = find_foreign_sql(text, is_inner);
  if (!foreign) return;
  throw QueryError(foreign->what + " is no part of SkyRank's SQL: run it in an SQL engine, such as DuckDB, and hand " +
                       "over its result as a file or an Arrow table" + foreign->advice,
                   place(foreign->offset));
}

// Blanks the names of the table before columns.
void remove_qualifiers(std::string& text, const FromClause& from, const PlaceFunction& place) {
  for (const Qualifier& qualifier : find_qualifiers(text, from)) {
    const auto is_name = [&](const std::string& name) { return equal_ignoring_case(name, qualifier.name); };
    if (std::ranges::none_of(from.names, is_name)) {
      throw QueryError("there is no table " + in_quotes(qualifier.name) + " here" +
                           (from.names.empty() ? ": the sub-select has no name"
                                               : "; columns are those of " + in_quotes(from.names.front()) +
                                                     ", and a column with a point in its name stands in double quotes"),
                       place(qualifier.begin));
    }
    blank(text, qualifier.begin, qualifier.end);
  }
}

// Calls `finish` with the builder of a statement once it is parsed.
void parse_text(std::string text, int depth, const PlaceFunction& place,
                const std::function<void(SqlBuilder&)>& finish) {
  const std::optional<FromClause> from = find_from(text);
  std::optional<SubSelect> sub;
  std::string inner;
  if (from && from->is_sub_select) {
    if (depth == kMaxSubSelects) {
      throw QueryError("sub-selects nest more than " + std::to_string(kMaxSubSelects) + " levels deep",
                       place(from->table_begin));
    }
    inner = std::string(text.size(), ' ');
    const std::size_t begin = from->table_begin + 1;
    const std::size_t end = from->table_end - 1;
    inner.replace(begin, end - begin, text, begin, end - begin);
    inner.resize(end);
    blank(text, begin, end);
  }
  refuse_foreign(text, depth > 0, place);
  const std::string shown = text;
  if (from) {
    if (from->is_sub_select) {
      parse_text(std::move(inner), depth + 1, place,
                 [&](SqlBuilder& builder) { sub = builder.finish_sub_select(from->table_begin, from->table_end); });
    }
    blank(text, from->alias_begin, from->alias_end);
    remove_qualifiers(text, *from, place);
  }
  SqlBuilder builder(text, shown, place, std::move(sub), depth > 0);
  peg::memory_input<peg::tracking_mode::eager> input(text.data(), text.size(), "");
  peg::parse<sql_grammar::statement, rules::action, sql_control>(input, builder);
  finish(builder);
}

}  // namespace

SqlStatement parse_sql(std::string_view sql, const PlaceFunction& place) {
  std::optional<std::size_t> open_comment;
  std::string text = without_comments(sql, open_comment);
  if (open_comment) throw QueryError("the comment that begins here does not end", place(*open_comment));
  std::optional<SqlStatement> statement;
  parse_text(std::move(text), 0, place, [&](SqlBuilder& builder) { statement = builder.finish(); });
  return *std::move(statement);
}

}  // namespace skyrank::query

skyrank::Query skyrank::Query::parse(std::string_view sql) {
  const query::Places places(sql, {"sql", 1, 1});
  return query::parse_sql(sql, [&](std::size_t offset) { return places.at(offset); }).query;
}
// NOLINTEND(readability-identifier-naming)

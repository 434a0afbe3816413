#include "engine/query/sql/statement.hpp"

#include <algorithm>
#include <charconv>

#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/query/utf8.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

constexpr std::size_t kMaxShown = 40;

bool is_word(std::string_view token) {
  return !token.empty() && is_name_character(token.front()) && !is_digit(token.front());
}

bool is_quoted(std::string_view token) {
  return !token.empty() && (token.front() == '\'' || token.front() == '"' || token.front() == '`');
}

// Words that may come where the grammar finds another one.
const std::vector<std::string>& keywords() {
  static const std::vector<std::string> kKeywords = {
      "SELECT", "FROM",    "WHERE",    "GROUP",    "AGGREGATE", "PREFERRING", "SKYLINE", "PARTITION", "LEVELS", "LEAST",
      "HAVING", "SKYBAND", "ORDER",    "LIMIT",    "OFFSET",    "TIES",       "OPTIONS", "AS",        "PLUS",   "PRIOR",
      "AROUND", "DESC",    "ASC",      "NULLS",    "MIN",       "MAX",        "DIFF",    "INVERSE",   "BY",     "WITH",
      "PICK",   "STEP",    "WEIGHTED", "FEASIBLE", "VIOLATION", "REFERENCE",  "QUALIFY"};
  return kKeywords;
}

bool names_column(const Node& node, std::string_view name) {
  if (node.op == Op::column) return node.name == name;
  return std::ranges::any_of(node.children, [&](const NodePtr& child) { return names_column(*child, name); });
}

// A clause as messages name it, by its first word.
std::string clause_name(std::string_view word) {
  if (word == "GROUP" || word == "PARTITION" || word == "ORDER") return std::string(word) + " BY";
  if (word == "SKYLINE") return "SKYLINE OF";
  if (word == "AT") return "AT LEAST";
  return word == "WITH" ? "WITH TIES" : std::string(word);
}

}  // namespace

std::string SqlBuilder::advice(std::string_view found, const std::string& expected) const {
  struct Advice {
    std::string_view found;
    std::string_view advice;
  };
  constexpr Advice kAdvice[] = {{"fetch", "write LIMIT n"},
                                {"top", "write LIMIT n at the end"},
                                {"ilike", "write lower(x) LIKE 'text%'"},
                                {"using", "write OPTIONS (algorithm = ...)"},
                                {"then", "write PRIOR TO"},
                                {"explain", "skyrank sql --explain shows plans"},
                                {"describe", "skyrank describe FILE lists columns"}};
  for (const Advice& known : kAdvice) {
    if (equal_ignoring_case(found, known.found)) return std::string(" (").append(known.advice) + ")";
  }
  if (last_ == Clause::from && (found == "." || found == "(")) return " (a file stands in quotes: FROM 'hotels.csv')";
  if (found == "," && last_ == Clause::from) {
    return " (a statement is over one table: run joins in an SQL engine and hand over the result)";
  }
  const bool behind_value = expected.starts_with("an operator");
  if (behind_value && equal_ignoring_case(found, "low")) return " (write SKYLINE OF x MIN or PREFERRING LOW x)";
  if (behind_value && equal_ignoring_case(found, "high")) return " (write SKYLINE OF x MAX or PREFERRING HIGH x)";
  if (found == "," && last_ == Clause::prefer) return " (join preferences by PLUS or PRIOR TO)";
  if (pending_ && std::string_view("+-*/%=<>").find(found) != std::string_view::npos) {
    return " (an aggregate stands alone: give it a name with AS, and compute with that name)";
  }
  const auto is_found = [&](const std::string& word) { return equal_ignoring_case(word, found); };
  if (!is_word(found) || is_sql_keyword(found) || std::ranges::any_of(keywords(), is_found)) return {};
  const bool one_word = std::all_of(expected.begin(), expected.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const std::string near = did_you_mean(found, one_word ? std::vector<std::string>{expected} : keywords());
  return near.empty() && last_ == Clause::select ? " (a name stands behind AS)" : near;
}

void SqlBuilder::fail(const Location& place, std::string message) {
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  for (std::size_t begin = 0; const auto invalid = find_invalid_utf8(std::string_view(message).substr(begin));) {
    begin += *invalid;
    message[begin] = '?';
  }
  throw QueryError(message, place);
}

void SqlBuilder::fail_expecting(std::size_t offset, const std::string& expected) const {
  SqlToken before;
  SqlToken found = sql_token(text_, 0);
  while (found.begin < offset && found.begin < text_.size()) {
    before = found;
    found = sql_token(text_, found.end);
  }
  const std::string_view last = before.in(text_);
  const std::string_view token = found.in(text_);
  if (last == ";") fail(found.begin, "a text has one statement; this is the second");
  if (last == "*" && token == "," && last_ == Clause::select) {
    fail(before.begin, "'*' stands alone behind SELECT; beside expressions name the columns");
  }
  std::string message = "expected " + expected;
  if (!last.empty() && !is_quoted(last)) message += " after " + in_quotes(last.substr(0, kMaxShown));
  if (token.empty()) fail(offset, message + ", found the end of the statement");
  if (is_quoted(token)) fail(found.begin, message + ", found " + (token[0] == '\'' ? "a string" : "a quoted name"));
  const bool is_top = last_ == Clause::select && equal_ignoring_case(last, "top");
  fail(found.begin,
       message + ", found " + in_quotes(token.substr(0, kMaxShown)) + advice(is_top ? last : token, expected));
}

void SqlBuilder::begin(std::size_t offset, Clause clause, std::string_view word) {
  const std::string name = clause_name(word);
  if (last_ == clause && last_word_ == name) fail(offset, in_quotes(name) + " comes twice");
  if (last_ == clause) fail(offset, in_quotes(name) + " and " + in_quotes(last_word_) + " exclude each other");
  if (last_ && *last_ > clause) fail(offset, in_quotes(name) + " must stand before " + in_quotes(last_word_));
  check_sub_select(offset, clause, name);
  if (is_qualified_ && clause >= Clause::order_by && clause <= Clause::ties) {
    fail(offset, in_quotes(name) + " cannot follow QUALIFY, which ranks and limits the answer, partition by partition");
  }
  if (clause == Clause::from && select_distinct_) group_by_selected();
  if (clause == Clause::group_by && select_distinct_) {
    fail(*select_distinct_, "SELECT DISTINCT and GROUP BY exclude each other: groups are distinct already");
  }
  last_ = clause;
  last_word_ = name;
  pending_.reset();
  if (clause == Clause::prefer) prefer_at_ = offset;
}

std::size_t SqlBuilder::after(std::size_t offset) const { return sql_token(text_, offset).begin; }

std::optional<std::size_t> SqlBuilder::read(std::size_t offset, std::span<const std::string_view> reserved) {
  Expression parsed = parse(offset, reserved, expression_end_);
  expression_at_ = after(offset);
  expression_ = std::move(parsed);
  pending_.reset();
  return expression_end_;
}

std::optional<std::size_t> SqlBuilder::read_expression(std::size_t offset) { return read(offset, sql_clause_words()); }

std::optional<std::size_t> SqlBuilder::read_preferred(std::size_t offset) {
  return read(offset, sql_preference_words());
}

std::optional<std::size_t> SqlBuilder::read_integer(std::size_t offset) {
  integer_at_ = after(offset);
  std::size_t end = integer_at_;
  if (end < text_.size() && text_[end] == '-') ++end;
  while (end < text_.size() && (text_[end] == '.' || is_word_character(text_[end]))) ++end;
  const std::string_view digits = text_.substr(integer_at_, end - integer_at_);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), integer_);
  if (error == std::errc::result_out_of_range) {
    fail(integer_at_, in_quotes(last_word_) + " is out of range: it goes up to 9223372036854775807");
  }
  if (error != std::errc() || stop != digits.data() + digits.size()) {
    const std::string_view found = digits.empty() ? sql_token(text_, offset).in(text_) : digits;
    fail(integer_at_, in_quotes(last_word_) + " needs a whole number" + (last_word_ == "SKYBAND" ? " or ALL" : "") +
                          ", found " +
                          (found.empty() ? "the end of the statement" : in_quotes(found.substr(0, kMaxShown))));
  }
  if (integer_ < 0)
    fail(integer_at_, in_quotes(last_word_) + " must not be negative, found " + std::to_string(integer_));
  return after(end);
}

void SqlBuilder::qualify() {
  query_.limit(integer_);
  is_qualified_ = true;
}

void SqlBuilder::levels() {
  if (integer_ == 0) fail(integer_at_, "'LEVELS' must be at least 1, found 0");
  query_.levels(integer_);
}

void SqlBuilder::skyband() {
  if (integer_ == 0) fail(integer_at_, "'SKYBAND' must be at least 1, found 0");
  query_.skyband(integer_);
}

std::optional<SqlBuilder::Text> SqlBuilder::read_name(std::size_t offset, std::size_t& end) const {
  const SqlToken token = sql_token(text_, offset);
  const std::string_view text = token.in(text_);
  end = after(token.end);
  if (is_word(text) && !is_sql_keyword(text)) return Text{std::string(text), token.begin};
  if (!is_quoted(text)) return std::nullopt;
  if (text.size() < 2 || text.back() != text.front())
    fail(token.begin, "the quoted name that begins here does not end");
  if (text.size() == 2) fail(token.begin, "a name is empty");
  return Text{unquoted(text.substr(1, text.size() - 2), text.front()), token.begin};
}

std::optional<std::size_t> SqlBuilder::read_alias(std::size_t offset) {
  std::size_t end = 0;
  if (sql_token(text_, offset).in(text_).starts_with('\'')) {
    fail(after(offset), "a name stands in double quotes, not in single ones, which are for strings");
  }
  alias_ = read_name(offset, end);
  return alias_ ? std::optional(end) : std::nullopt;
}

// The grammar gets what is no name for certain: its messages know what was meant.
std::optional<std::size_t> SqlBuilder::read_bare_alias(std::size_t offset) {
  const SqlToken token = sql_token(text_, offset);
  const std::string_view next = sql_token(text_, token.end).in(text_);
  if (token.in(text_).starts_with('\'') || (next != "," && !equal_ignoring_case(next, "from"))) return std::nullopt;
  return read_alias(offset);
}

std::optional<std::size_t> SqlBuilder::read_select_distinct(std::size_t offset) {
  const SqlToken word = sql_token(text_, offset);
  const std::string_view next = sql_token(text_, word.end).in(text_);
  const bool is_name = next == "," || equal_ignoring_case(next, "from") || equal_ignoring_case(next, "as");
  if (!equal_ignoring_case(word.in(text_), "distinct") || is_name) return std::nullopt;
  select_distinct_ = word.begin;
  return after(word.end);
}

std::optional<std::size_t> SqlBuilder::read_row_limit(std::size_t offset) {
  const SqlToken first = sql_token(text_, offset);
  const SqlToken second = sql_token(text_, first.end);
  const bool up_to = first.in(text_) == "<" && second.in(text_) == "=" && second.begin == first.end;
  if (!up_to && first.in(text_) != "<" && first.in(text_) != "=") return std::nullopt;
  const std::size_t end = *read_integer(up_to ? second.end : first.end);
  if (first.in(text_) == "=" && integer_ != 1) {
    fail(integer_at_, "QUALIFY keeps the first rows: write ROW_NUMBER() OVER (...) <= k");
  }
  if (first.in(text_) == "<" && !up_to) {
    if (integer_ == 0) fail(integer_at_, "no ROW_NUMBER() is below 0: the first is 1");
    --integer_;
  }
  return end;
}

std::optional<std::size_t> SqlBuilder::read_table(std::size_t offset) {
  std::size_t end = 0;
  if (sub_) {
    query_ = Query::from(sub_->from);
    if (sub_->where) query_.where(*sub_->where);
    if (sub_->having) query_.having(*sub_->having);
    table_ = sub_->table;
    return after(sub_->end);
  }
  const auto name = read_name(offset, end);
  if (!name) return std::nullopt;
  query_ = Query::from(name->text);
  table_ = place_(name->offset);
  return end;
}

std::optional<std::size_t> SqlBuilder::read_option_text(std::size_t offset) {
  std::size_t end = 0;
  if (auto name = read_name(offset, end)) {
    option_texts_.push_back(std::move(*name));
    return end;
  }
  const SqlToken token = sql_token(text_, offset);
  const bool negative = token.in(text_) == "-";
  const SqlToken digits = negative ? sql_token(text_, token.end) : token;
  const std::string_view number = digits.in(text_);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  option_texts_.push_back({(negative ? "-" : "") + std::string(number), token.begin});
  return after(digits.end);
}

Expression SqlBuilder::take_expression() {
  Expression result = std::move(*expression_);
  expression_.reset();
  return result;
}

void SqlBuilder::end_selected() {
  std::size_t place = expression_at_;
  SelectItem item{"", Expression::literal(Null{})};
  if (pending_) {
    place = aggregate_at_;
    const std::string name = alias_ ? alias_->text : pending_->name;
    if (!is_defined(name)) define_aggregate();
    item = {name, Expression::column(name)};
  } else {
    const bool is_computed = holds_aggregates_;
    item.expression = take_expression();
    item.name = alias_                ? alias_->text
                : is_computed         ? written()
                : !read_name_.empty() ? read_name_
                                      : output_name(item.expression);
  }
  alias_.reset();
  if (!selected_names_.emplace(item.name, selected_.size()).second) {
    fail(place, "SELECT names " + in_quotes(item.name) + " twice; name one of them otherwise with AS");
  }
  selected_.push_back(std::move(item));
}

bool SqlBuilder::holds_aggregate(const Node& node) const {
  if (node.op == Op::column) return node.line > 0 && hidden_columns_.contains({node.line, node.column});
  return std::ranges::any_of(node.children, [&](const NodePtr& child) { return holds_aggregate(*child); });
}

// Returns true if an expression before this item has the aggregate that it selects, under its name.
bool SqlBuilder::is_defined(const std::string& name) const {
  const auto known = aggregate_names_.find(name);
  if (known == aggregate_names_.end()) return false;
  const Aggregate& aggregate = aggregates_[known->second];
  return aggregate.function == pending_->function && aggregate.argument == pending_->argument;
}

// Returns the text of the expression read last, which names it in the answer.
std::string SqlBuilder::written() const {
  std::string name;
  for (const char c : shown_.substr(expression_at_, expression_end_ - expression_at_)) {
    const bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!is_blank) {
      name += c;
    } else if (!name.empty() && name.back() != ' ') {
      name += ' ';
    }
  }
  if (name.ends_with(' ')) name.pop_back();
  return name;
}

// SQL lets ORDER BY name what SELECT names, which our rankings, made before it, do not.
Expression SqlBuilder::behind_alias(Expression expression) const {
  const std::string name = read_name_.empty() ? std::string(expression.column_name()) : read_name_;
  if (name.empty() || text_[expression_at_] == '(') return expression;
  const auto item = selected_names_.find(name);
  return item == selected_names_.end() ? expression : selected_[item->second].expression;
}

// A key may be named by SELECT: GROUP BY m means month(d) where SELECT says month(d) AS m. As in other dialects, the
// name of a column comes first; one is for certain where the selected expression reads it.
GroupKey SqlBuilder::key_behind_alias(Expression expression) {
  const std::string name(expression.column_name());
  const auto found = selected_names_.find(name);
  if (name.empty() || found == selected_names_.end() || text_[expression_at_] == '(') return expression;
  SelectItem& item = selected_[found->second];
  if (names_column(root_of(item.expression), name)) return expression;
  GroupKey key(name, item.expression);
  item.expression = std::move(expression);
  return key;
}

/// Returns the item of SELECT that the expression read last counts to, from 1; null where it is no number alone.
SelectItem* SqlBuilder::item_at_position() {
  const Node& root = root_of(*expression_);
  const auto* number = root.op == Op::literal ? std::get_if<std::int64_t>(&root.value) : nullptr;
  if (number == nullptr || text_[expression_at_] == '(') return nullptr;
  const std::string what = last_word_ + " " + std::to_string(*number);
  if (selected_.empty()) {
    fail(expression_at_, what +
                             " counts the columns that SELECT names, and * names none; a number that is meant stands "
                             "in parentheses");
  }
  if (*number < 1 || *number > static_cast<std::int64_t>(selected_.size())) {
    fail(expression_at_, what + ": SELECT has " + std::to_string(selected_.size()) +
                             (selected_.size() == 1 ? " column" : " columns") +
                             "; a number that is meant stands in parentheses");
  }
  return &selected_[static_cast<std::size_t>(*number - 1)];
}

/// Makes a key of an item of SELECT, which shows the key from then on.
GroupKey SqlBuilder::key_of(SelectItem& item) {
  GroupKey key(item.name, std::move(item.expression));
  item.expression = Expression::column(item.name);
  return key;
}

void SqlBuilder::add_key(std::vector<GroupKey>& keys) {
  const std::size_t place = expression_at_;
  SelectItem* const item = last_ == Clause::group_by && !alias_ ? item_at_position() : nullptr;
  if (item != nullptr) expression_ = Expression::column(item->name);
  const std::string_view name = expression_->column_name();
  const bool is_aggregate = aggregate_names_.contains(std::string(name));
  if (last_ == Clause::group_by && is_aggregate && text_[place] != '(') {
    fail(place, in_quotes(name) + " is an aggregate of the rows of a group and cannot be a key");
  }
  GroupKey key = alias_            ? GroupKey(alias_->text, take_expression())
                 : item != nullptr ? key_of(*item)
                                   : key_behind_alias(take_expression());
  alias_.reset();
  if (last_ == Clause::group_by && holds_aggregate(root_of(key.expression))) {
    fail(place, in_quotes(key.name) + " holds an aggregate, which is of the rows of a group and cannot be a key");
  }
  if (keys.empty()) key_names_.clear();
  if (!key_names_.insert(key.name).second) {
    fail(place, last_word_ + " names " + in_quotes(key.name) + " twice");
  }
  keys.push_back(std::move(key));
}

void SqlBuilder::rank(bool high) {
  if (!pending_) {
    const SelectItem* const item = item_at_position();
    expression_ = item != nullptr ? item->expression : behind_alias(*std::move(expression_));
  }
  pending_.reset();
  ranking_.emplace_back(take_expression(), high);
}

// SQL places NULL term by term; a query of ours has one rule for all terms, those of its preference too.
void SqlBuilder::settle_nulls() {
  const bool best = query_.nulls() == Missing::best;
  if (best && !nulls_last_.empty()) {
    fail(nulls_last_.front(), "NULLS LAST contradicts the option nulls = best, by which NULL comes first");
  }
  if (nulls_first_.empty()) return;
  if (nulls_first_.size() < ranking_.size()) {
    fail(nulls_first_.front(),
         "a query has one rule for NULL: NULLS FIRST stands behind all terms of ORDER BY, or behind none");
  }
  const bool has_option = std::find(options_seen_.begin(), options_seen_.end(), "nulls") != options_seen_.end();
  if (has_option && query_.nulls() == Missing::worst) {
    fail(nulls_first_.front(), "NULLS FIRST contradicts the option nulls = worst, by which NULL comes last");
  }
  if (has_option) return;  // NULL is best as well, or there is none left to order
  if (query_.prefer()) {
    fail(nulls_first_.front(),
         "NULLS FIRST would make NULL the best in the preference too; OPTIONS (nulls = best) says that");
  }
  query_.nulls(Missing::best);
}

// SELECT DISTINCT a, b is GROUP BY a, b without aggregates.
void SqlBuilder::group_by_selected() {
  if (selected_.empty()) fail(*select_distinct_, "SELECT DISTINCT names its columns; * names none");
  if (first_aggregate_) {
    fail(*select_distinct_, "SELECT DISTINCT takes no aggregates: name the other columns in GROUP BY");
  }
  for (SelectItem& item : selected_) group_by_.push_back(key_of(item));
}

/// Refuses columns of rows beside aggregates without GROUP BY.
void SqlBuilder::check_one_row() const {
  const auto check = [&](const auto& self, const Node& node, const Location& origin) -> void {
    if (node.op == Op::column && !aggregate_names_.contains(node.name) && !is_pseudo_column(node.name)) {
      fail(place_of(node, origin), in_quotes(node.name) + " stands beside aggregates of all rows; GROUP BY " +
                                       node.name + " makes one row of each of its values");
    }
    for (const NodePtr& child : node.children) self(self, *child, origin);
  };
  const auto check_all = [&](const Expression& expression) {
    check(check, root_of(expression), expression.location());
  };
  for (const SelectItem& item : selected_) check_all(item.expression);
  if (query_.having()) check_all(*query_.having());
}

SqlStatement SqlBuilder::finish() {
  if (select_distinct_ && (query_.prefer() || !partition_by_.empty() || is_qualified_)) {
    fail(*select_distinct_,
         "SELECT DISTINCT is answered before preferences and partitions, which then see its columns alone; write GROUP "
         "BY for that");
  }
  if (sub_ && sub_->number && !query_.limit()) {
    fail(sub_->begin,
         "the sub-select numbers rows; WHERE says how many of them there are, as in " + *sub_->number + " <= 5");
  }
  if (!group_by_.empty()) query_.group_by(std::move(group_by_));
  if (!query_.has_groups() && !aggregates_.empty()) check_one_row();
  query_.aggregate(std::move(aggregates_));
  query_.partition_by(std::move(partition_by_));
  settle_nulls();
  if (!ranking_.empty()) query_.rank_by(std::move(ranking_));
  if (sub_ && selected_.empty()) selected_ = sub_->selected;
  query_.select(std::move(selected_));
  set_path(query_, std::move(path_));
  const std::size_t start = after(0);
  set_location(query_, place_(start));
  // Without an order the rows keep that of the table.
  if (!query_.prefer() && query_.rank_by().empty() && !query_.has_groups()) {
    query_.rank_by({RankTerm(Expression::literal(std::int64_t{0}), false)});
  }
  query_.validate();
  return {std::move(query_), std::move(table_)};
}

}  // namespace skyrank::query

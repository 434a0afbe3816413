#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/query/check.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

// A statement over a sub-select: its columns are the expressions that the sub-select selects, and its conditions come
// behind those of the sub-select.
namespace skyrank::query {
namespace {

// The condition that both hold; one alone where there is no other.
Expression both(const std::optional<Expression>& first, Expression second) {
  if (!first) return second;
  Node node;
  node.op = Op::logical_and;
  node.children = {std::make_shared<const Node>(root_of(*first)), std::make_shared<const Node>(root_of(second))};
  return make_expression(std::make_shared<const Node>(std::move(node)), second.location());
}

// Nodes that a statement may take from its sub-select: each level of sub-selects may repeat the columns of the next
// one.
constexpr std::size_t kMaxSubNodes = 100'000;

std::size_t nodes_of(const Node& node) {
  std::size_t nodes = 1;
  for (const NodePtr& child : node.children) nodes += nodes_of(*child);
  return nodes;
}

int height_of(const Node& node) {
  int height = 0;
  for (const NodePtr& child : node.children) height = std::max(height, height_of(*child));
  return height + 1;
}

const std::int64_t* integer_in(const Node& node) {
  return node.op == Op::literal ? std::get_if<std::int64_t>(&node.value) : nullptr;
}

}  // namespace

SqlBuilder::SqlBuilder(std::string_view text, std::string_view shown, const PlaceFunction& place,
                       std::optional<SubSelect> sub, bool is_inner)
    : text_(text), shown_(shown), sub_(std::move(sub)), is_inner_(is_inner), place_(place) {
  hide_aggregates();
  if (!sub_) return;
  for (const SelectItem& item : sub_->selected) {
    sub_columns_.emplace(item.name, SubColumn{&item, nodes_of(root_of(item.expression))});
  }
  group_by_ = sub_->group_by;
  aggregates_ = sub_->aggregates;
  for (std::size_t i = 0; i < aggregates_.size(); ++i) aggregate_names_.emplace(aggregates_[i].name, i);
  partition_by_ = std::move(sub_->partition_by);
  ranking_ = std::move(sub_->ranking);
  nulls_first_ = std::move(sub_->nulls_first);
  nulls_last_ = std::move(sub_->nulls_last);
  is_qualified_ = sub_->number.has_value();
}

void SqlBuilder::check_sub_select(std::size_t offset, Clause clause, const std::string& name) const {
  const bool takes_rows = clause <= Clause::having;
  if (is_inner_ && !takes_rows) {
    fail(offset, in_quotes(name) +
                     " cannot stand in a sub-select, which chooses rows, computes columns and groups; it " +
                     "stands in the statement around it, or in one of its own");
  }
  if (!sub_) return;
  if (select_distinct_ && clause == Clause::from && (sub_->number || sub_->has_groups())) {
    fail(*select_distinct_,
         "SELECT DISTINCT takes no sub-select that has groups or numbers rows; run one of them in an "
         "SQL engine");
  }
  const bool is_basic = clause == Clause::select || clause == Clause::from || clause == Clause::where;
  if (sub_->number && !is_basic && clause != Clause::options) {
    fail(offset, in_quotes(name) + " cannot follow a sub-select that numbers rows: its rows come partition by " +
                     "partition, in the order of their numbers");
  }
  if (sub_->has_groups() && !is_basic && takes_rows) {
    fail(offset, in_quotes(name) +
                     " would make groups of groups, since the sub-select has groups already; run one of " +
                     "them in an SQL engine");
  }
}

// Puts what the sub-select selects in place of its columns.
NodePtr SqlBuilder::behind_sub_select(const NodePtr& root, const Location& origin) {
  read_name_.clear();
  if (root->op == Op::column && sub_columns_.contains(root->name)) read_name_ = root->name;
  NodePtr replaced = replace_columns(root, [&](const Node& node) -> NodePtr {
    if (holds_aggregate(node)) return nullptr;
    if (sub_->number && node.name == *sub_->number) {
      if (last_ == Clause::where) return nullptr;
      fail(place_of(node, origin),
           in_quotes(node.name) + " says in WHERE how many rows there are, and is no column of " + "the answer");
    }
    if (sub_->selected.empty()) return nullptr;
    const auto item = sub_columns_.find(node.name);
    if (item != sub_columns_.end()) {
      sub_nodes_ += item->second.nodes;
      if (sub_nodes_ > kMaxSubNodes) {
        fail(place_of(node, origin), "with the columns of its sub-select the statement has more than " +
                                         std::to_string(kMaxSubNodes) + " operators and values");
      }
      return std::make_shared<const Node>(root_of(item->second.item->expression));
    }
    const bool is_own = last_ > Clause::where && is_named(node.name);
    if (is_own || (is_pseudo_column(node.name) && !node.exact)) return nullptr;
    std::vector<std::string> names;
    for (const SelectItem& selected : sub_->selected) names.push_back(selected.name);
    fail(place_of(node, origin),
         "the sub-select has no column " + in_quotes(node.name) + did_you_mean(node.name, names));
  });
  if (replaced != root && height_of(*replaced) > kMaxHeight) {
    fail(origin, "with the columns of its sub-select the expression chains more than " + std::to_string(kMaxHeight) +
                     " operators");
  }
  return replaced;
}

// Returns true for a name that this statement gives.
bool SqlBuilder::is_named(const std::string& name) const {
  const auto is_key = [&](const GroupKey& key) { return key.name == name; };
  return selected_names_.contains(name) || aggregate_names_.contains(name) || std::ranges::any_of(group_by_, is_key);
}

// Returns k of `number <= k` and of what says the same.
std::int64_t SqlBuilder::last_number(const Expression& condition) const {
  const Node& root = root_of(condition);
  const auto is_number = [&](std::size_t i) {
    return root.children[i]->op == Op::column && root.children[i]->name == *sub_->number;
  };
  std::optional<std::int64_t> last;
  if (is_comparison(root.op)) {
    const bool turned = is_number(1);
    const std::int64_t* const k = integer_in(*root.children[turned ? 0 : 1]);
    const Op op = turned ? exchanged(root.op) : root.op;
    if (k != nullptr && (turned || is_number(0))) {
      if (op == Op::less_equal || (op == Op::equal && *k == 1)) last = *k;
      if (op == Op::less && *k > 0) last = *k - 1;
    }
  } else if (root.op == Op::between && !root.negated && is_number(0)) {
    const std::int64_t* const from = integer_in(*root.children[1]);
    const std::int64_t* const to = integer_in(*root.children[2]);
    if (from != nullptr && to != nullptr && *from == 1) last = *to;
  }
  if (!last || *last < 0) {
    fail(condition.location(), "WHERE behind a sub-select that numbers rows keeps the first of them, as in " +
                                   *sub_->number + " <= 5; other conditions stand in the sub-select");
  }
  return *last;
}

void SqlBuilder::where() {
  Expression condition = take_expression();
  if (sub_ && sub_->number) {
    query_.limit(last_number(condition));
  } else if (sub_ && sub_->has_groups()) {
    query_.having(both(sub_->having, std::move(condition)));
  } else {
    query_.where(both(sub_ ? sub_->where : std::nullopt, std::move(condition)));
  }
}

void SqlBuilder::number_rows() {
  if (number_) fail(alias_->offset, "a sub-select numbers its rows once");
  number_ = alias_->text;
  alias_.reset();
}

SubSelect SqlBuilder::finish_sub_select(std::size_t begin, std::size_t end) {
  if (sub_ && sub_->number) {
    fail(sub_->begin, "a sub-select that numbers rows stands in the outermost statement, not in another sub-select");
  }
  if (group_by_.empty() && !aggregates_.empty()) check_one_row();
  SubSelect sub;
  sub.begin = begin;
  sub.end = end;
  sub.from = query_.from();
  sub.table = table_;
  sub.where = query_.where();
  sub.having = query_.having();
  sub.group_by = std::move(group_by_);
  sub.aggregates = std::move(aggregates_);
  sub.selected = selected_.empty() && sub_ ? sub_->selected : std::move(selected_);
  sub.number = std::move(number_);
  sub.partition_by = std::move(partition_by_);
  sub.ranking = std::move(ranking_);
  sub.nulls_first = std::move(nulls_first_);
  sub.nulls_last = std::move(nulls_last_);
  return sub;
}

}  // namespace skyrank::query

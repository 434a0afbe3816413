#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/locations.hpp"
#include "engine/query/values.hpp"
#include "engine/query/yaml/read.hpp"
#include "engine/text.hpp"

// Queries of a YAML batch, key by key.
namespace skyrank::query {
namespace {

// NOLINTBEGIN(bugprone-throwing-static-initialization): a process that has no memory for them cannot begin
const std::vector<std::string> kQueryKeys = {
    "name",     "from",     "where",   "group_by", "aggregate", "having",  "partition_by", "prefer",  "levels",
    "at_least", "distinct", "skyband", "feasible", "violation", "weights", "pick",         "rank_by", "offset",
    "limit",    "ties",     "nan",     "nulls",    "select",    "timeout", "using",        "sql"};
// Keys that may stand beside `sql`, which says everything else.
const std::vector<std::string> kKeysBesideSql = {"name", "sql", "timeout", "using"};
// NOLINTEND(bugprone-throwing-static-initialization)
constexpr std::string_view kAll = "all";  // rows, as 'skyband'
constexpr const char* kAggregateExample = "count(), count(e), sum(e), min(e), max(e) or avg(e)";

// SQL's count(*) is count().
bool is_star(std::string_view text) {
  return std::count(text.begin(), text.end(), '*') == 1 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c == '*' || is_blank(c); });
}

class QueryReader {
 public:
  QueryReader(const YamlDocument& document, const YamlNode& node)
      : document_(document), node_(node), map_(document, node, "a query", kQueryKeys, MapReader::Unknown::goes_on) {}

  Query read(const TableNames& tables) {
    if (map_.find("sql") != nullptr) return read_statement(tables);
    attempt([&] { read_names(tables); });
    set_location(query_, document_.place(node_));
    read_filter();
    read_preference_part();
    read_order();
    read_answer();
    if (!good_ || map_.has_unknown()) throw MistakesCollected{};  // which validating would take for others
    query_.validate();
    return std::move(query_);
  }

 private:
  // Calls use(node, "'key'") where the key is there.
  template <class Use>
  void with(std::string_view key, const Use& use) {
    good_ = map_.with(key, [&](const YamlNode& node) { use(node, in_quotes(key)); }) && good_;
  }

  template <class Read>
  void attempt(const Read& read) {
    good_ = document_.attempt(read) && good_;
  }

  void read_names(const TableNames& tables) {
    std::string query_name;
    attempt([&] { query_name = read_name(); });
    const YamlNode& from = map_.require("from");
    query_ = Query::from(read_text(document_, from, "'from'")).name(std::move(query_name));
    check_table(document_.place(from), tables);
  }

  std::string read_name() const {
    const YamlNode& name = map_.require("name");
    std::string query_name = read_text(document_, name, "'name'");
    at_place_of(document_, name, [&] { check_query_name(query_name); });
    return query_name;
  }

  void check_table(const Location& place, const TableNames& tables) const {
    const std::string& from = query_.from();
    if (tables.known.contains(from)) return;
    throw QueryError("there is no table " + in_quotes(from) + did_you_mean(from, tables.listed) + " (tables are " +
                         listed(tables.listed) + ")",
                     place);
  }

  // The statement says all but the name, the time limit and the path.
  Query read_statement(const TableNames& tables) {
    const YamlNode& sql = *map_.find("sql");
    for (const YamlEntry& entry : node_.entries) {
      const YamlNode& key = entry.key;
      if (std::find(kKeysBesideSql.begin(), kKeysBesideSql.end(), key.text) != kKeysBesideSql.end()) continue;
      if (std::find(kQueryKeys.begin(), kQueryKeys.end(), key.text) == kQueryKeys.end()) continue;  // said already
      attempt([&] {
        document_.fail(key, "'sql' says the whole query, so that " + found(key) + " belongs into the statement");
      });
    }
    attempt([&] {
      if (!sql.is_scalar()) document_.fail(sql, "'sql' needs a statement, found " + found(sql));
      SqlStatement statement = document_.statement(sql);
      query_ = std::move(statement.query);
      set_location(query_, document_.place(node_));
      check_table(statement.table, tables);
    });
    attempt([&] { query_.name(read_name()); });
    read_limits();
    if (!good_ || map_.has_unknown()) throw MistakesCollected{};
    return std::move(query_);
  }

  void read_filter() {
    with("where",
         [&](const YamlNode& node, const std::string& what) { query_.where(read_expression(document_, node, what)); });
    with("group_by", [&](const YamlNode& node, const std::string& what) { query_.group_by(read_keys(node, what)); });
    with("aggregate", [&](const YamlNode& node, const std::string& what) {
      std::vector<Aggregate> aggregates;
      document_.attempt_each(read_map(document_, node, what), [&](const YamlEntry& entry) {
        aggregates.push_back(read_aggregate(entry.key, entry.value));
      });
      query_.aggregate(std::move(aggregates));
    });
    with("having",
         [&](const YamlNode& node, const std::string& what) { query_.having(read_expression(document_, node, what)); });
    with("partition_by",
         [&](const YamlNode& node, const std::string& what) { query_.partition_by(read_keys(node, what)); });
  }

  void read_preference_part() {
    with("prefer", [&](const YamlNode& node, const std::string&) {
      query_.prefer(with_feasible(with_weights(read_preference(document_, node))));
      at_place_of(document_, node, [&] { check_tree(*query_.prefer()); });
    });
    with("weights", [&](const YamlNode& node, const std::string& what) {
      if (map_.find("prefer") == nullptr) document_.fail(node, what + " need 'prefer'");
    });
    for (const std::string_view key : {"feasible", "violation"}) {
      with(key, [&](const YamlNode& node, const std::string& what) { check_feasible(node, what); });
    }
    with("levels",
         [&](const YamlNode& node, const std::string& what) { query_.levels(read_integer(document_, node, what, 1)); });
    with("at_least", [&](const YamlNode& node, const std::string& what) {
      query_.at_least(read_integer(document_, node, what, 0));
    });
    with("skyband", [&](const YamlNode& node, const std::string& what) {
      query_.skyband(node.text == kAll ? kAllRows : read_integer(document_, node, what, 1));
    });
    with("distinct",
         [&](const YamlNode& node, const std::string& what) { query_.distinct(read_bool(document_, node, what)); });
  }

  Pick read_pick(const YamlNode& node, const std::string& what) const {
    const MapReader map(document_, node, what, {"count", "by", "reference"});
    Pick pick;
    pick.count = read_integer(document_, map.require("count"), "'count'", 1);
    if (const YamlNode* by = map.find("by")) pick.by = read_choice<Pick::By>(document_, *by, "'by'");
    if (const YamlNode* reference = map.find("reference")) {
      for (const YamlNode& item : read_list(document_, *reference, "'reference'", "[200, 0]")) {
        const std::optional<double> value = double_of(read_value(document_, item, "'reference'"));
        if (!value) document_.fail(item, "'reference' has numbers, found " + found(item));
        pick.reference.push_back(*value);
      }
    }
    at_place_of(document_, node, [&] { check_pick(pick); });
    return pick;
  }

  void check_feasible(const YamlNode& node, const std::string& what) const {
    if (map_.find("prefer") == nullptr) document_.fail(node, what + " needs 'prefer'");
    if (map_.find("feasible") == nullptr) document_.fail(node, what + " needs 'feasible'");
  }

  // The preference by sums of its terms, where `weights` says of which.
  Preference with_weights(Preference preference) const {
    const YamlNode* const node = map_.find("weights");
    if (node == nullptr) return preference;
    const std::vector<Expression> constraints = read_expressions(*node, "'weights'", "[price >= 2 * rating]");
    const bool several = preference.kind == Preference::Kind::pareto;
    return at_place_of(document_, *node, [&] {
      return weighted(several ? preference.children : std::vector<Preference>{preference}, constraints);
    });
  }

  // One expression, or a list.
  std::vector<Expression> read_expressions(const YamlNode& node, const std::string& what,
                                           const std::string& example) const {
    std::vector<Expression> expressions;
    if (!node.is_sequence()) return {read_expression(document_, node, what)};
    document_.attempt_each(read_list(document_, node, what, example), [&](const YamlNode& item) {
      expressions.push_back(read_expression(document_, item, what));
    });
    return expressions;
  }

  // The preference behind the condition of `feasible` and what `violation` lists.
  Preference with_feasible(Preference preference) const {
    const YamlNode* const condition = map_.find("feasible");
    if (condition == nullptr) return preference;
    std::vector<Expression> violations;
    if (const YamlNode* const node = map_.find("violation")) {
      violations = read_expressions(*node, "'violation'", "[weight - 10, power - 5]");
    }
    return feasible(read_expression(document_, *condition, "'feasible'"), std::move(violations), std::move(preference));
  }

  void read_order() {
    with("pick", [&](const YamlNode& node, const std::string& what) { query_.pick(read_pick(node, what)); });
    with("rank_by", [&](const YamlNode& node, const std::string& what) { query_.rank_by(read_ranking(node, what)); });
    with("offset",
         [&](const YamlNode& node, const std::string& what) { query_.offset(read_integer(document_, node, what, 0)); });
    with("limit",
         [&](const YamlNode& node, const std::string& what) { query_.limit(read_integer(document_, node, what, 0)); });
    with("ties",
         [&](const YamlNode& node, const std::string& what) { query_.ties(read_choice<Ties>(document_, node, what)); });
    with("nan", [&](const YamlNode& node, const std::string& what) {
      query_.nan(read_choice<Missing>(document_, node, what));
    });
    with("nulls", [&](const YamlNode& node, const std::string& what) {
      query_.nulls(read_choice<Missing>(document_, node, what));
    });
  }

  void read_answer() {
    with("select", [&](const YamlNode& node, const std::string& what) {
      document_.attempt_each(read_list(document_, node, what, "[name, price, {twice: 2 * price}]"),
                             [&](const YamlNode& item) { read_selected(item); });
      query_.select(std::move(selected_));
    });
    read_limits();
  }

  void read_limits() {
    with("timeout",
         [&](const YamlNode& node, const std::string& what) { query_.timeout(read_duration(document_, node, what)); });
    with("using", [&](const YamlNode& node, const std::string& what) { set_path(query_, read_path(node, what)); });
  }

  std::vector<GroupKey> read_keys(const YamlNode& node, const std::string& what) {
    std::vector<GroupKey> keys;
    document_.attempt_each(read_list(document_, node, what, "[city, year]"), [&](const YamlNode& item) {
      if (!item.is_map()) return add_key(item, read_name_or_expression(document_, item, what), what, keys);
      for (const auto& [name, value] : item.entries) {
        if (name.text.empty()) document_.fail(name, "a name in " + what + " is empty");
        add_key(name, {name.text, read_name_or_expression(document_, value, what)}, what, keys);
      }
    });
    return keys;
  }

  void add_key(const YamlNode& node, GroupKey key, const std::string& what, std::vector<GroupKey>& keys) {
    if (keys.empty()) key_names_.clear();
    if (!key_names_.insert(key.name).second) {
      document_.fail(node, what + " names " + in_quotes(key.name) + " twice");
    }
    keys.push_back(std::move(key));
  }

  // count(), max(price): a word and parentheses around an expression.
  Aggregate read_aggregate(const YamlNode& name, const YamlNode& value) const {
    const std::string what = "the aggregate " + found(name);
    if (name.text.empty()) document_.fail(name, "the name of an aggregate is empty");
    const std::string text = read_text(document_, value, what);
    const std::size_t open = text.find('(');
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    if (open == std::string::npos || text[last] != ')') {
      document_.fail(value, what + " needs " + kAggregateExample + ", found " + found(value) +
                                (value.in_flow && open != std::string::npos
                                     ? "; inside {...} an expression with a comma needs quotes"
                                     : ""));
    }
    std::string word = text.substr(0, open);
    word.erase(std::find_if(word.rbegin(), word.rend(), [](char c) { return !is_blank(c); }).base(), word.end());
    Aggregate aggregate{name.text, read_function(value, word, what), std::nullopt};
    const std::string_view inside = std::string_view(text).substr(open + 1, last - open - 1);
    if (is_star(inside)) {
      if (aggregate.function == Aggregate::Function::count) return aggregate;
      document_.fail(value, what + " needs an argument: " + word + "(e); only count takes '*'");
    }
    if (!std::all_of(inside.begin(), inside.end(), is_blank)) {
      aggregate.argument = document_.name_or_expression(value, open + 1, last - open - 1);
    } else if (aggregate.function != Aggregate::Function::count) {
      document_.fail(value, what + " needs an argument: " + word + "(e)");
    }
    return aggregate;
  }

  Aggregate::Function read_function(const YamlNode& value, const std::string& word, const std::string& what) const {
    const auto function = find_by_word<Aggregate::Function>([&](std::string_view known) { return known == word; });
    if (function) return *function;
    document_.fail(value, what + " needs " + kAggregateExample + ", found " + in_quotes(word) +
                              did_you_mean(word, all_words<Aggregate::Function>()));
  }

  std::vector<RankTerm> read_ranking(const YamlNode& node, const std::string& what) const {
    std::vector<RankTerm> ranking;
    if (node.is_map()) {
      ranking.push_back(read_rank_term(node));
      return ranking;
    }
    document_.attempt_each(read_list(document_, node, what, "[{high: rating}, {low: price}]"),
                           [&](const YamlNode& item) { ranking.push_back(read_rank_term(item)); });
    return ranking;
  }

  RankTerm read_rank_term(const YamlNode& node) const {
    const MapReader term(document_, node, "a term of 'rank_by'", {"low", "high"});
    if (node.entries.size() != 1) {
      document_.fail(node,
                     "a term of 'rank_by' has one key, 'low' or 'high'; several terms are a list: "
                     "[{high: a}, {low: b}]");
    }
    const bool high = term.find("high") != nullptr;
    return {read_name_or_expression(document_, node.entries.front().value, high ? "'high'" : "'low'"), high};
  }

  void read_selected(const YamlNode& item) {
    if (!item.is_map()) {
      Expression expression = read_name_or_expression(document_, item, "'select'");
      std::string name = output_name(expression);
      add_selected(item, {std::move(name), std::move(expression)});
      return;
    }
    for (const auto& [alias, value] : item.entries) {
      add_selected(alias, {alias.text, read_name_or_expression(document_, value, "'select'")});
    }
  }

  void add_selected(const YamlNode& node, SelectItem item) {
    if (item.name.empty()) document_.fail(node, "a name in 'select' is empty");
    if (!selected_names_.insert(item.name).second) {
      document_.fail(node, "'select' names " + in_quotes(item.name) +
                               " twice; give one of them another name: " + "{other: " + item.expression.text() + "}");
    }
    selected_.push_back(std::move(item));
  }

  PlacedPath read_path(const YamlNode& node, const std::string& what) const {
    const MapReader map(document_, node, what, {"algorithm", "device", "parameters", "without"});
    PlacedPath result;
    const auto named = [&](const YamlNode& name, const std::string& of) {
      std::string text = read_text(document_, name, of);
      result.locations.try_emplace(text, document_.place(name));
      return text;
    };
    if (const YamlNode* algorithm = map.find("algorithm")) {
      if (algorithm->is_sequence()) {
        for (const YamlNode& item : read_list(document_, *algorithm, "'algorithm'", "[sort-first, heap]")) {
          result.path.algorithms.push_back(named(item, "'algorithm'"));
        }
      } else {
        result.path.algorithms.push_back(named(*algorithm, "'algorithm'"));
      }
    }
    if (const YamlNode* device = map.find("device")) {
      result.path.device = read_choice<DeviceChoice>(document_, *device, "'device'");
    }
    if (const YamlNode* parameters = map.find("parameters")) {
      for (const auto& [name, value] : read_map(document_, *parameters, "'parameters'")) {
        result.path.parameters[named(name, "a name in 'parameters'")] =
            read_integer(document_, value, "the parameter " + found(name), std::numeric_limits<std::int64_t>::min());
      }
    }
    if (const YamlNode* without = map.find("without")) {
      for (const YamlNode& item : read_list(document_, *without, "'without'", "[fusion, statistics]")) {
        result.path.without.push_back(named(item, "'without'"));
      }
    }
    return result;
  }

  const YamlDocument& document_;
  const YamlNode& node_;
  MapReader map_;
  Query query_;
  std::vector<SelectItem> selected_;
  std::unordered_set<std::string> selected_names_;
  std::unordered_set<std::string> key_names_;  // of the clause that is read
  bool good_ = true;                           // no mistake was collected
};

}  // namespace

Query read_query(const YamlDocument& document, const YamlNode& node, const TableNames& tables) {
  return QueryReader(document, node).read(tables);
}

}  // namespace skyrank::query

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "tests/differential/generate.hpp"
#include "tests/differential/oracle.hpp"

// Random queries and their YAML.
namespace skyrank::differential {
namespace {

class Generator {
 public:
  Generator(Random& random, const Input& input, const Names& names) : random_(random), input_(input), names_(names) {}

  Query run() {
    fields_ = input_.relation.fields;
    Query query;
    if (random_.chance(55)) query.where = condition(3);
    if (random_.chance(12)) add_groups(query);
    add_partitions(query);
    const bool prefer = random_.chance(60);
    if (prefer) add_preference(query);
    for (std::int64_t i = prefer ? random_.below(3) : 1 + random_.below(3); i > 0; --i) {
      query.rank_by.push_back({key(), random_.chance(50)});
    }
    add_window(query);
    add_selection(query);
    query.path = path(query);
    return query;
  }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(input_.relation.rows.size()); }

  std::vector<ExpressionPtr> columns_of(const std::function<bool(Kind)>& wanted) {
    std::vector<ExpressionPtr> found;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (wanted(fields_[i].domain.kind)) found.push_back(column(i, fields_[i].domain, fields_[i].name));
    }
    return found;
  }

  // ---- Expressions ----

  ExpressionPtr number_literal() {
    if (random_.chance(40)) return literal(static_cast<double>(random_.below(60) - 15) / 4, {Kind::float64});
    if (random_.chance(4)) return literal(Integer{std::numeric_limits<std::int64_t>::max()}, {Kind::int64});
    if (random_.chance(2)) return literal(Integer{std::numeric_limits<std::uint64_t>::max()}, {Kind::uint64});
    return literal(Integer{random_.below(random_.chance(80) ? 9 : 3000) - 2}, {Kind::int64});
  }

  ExpressionPtr number(int depth) {
    const auto columns = columns_of(is_number);
    if (depth == 0 || random_.chance(35)) {
      return columns.empty() || random_.chance(12) ? number_literal() : random_.one_of(columns);
    }
    switch (random_.below(8)) {
      case 0: return operation(random_.one_of<Op>({Op::abs, Op::floor, Op::ceil, Op::negate}), {number(depth - 1)});
      case 1: return operation(random_.one_of<Op>({Op::sqrt, Op::log, Op::exp}), {number(depth - 1)});
      case 2: return operation(random_.one_of<Op>({Op::min, Op::max}), several(&Generator::number, depth));
      case 3: return choice(&Generator::number, depth);
      case 4: return operation(random_.one_of<Op>({Op::divide, Op::modulo}), {number(depth - 1), number_literal()});
      case 5: {
        const auto times = columns_of([](Kind kind) { return kind == Kind::date; });
        if (!times.empty()) return operation(Op::subtract, {random_.one_of(times), time_literal({Kind::date})});
        [[fallthrough]];
      }
      default:
        return operation(random_.one_of<Op>({Op::add, Op::subtract, Op::multiply}),
                         {number(depth - 1), number(depth - 1)});
    }
  }

  using Maker = ExpressionPtr (Generator::*)(int);

  std::vector<ExpressionPtr> several(Maker make, int depth) {
    std::vector<ExpressionPtr> operands;
    for (std::int64_t i = 2 + random_.below(2); i > 0; --i) operands.push_back((this->*make)(depth - 1));
    return operands;
  }

  ExpressionPtr choice(Maker make, int depth) {
    std::vector<ExpressionPtr> operands;
    for (std::int64_t i = 1 + random_.below(2); i > 0; --i) {
      operands.push_back(condition(depth - 1));
      operands.push_back((this->*make)(depth - 1));
    }
    if (random_.chance(70)) operands.push_back((this->*make)(depth - 1));
    return operation(Op::case_when, operands);
  }

  ExpressionPtr text(int depth) {
    const auto columns = columns_of([](Kind kind) { return kind == Kind::string; });
    if (columns.empty() || random_.chance(25)) {
      return literal(random_.one_of<std::string>({"", "a", "b", "ab", "it's", "x", "zz"}), {Kind::string});
    }
    if (depth > 0 && random_.chance(15)) return choice(&Generator::text, depth);
    return random_.one_of(columns);
  }

  ExpressionPtr time_literal(Domain domain) {
    const Integer day = 17'000 + random_.below(20) - 5;
    if (domain.kind == Kind::date) return literal(Day{day}, domain);
    return literal(
        Moment{Integer{1'500'000'000} * 1'000'000'000 + (random_.below(40) - 10) * Integer{domain.ns_per_tick}},
        domain);
  }

  ExpressionPtr time(int depth) {
    const auto columns = columns_of(is_time);
    if (columns.empty()) return time_literal({Kind::date});
    const ExpressionPtr chosen = random_.one_of(columns);
    if (depth == 0 || random_.chance(50)) return chosen;
    if (chosen->domain.kind == Kind::date && random_.chance(50)) {
      return operation(Op::add, {chosen, literal(Integer{random_.below(9)}, {Kind::int64})});
    }
    return operation(random_.one_of<Op>({Op::min, Op::max}), {chosen, time_literal(chosen->domain)});
  }

  /// Operands that compare with the first.
  std::vector<ExpressionPtr> comparable(std::size_t count, int depth, bool nulls) {
    std::vector<ExpressionPtr> operands;
    const int kind = static_cast<int>(random_.below(10));
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0 && nulls && random_.chance(12)) {
        operands.push_back(literal({}, {}));
      } else if (kind < 5) {
        operands.push_back(i == 0 || random_.chance(30) ? number(depth) : number_literal());
      } else if (kind < 8) {
        operands.push_back(text(depth));
      } else {
        operands.push_back(i == 0 || random_.chance(30)
                               ? time(depth)
                               : time_literal({random_.chance(50) ? Kind::date : Kind::timestamp}));
      }
    }
    return operands;
  }

  ExpressionPtr condition(int depth) {
    const auto truths = columns_of([](Kind kind) { return kind == Kind::boolean; });
    if (!truths.empty() && random_.chance(10)) return random_.one_of(truths);
    if (depth > 0 && random_.chance(40)) {
      if (random_.chance(20)) return operation(Op::logical_not, {condition(depth - 1)});
      return operation(random_.one_of<Op>({Op::logical_and, Op::logical_or}),
                       {condition(depth - 1), condition(depth - 1)});
    }
    const int below = std::max(0, depth - 1);
    switch (random_.below(8)) {
      case 0: return operation(Op::between, comparable(3, below, true), random_.chance(25));
      case 1:
      case 2:
        return operation(Op::in, comparable(2 + static_cast<std::size_t>(random_.below(4)), below, true),
                         random_.chance(25));
      case 3: return operation(Op::is_null, {random_.chance(50) ? number(below) : text(below)}, random_.chance(50));
      default:
        return operation(
            random_.one_of<Op>({Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal}),
            comparable(2, below, random_.chance(10)));
    }
  }

  /// Terms that preferences and rankings order.
  ExpressionPtr key() {
    if (random_.chance(30)) return random_.chance(70) ? number(2) : random_.chance(50) ? time(1) : text(1);
    return random_.one_of(columns_of([](Kind) { return true; }));
  }

  // ---- Clauses ----

  std::vector<std::size_t> some_columns(std::int64_t count) {
    std::vector<std::size_t> chosen;
    for (; count > 0; --count) {
      const auto column = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(fields_.size())));
      if (std::ranges::count(chosen, column) == 0) chosen.push_back(column);
    }
    return chosen;
  }

  void add_groups(Query& query) {
    query.group_by = some_columns(1 + random_.below(2));
    for (std::int64_t i = random_.below(4); i > 0; --i) {
      const std::string name = "a" + std::to_string(i);
      const auto function = random_.one_of<std::string>({"count", "sum", "min", "max", "avg"});
      if (function == "count" && random_.chance(50)) {
        query.aggregates.push_back({name, function, nullptr});
      } else {
        query.aggregates.push_back({name, function, function == "count" && random_.chance(50) ? text(0) : number(1)});
      }
    }
    fields_ = fields_after_grouping(query, input_.relation);
  }

  void add_partitions(Query& query) {
    if (random_.chance(25)) query.partition_by = some_columns(1 + random_.below(2));
  }

  void add_preference(Query& query) {
    query.prefer = preference(3);
    query.distinct = random_.chance(20);
    if (random_.chance(20)) {
      query.levels = 1 + random_.below(4);
    } else if (random_.chance(20)) {
      query.at_least = random_.below(20);
    } else if (random_.chance(20)) {
      add_skyband(query);
    }
  }

  /// Makes the preference a flat one, and asks for a skyband of it.
  void add_skyband(Query& query) {
    Preference flat{.kind = Preference::Kind::pareto};
    for (std::int64_t i = 1 + random_.below(4); i > 0; --i) flat.children.push_back(term());
    query.prefer = std::move(flat);
    query.skyband = random_.chance(30) ? Query::kAll : 1 + random_.below(6);
  }

  Preference preference(int depth) {
    using Kind = Preference::Kind;
    if (depth == 0 || random_.chance(25)) return term();
    if (random_.chance(10)) return {.kind = Kind::inverse, .children = {preference(depth - 1)}};
    Preference all{.kind = random_.chance(60) ? Kind::pareto : Kind::prior};
    for (std::int64_t i = 1 + random_.below(3); i > 0; --i) all.children.push_back(preference(depth - 1));
    return all;
  }

  Preference term() {
    using Form = Preference::Kind;
    if (random_.chance(12)) return {.kind = Form::where, .expression = condition(2)};
    const auto texts = columns_of([](Kind kind) { return kind == Kind::string; });
    if (!texts.empty() && random_.chance(12)) {
      return {.kind = Form::in,
              .expression = random_.one_of(texts),
              .sets = {{std::string("b"), std::string("")}, {std::string("a")}}};
    }
    const ExpressionPtr value = key();
    if (is_number(value->domain.kind) && random_.chance(35)) return measured(value);
    return {.kind = random_.chance(50) ? Form::low : Form::high, .expression = value};
  }

  Preference measured(const ExpressionPtr& value) {
    using Form = Preference::Kind;
    const auto target = [&](std::int64_t least) -> Cell {
      const std::int64_t whole = least + random_.below(5);
      if (random_.chance(30)) return static_cast<double>(whole) + 0.5;
      return Integer{whole};
    };
    switch (random_.below(3)) {
      case 0: return {.kind = Form::around, .expression = value, .from = target(-1)};
      case 1: return {.kind = Form::between, .expression = value, .from = target(-3), .to = target(4)};
      default:
        return {.kind = Form::in,
                .expression = value,
                .sets = {{Integer{1}, Integer{2}}, {Integer{0}, 2.5}, {Integer{-1}}}};
    }
  }

  void add_window(Query& query) {
    if (random_.chance(65)) query.limit = random_.below(random_.chance(70) ? 12 : rows() + 3);
    if (random_.chance(25)) query.offset = random_.below(8);
    query.ties = random_.one_of<std::string>({"first", "first", "last", "all", "any"});
    query.nan = random_.one_of<std::string>({"worst", "worst", "worst", "best", "best", "exclude", "error"});
    query.nulls = random_.one_of<std::string>({"worst", "worst", "worst", "best", "best", "exclude", "error"});
  }

  void add_selection(Query& query) {
    if (random_.chance(40)) return;
    using Kind = Output::Kind;
    // Tells the rows of an answer apart where equal ones may change places.
    if (query.ties == "any") query.select.push_back({"x0", Kind::row});
    for (std::int64_t i = 1 + random_.below(4); i > 0; --i) {
      const std::string name = "x" + std::to_string(i);
      const std::int64_t kind = random_.below(7);
      if (kind == 0) {
        query.select.push_back({name, Kind::row});
      } else if (kind == 1 && query.prefer) {
        query.select.push_back({name, Kind::level});
      } else if (kind == 2 && query.skyband) {
        query.select.push_back({name, random_.chance(50) ? Kind::dominated_by : Kind::dominates});
      } else if (kind == 2 && !query.rank_by.empty()) {
        query.select.push_back({name, Kind::score});
      } else {
        query.select.push_back({name, Kind::expression, output()});
      }
    }
  }

  ExpressionPtr output() {
    switch (random_.below(5)) {
      case 0: return text(2);
      case 1: return condition(2);
      case 2: return time(2);
      default: return number(3);
    }
  }

  /// An algorithm for one of the query's problems; empty where it has none.
  std::string algorithm(const Query& query) {
    if (!query.prefer && query.rank_by.empty()) return {};
    if (query.skyband && query.rank_by.empty()) return {};
    const bool skyline = query.prefer && !query.skyband && (query.rank_by.empty() || random_.chance(50));
    return random_.one_of(skyline ? names_.skyline_algorithms : names_.topk_algorithms);
  }

  Path path(const Query& query) {
    Path path;
    if (random_.chance(15)) path.algorithm = algorithm(query);
    if (names_.cuda && path.algorithm.empty() && random_.chance(25)) path.device = "cuda";
    if (random_.chance(30)) {
      const int percent = random_.chance(20) ? 100 : 20;
      for (const std::string& rule : names_.rules) {
        if (random_.chance(percent)) path.without.push_back(rule);
      }
    }
    return path;
  }

  Random& random_;
  const Input& input_;
  const Names& names_;
  std::vector<Field> fields_;
};

// ---- YAML ----

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string in_backquotes(const std::string& name) { return "`" + name + "`"; }

std::string plain(const Cell& value) {
  if (const auto* integer = std::get_if<Integer>(&value)) return spelled(*integer);
  if (const auto* number = std::get_if<double>(&value)) return spelled(*number);
  return quoted(std::get<std::string>(value));
}

template <class T, class Spell>
std::string list(const std::vector<T>& items, const Spell& spell) {
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? ", " : "") + spell(item);
  return text + "]";
}

std::string yaml(const Preference& preference) {
  using Kind = Preference::Kind;
  const std::string expression = preference.expression ? quoted(preference.expression->text) : "";
  switch (preference.kind) {
    case Kind::low: return "{low: " + expression + "}";
    case Kind::high: return "{high: " + expression + "}";
    case Kind::where: return "{where: " + expression + "}";
    case Kind::around: return "{around: {expr: " + expression + ", target: " + plain(preference.from) + "}}";
    case Kind::between:
      return "{between: {expr: " + expression + ", from: " + plain(preference.from) + ", to: " + plain(preference.to) +
             "}}";
    case Kind::in:
      return "{in: {expr: " + expression +
             ", values: " + list(preference.sets, [](const auto& set) { return list(set, plain); }) + "}}";
    case Kind::inverse: return "{inverse: " + yaml(preference.children.front()) + "}";
    case Kind::pareto: return "{pareto: " + list(preference.children, yaml) + "}";
    case Kind::prior: break;
  }
  return "{prior: " + list(preference.children, yaml) + "}";
}

std::string yaml(const Output& output) {
  constexpr const char* kPseudo[] = {"row", "level", "score", "dominated_by()", "dominates()"};
  const bool is_expression = output.kind == Output::Kind::expression;
  const std::string text = is_expression ? output.expression->text : kPseudo[static_cast<std::size_t>(output.kind)];
  return "{" + output.name + ": " + quoted(text) + "}";
}

std::string yaml(const Query& query, const Relation& table) {
  std::string text = "  - {name: " + query.name + ", from: t";
  const auto add = [&](const std::string& key, const std::string& value) { text += ",\n     " + key + ": " + value; };
  if (query.where) add("where", quoted(query.where->text));
  if (!query.group_by.empty()) {
    add("group_by", list(query.group_by, [&](std::size_t c) { return quoted(in_backquotes(table.fields[c].name)); }));
    std::string aggregates = "{";
    for (const Aggregation& item : query.aggregates) {
      const std::string call = item.function + "(" + (item.argument ? item.argument->text : "") + ")";
      aggregates += (aggregates.size() > 1 ? ", " : "") + item.name + ": " + quoted(call);
    }
    if (!query.aggregates.empty()) add("aggregate", aggregates + "}");
  }
  const std::vector<Field> fields = fields_after_grouping(query, table);
  if (!query.partition_by.empty()) {
    add("partition_by", list(query.partition_by, [&](std::size_t c) { return quoted(in_backquotes(fields[c].name)); }));
  }
  if (query.prefer) add("prefer", yaml(*query.prefer));
  if (query.levels) add("levels", std::to_string(*query.levels));
  if (query.skyband) add("skyband", query.skyband == Query::kAll ? "all" : std::to_string(*query.skyband));
  if (query.at_least) add("at_least", std::to_string(*query.at_least));
  if (query.distinct) add("distinct", "true");
  if (!query.rank_by.empty()) {
    add("rank_by", list(query.rank_by, [](const Ranking& term) {
          return std::string(term.high ? "{high: " : "{low: ") + quoted(term.expression->text) + "}";
        }));
  }
  if (query.offset > 0) add("offset", std::to_string(query.offset));
  if (query.limit) add("limit", std::to_string(*query.limit));
  add("ties", query.ties + ", nan: " + query.nan + ", nulls: " + query.nulls);
  if (!query.select.empty()) add("select", list(query.select, [](const Output& output) { return yaml(output); }));
  std::string path;
  if (!query.path.algorithm.empty()) path += ", algorithm: " + query.path.algorithm;
  if (!query.path.device.empty()) path += ", device: " + query.path.device;
  if (!query.path.without.empty())
    path += ", without: " + list(query.path.without, [](const std::string& rule) { return rule; });
  if (!path.empty()) add("using", "{" + path.substr(2) + "}");
  return text + "}\n";
}

}  // namespace

Query random_query(Random& random, const Input& input, const Names& names) {
  for (;;) {
    Query query = Generator(random, input, names).run();
    try {
      answer(query, input.relation);
      return query;
    } catch (const Undefined&) {
      // Another one.
    }
  }
}

std::string yaml_of(const std::vector<Query>& queries, const Relation& table) {
  std::string text = "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n";
  for (const Query& query : queries) text += yaml(query, table);
  return text;
}

}  // namespace skyrank::differential

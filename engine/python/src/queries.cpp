#include <nanobind/operators.h>
#include <nanobind/stl/map.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/python/src/bind.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/places.hpp"
#include "engine/query/sql/parse.hpp"
#include "engine/query/written_names.hpp"

// Binds expressions, preferences and queries to Python.
namespace skyrank::python {
namespace {

using Sets = std::vector<std::vector<nb::object>>;

std::string quoted(const Expression& expression) { return to_python_text(Value(expression.text())); }

std::string call(const std::string& function, const std::vector<std::string>& arguments) {
  std::string text = function + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ")";
}

std::string list(const std::vector<std::string>& items) {
  const std::string inside = call("", items);
  return "[" + inside.substr(1, inside.size() - 2) + "]";
}

/// Returns the call in Python that makes the preference.
std::string text_of(const Preference& preference) {
  std::vector<std::string> children;
  for (const Preference& child : preference.children) children.push_back(text_of(child));
  std::vector<std::string> sets;
  for (const std::vector<Value>& set : preference.values) {
    std::vector<std::string> members;
    for (const Value& value : set) members.push_back(to_python_text(value));
    sets.push_back(list(members));
  }
  switch (preference.kind) {
    case Preference::Kind::low: return call("low", {quoted(*preference.expression)});
    case Preference::Kind::high: return call("high", {quoted(*preference.expression)});
    case Preference::Kind::around:
      return call("around", {quoted(*preference.expression), to_python_text(preference.target)});
    case Preference::Kind::between:
      return call("between", {quoted(*preference.expression), to_python_text(preference.target),
                              to_python_text(preference.upper)});
    case Preference::Kind::in: return call("in_sets", {quoted(*preference.expression), list(sets)});
    case Preference::Kind::where: return call("where", {quoted(*preference.expression)});
    case Preference::Kind::pareto: return call("pareto", {list(children)});
    case Preference::Kind::prior: return call("prior", {list(children)});
    case Preference::Kind::inverse: return call("inverse", children);
  }
  return "";
}

Preference make_in(const Expression& expression, const Sets& sets) {
  std::vector<std::vector<Value>> values;
  for (const std::vector<nb::object>& set : sets) {
    values.emplace_back();
    for (const nb::object& object : set) values.back().push_back(to_value(object));
  }
  return in(expression, std::move(values));
}

template <class Enum>
Enum named(const std::string& what, const std::string& name) {
  if (const auto value = query::find_by_word<Enum>([&](std::string_view word) { return word == name; })) return *value;
  std::string known;
  for (const std::string& word : query::all_words<Enum>()) known += (known.empty() ? "" : ", ") + word;
  throw QueryError("no " + what + " is called '" + name + "'; it is one of " + known);
}

Ties parse_ties(const std::string& name) { return named<Ties>("rule for ties", name); }

Missing parse_nan(const std::string& name) { return named<Missing>("rule for NaN", name); }

Missing parse_nulls(const std::string& name) { return named<Missing>("rule for NULL", name); }

DeviceChoice parse_device(const std::string& name) { return named<DeviceChoice>("device", name); }

Aggregate make_aggregate(const std::string& name, const std::string& function,
                         const std::optional<Expression>& argument) {
  return {name, named<Aggregate::Function>("aggregate", function), argument};
}

/// Expressions, some of them with names.
using NamedExpressions = std::vector<std::pair<std::optional<std::string>, Expression>>;

std::vector<GroupKey> keys_of(const NamedExpressions& columns) {
  std::vector<GroupKey> keys;
  for (const auto& [name, expression] : columns) {
    keys.push_back(name ? GroupKey(*name, expression) : GroupKey(expression));
  }
  return keys;
}

void set_select(Query& query, const NamedExpressions& columns) {
  std::vector<SelectItem> items;
  for (const auto& [name, expression] : columns)
    items.push_back({name.value_or(query::output_name(expression)), expression});
  query.select(std::move(items));
}

void set_rank_by(Query& query, const std::vector<Preference>& preferences) {
  query.rank_by(std::vector<RankTerm>(preferences.begin(), preferences.end()));
}

void set_pick(Query& query, std::int64_t count, const std::string& by, const std::vector<double>& reference) {
  query.pick(Pick{count, named<Pick::By>("measure of a pick", by), reference});
}

void set_using(Query& query, const std::vector<std::string>& algorithms, const std::string& device,
               const std::map<std::string, std::int64_t>& parameters, const std::vector<std::string>& without) {
  query.using_path({algorithms, parse_device(device), parameters, without});
}

void set_timeout(Query& query, double seconds) { query.timeout(to_time_limit(seconds)); }

/// Returns the query that a statement says, and the line and the column where it names its table.
nb::tuple parse_statement(const std::string& text) {
  const query::Places places(text, {"sql", 1, 1});
  query::SqlStatement statement = query::parse_sql(text, [&](std::size_t offset) { return places.at(offset); });
  return nb::make_tuple(std::move(statement.query), statement.table.line, statement.table.column);
}

/// Returns a number as a float, NULL as None, and another value in the spelling of Python.
nb::object number_or_text(const Value& value) {
  if (std::holds_alternative<Null>(value)) return nb::none();
  if (const auto* number = std::get_if<double>(&value)) return nb::float_(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return nb::float_(static_cast<double>(*number));
  const std::string text = to_python_text(value);
  return nb::str(text.c_str(), text.size());
}

/// Returns a query whose answer is all rows that the preference of `query` compares: those that pass its condition, or
/// the groups of these.
Query compared_by(const Query& query) {
  Query compared = Query::from(query.from());
  compared.where(query.where()).nan(query.nan()).nulls(query.nulls());
  if (!query.group_by().empty()) compared.group_by(query.group_by());
  if (query.has_groups()) compared.aggregate(query.aggregate()).having(query.having());
  if (query.timeout()) compared.timeout(query.timeout());
  return compared;
}

/// Returns the same with the preference, and so the whole front.
Query front_of(const Query& query) {
  Query front = compared_by(query);
  if (query.prefer()) front.prefer(*query.prefer());
  front.levels(query.levels()).at_least(query.at_least()).skyband(query.skyband()).distinct(query.distinct());
  return front;
}

void bind_expression(nb::module_& module) {
  nb::class_<Expression>(module, "Expression")
      .def(nb::init<const std::string&>(), nb::arg("text"))
      .def_static("column", [](const std::string& name) { return Expression::column(name); })
      .def_prop_ro("text", &Expression::text)
      .def("__str__", &Expression::text)
      .def("__repr__", [](const Expression& e) { return "Expression(" + quoted(e) + ")"; })
      .def("__hash__", [](const Expression& e) { return nb::hash(nb::str(e.text().c_str())); })
      .def("__eq__", [](const Expression& a, nb::handle b) {
        return nb::isinstance<Expression>(b) && a == nb::cast<const Expression&>(b);
      });
}

void bind_preference(nb::module_& module) {
  nb::class_<Preference>(module, "Preference")
      .def("__repr__", &text_of)
      .def_prop_ro("kind",
                   [](const Preference& p) {
                     const std::string call = text_of(p);
                     return call.substr(0, call.find('('));
                   })
      .def_prop_ro("expression", [](const Preference& p) { return p.expression; })
      .def_prop_ro("target", [](const Preference& p) { return number_or_text(p.target); })
      .def_prop_ro("upper", [](const Preference& p) { return number_or_text(p.upper); })
      .def_prop_ro("children", [](const Preference& p) { return p.children; })
      .def("__hash__", [](const Preference& p) { return nb::hash(nb::str(text_of(p).c_str())); })
      .def("__eq__", [](const Preference& a, nb::handle b) {
        return nb::isinstance<Preference>(b) && a == nb::cast<const Preference&>(b);
      });
  module.def("low", &low);
  module.def("high", &high);
  module.def("step", [](const Preference& term, nb::handle size) { return step(term, to_value(size)); });
  module.def("feasible", &feasible);
  module.def("weighted", &weighted);
  module.def("where", &where);
  module.def("pareto", &pareto);
  module.def("prior", &prior);
  module.def("inverse", &inverse);
  module.def("in_sets", &make_in);
  module.def("around", [](const Expression& e, nb::handle target) { return around(e, to_value(target)); });
  module.def(
      "between",
      [](const Expression& e, nb::handle from, nb::handle to) { return between(e, to_value(from), to_value(to)); },
      nb::arg(), nb::arg().none(), nb::arg().none());
}

void bind_batch(nb::module_& module) {
  nb::class_<Batch>(module, "Batch")
      .def("query", [](const Batch& b, const std::string& name) { return b.query(name); })
      .def("table", [](const Batch& b, const Query& q) {
        const nb::object folder = nb::str(b.directory.c_str());
        return nb::make_tuple(nb::capsule(new TableSpec(b.table(q.from())), kTableSpecCapsule,
                                          [](void* pointer) noexcept { delete static_cast<TableSpec*>(pointer); }),
                              folder);
      });
  module.def("read_batch", [](const std::string& file) { return read_batch(file); });
}

}  // namespace

void bind_queries(nb::module_& module) {
  bind_expression(module);
  bind_preference(module);
  nb::class_<Aggregate>(module, "Aggregate").def("__repr__", [](const Aggregate& a) {
    return "Aggregate(" + to_python_text(Value(a.name)) + ")";
  });
  module.def("aggregate", &make_aggregate, nb::arg(), nb::arg(), nb::arg().none());
  module.def("name_or_expression", [](const std::string& text) { return query::name_or_expression(text); });
  module.def("parse_sql", &parse_statement);
  module.def("to_sql", [](const Query& query) { return to_sql(query); });
  module.def("columns_read", &Engine::columns_read);
  nb::class_<Query>(module, "Query")
      .def_static("from_", [](const std::string& table) { return Query::from(table); })
      .def("copy", [](const Query& q) { return q; })
      .def("table_name", [](const Query& q) { return q.from(); })
      .def("validate", &Query::validate)
      .def("preference", [](const Query& q) { return q.prefer(); })
      .def("has_partitions", [](const Query& q) { return !q.partition_by().empty(); })
      .def("compared", &compared_by)
      .def("front", &front_of)
      .def("fingerprint", &fingerprint_of)
      .def("__eq__", [](const Query& a, const Query& b) { return a == b; })
      .def("name", [](Query& q, const std::string& name) { q.name(name); })
      .def(
          "where", [](Query& q, const std::optional<Expression>& e) { q.where(e); }, nb::arg().none())
      .def("group_by", [](Query& q, const NamedExpressions& keys) { q.group_by(keys_of(keys)); })
      .def("aggregate", [](Query& q, const std::vector<Aggregate>& a) { q.aggregate(a); })
      .def(
          "having", [](Query& q, const std::optional<Expression>& e) { q.having(e); }, nb::arg().none())
      .def("partition_by", [](Query& q, const NamedExpressions& keys) { q.partition_by(keys_of(keys)); })
      .def("prefer", [](Query& q, const Preference& p) { q.prefer(p); })
      .def(
          "levels", [](Query& q, std::optional<std::int64_t> n) { q.levels(n); }, nb::arg().none())
      .def(
          "skyband", [](Query& q, std::optional<std::int64_t> n) { q.skyband(n); }, nb::arg().none())
      .def(
          "at_least", [](Query& q, std::optional<std::int64_t> n) { q.at_least(n); }, nb::arg().none())
      .def("distinct", [](Query& q, bool on) { q.distinct(on); })
      .def("pick", &set_pick)
      .def("rank_by", &set_rank_by)
      .def("offset", [](Query& q, std::int64_t n) { q.offset(n); })
      .def(
          "limit", [](Query& q, std::optional<std::int64_t> n) { q.limit(n); }, nb::arg().none())
      .def("ties", [](Query& q, const std::string& rule) { q.ties(parse_ties(rule)); })
      .def("nan", [](Query& q, const std::string& rule) { q.nan(parse_nan(rule)); })
      .def("nulls", [](Query& q, const std::string& rule) { q.nulls(parse_nulls(rule)); })
      .def("select", &set_select)
      .def("timeout", &set_timeout)
      .def("using", &set_using);
  bind_batch(module);
}

}  // namespace skyrank::python

#include <skyrank/expression.hpp>

#include <cmath>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/places.hpp"
#include "engine/query/values.hpp"
#include "engine/query/written_names.hpp"

namespace skyrank {
namespace {

Location start_of_text() { return {"expression", 1, 1}; }

std::shared_ptr<const query::Node> parsed(std::string_view text, const Location& origin) {
  const query::Places places(text, origin);
  return query::parse_written(text, [&](std::size_t offset) { return places.at(offset); });
}

}  // namespace

Expression::Expression(std::string_view text) : Expression(text, start_of_text()) {}
Expression::Expression(const char* text) : Expression(std::string_view(text)) {}
Expression::Expression(const std::string& text) : Expression(std::string_view(text)) {}
Expression::Expression(std::string_view text, const Location& origin)
    : root_(parsed(text, origin)), location_(origin) {}
Expression::Expression(std::shared_ptr<const query::Node> root, Location location)
    : root_(std::move(root)), location_(std::move(location)) {}

Expression query::make_expression(std::shared_ptr<const Node> root, Location location) {
  return Expression(std::move(root), std::move(location));
}

const query::Node& query::root_of(const Expression& expression) noexcept { return *expression.root_; }

Expression query::name_or_expression(std::string_view text) {
  const Places places(text, start_of_text());
  return make_expression(parse_name_or_expression(text, [&](std::size_t offset) { return places.at(offset); }),
                         start_of_text());
}

Expression Expression::column(std::string_view name) {
  query::Node node;
  node.op = query::Op::column;
  node.name = name;
  node.exact = query::is_pseudo_column(name);
  return Expression(std::make_shared<const query::Node>(std::move(node)));
}

Expression Expression::literal(Value value) {
  if (const auto* d = std::get_if<double>(&value); d != nullptr && !std::isfinite(*d)) {
    throw QueryError("a literal must be a finite number, not " + to_string(value));
  }
  query::Node node;
  node.value = query::normalized(std::move(value));
  return Expression(std::make_shared<const query::Node>(std::move(node)));
}

std::string Expression::text() const { return query::to_text(*root_); }

std::string_view Expression::column_name() const noexcept {
  return root_->op == query::Op::column ? std::string_view(root_->name) : std::string_view();
}

bool Expression::operator==(const Expression& other) const {
  return root_ == other.root_ || query::equal(*root_, *other.root_);
}

}  // namespace skyrank

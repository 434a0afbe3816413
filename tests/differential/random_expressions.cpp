#include "tests/differential/random_expressions.hpp"

#include <algorithm>
#include <limits>

namespace skyrank::differential {

std::vector<ExpressionPtr> RandomExpressions::columns_of(const std::function<bool(Kind)>& wanted) const {
  std::vector<ExpressionPtr> found;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (wanted(fields_[i].domain.kind)) found.push_back(column(i, fields_[i].domain, fields_[i].name));
  }
  return found;
}

ExpressionPtr RandomExpressions::number_literal() {
  if (random_->chance(40)) return literal(static_cast<double>(random_->below(60) - 15) / 4, {Kind::float64});
  if (random_->chance(4)) return literal(Integer{std::numeric_limits<std::int64_t>::max()}, {Kind::int64});
  if (random_->chance(2)) return literal(Integer{std::numeric_limits<std::uint64_t>::max()}, {Kind::uint64});
  return literal(Integer{random_->below(random_->chance(80) ? 9 : 3000) - 2}, {Kind::int64});
}

ExpressionPtr RandomExpressions::number(int depth) {
  const auto columns = columns_of(is_number);
  if (depth == 0 || random_->chance(35)) {
    return columns.empty() || random_->chance(12) ? number_literal() : random_->one_of(columns);
  }
  switch (random_->below(8)) {
    case 0: return operation(random_->one_of<Op>({Op::abs, Op::floor, Op::ceil, Op::negate}), {number(depth - 1)});
    case 1: return operation(random_->one_of<Op>({Op::sqrt, Op::log, Op::exp}), {number(depth - 1)});
    case 2: return operation(random_->one_of<Op>({Op::min, Op::max}), several(&RandomExpressions::number, depth));
    case 3: return choice(&RandomExpressions::number, depth);
    case 4: return operation(random_->one_of<Op>({Op::divide, Op::modulo}), {number(depth - 1), number_literal()});
    case 5: {
      const auto times = columns_of([](Kind kind) { return kind == Kind::date; });
      if (!times.empty()) return operation(Op::subtract, {random_->one_of(times), time_literal({Kind::date})});
      [[fallthrough]];
    }
    default:
      return operation(random_->one_of<Op>({Op::add, Op::subtract, Op::multiply}),
                       {number(depth - 1), number(depth - 1)});
  }
}

std::vector<ExpressionPtr> RandomExpressions::several(Maker make, int depth) {
  std::vector<ExpressionPtr> operands;
  for (std::int64_t i = 2 + random_->below(2); i > 0; --i) operands.push_back((this->*make)(depth - 1));
  return operands;
}

ExpressionPtr RandomExpressions::choice(Maker make, int depth) {
  std::vector<ExpressionPtr> operands;
  for (std::int64_t i = 1 + random_->below(2); i > 0; --i) {
    operands.push_back(condition(depth - 1));
    operands.push_back((this->*make)(depth - 1));
  }
  if (random_->chance(70)) operands.push_back((this->*make)(depth - 1));
  return operation(Op::case_when, operands);
}

ExpressionPtr RandomExpressions::text(int depth) {
  const auto columns = columns_of([](Kind kind) { return kind == Kind::string; });
  if (columns.empty() || random_->chance(25)) {
    return literal(random_->one_of<std::string>({"", "a", "b", "ab", "it's", "x", "zz"}), {Kind::string});
  }
  if (depth > 0 && random_->chance(15)) return choice(&RandomExpressions::text, depth);
  return random_->one_of(columns);
}

ExpressionPtr RandomExpressions::time_literal(Domain domain) {
  const Integer day = 17'000 + random_->below(20) - 5;
  if (domain.kind == Kind::date) return literal(Day{day}, domain);
  return literal(
      Moment{Integer{1'500'000'000} * 1'000'000'000 + (random_->below(40) - 10) * Integer{domain.ns_per_tick}}, domain);
}

ExpressionPtr RandomExpressions::time(int depth) {
  const auto columns = columns_of(is_time);
  if (columns.empty()) return time_literal({Kind::date});
  const ExpressionPtr chosen = random_->one_of(columns);
  if (depth == 0 || random_->chance(50)) return chosen;
  if (chosen->domain.kind == Kind::date && random_->chance(50)) {
    return operation(Op::add, {chosen, literal(Integer{random_->below(9)}, {Kind::int64})});
  }
  return operation(random_->one_of<Op>({Op::min, Op::max}), {chosen, time_literal(chosen->domain)});
}

std::vector<ExpressionPtr> RandomExpressions::comparable(std::size_t count, int depth, bool nulls) {
  std::vector<ExpressionPtr> operands;
  const int kind = static_cast<int>(random_->below(10));
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && nulls && random_->chance(12)) {
      operands.push_back(literal({}, {}));
    } else if (kind < 5) {
      operands.push_back(i == 0 || random_->chance(30) ? number(depth) : number_literal());
    } else if (kind < 8) {
      operands.push_back(text(depth));
    } else {
      operands.push_back(i == 0 || random_->chance(30)
                             ? time(depth)
                             : time_literal({random_->chance(50) ? Kind::date : Kind::timestamp}));
    }
  }
  return operands;
}

ExpressionPtr RandomExpressions::condition(int depth) {
  const auto truths = columns_of([](Kind kind) { return kind == Kind::boolean; });
  if (!truths.empty() && random_->chance(10)) return random_->one_of(truths);
  if (depth > 0 && random_->chance(40)) {
    if (random_->chance(20)) return operation(Op::logical_not, {condition(depth - 1)});
    return operation(random_->one_of<Op>({Op::logical_and, Op::logical_or}),
                     {condition(depth - 1), condition(depth - 1)});
  }
  const int below = std::max(0, depth - 1);
  switch (random_->below(8)) {
    case 0: return operation(Op::between, comparable(3, below, true), random_->chance(25));
    case 1:
    case 2:
      return operation(Op::in, comparable(2 + static_cast<std::size_t>(random_->below(4)), below, true),
                       random_->chance(25));
    case 3: return operation(Op::is_null, {random_->chance(50) ? number(below) : text(below)}, random_->chance(50));
    default:
      return operation(
          random_->one_of<Op>({Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal}),
          comparable(2, below, random_->chance(10)));
  }
}

ExpressionPtr RandomExpressions::key() {
  if (random_->chance(30)) return random_->chance(70) ? number(2) : random_->chance(50) ? time(1) : text(1);
  return random_->one_of(columns_of([](Kind) { return true; }));
}

}  // namespace skyrank::differential

#include <algorithm>
#include <string>
#include <utility>

#include "tests/differential/oracle/spellings.hpp"
#include "tests/differential/random_expressions.hpp"

namespace skyrank::differential {
namespace {

using Form = Preference::Kind;

Preference of_one_or_more(std::vector<Preference> terms) {
  if (terms.size() == 1) return std::move(terms.front());
  return {.kind = Form::pareto, .children = std::move(terms)};
}

std::size_t count_terms(const Preference& preference) {
  return preference.kind == Form::pareto ? preference.children.size() : 1;
}

bool is_of_floats(const Preference& preference) {
  if (preference.expression && preference.expression->domain.kind == Kind::float64) return true;
  return std::ranges::any_of(preference.children, is_of_floats);
}

/// "2 * `a` >= 3 * `b`": the positive multiples, and the negative ones.
std::string text_of(const Constraint& constraint, const std::vector<Preference>& terms) {
  std::string sides[2];
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Integer multiple = constraint.multiples[t];
    if (multiple == 0) continue;
    std::string& side = sides[multiple > 0 ? 0 : 1];
    const ExpressionPtr& value = terms[t].stepped ? terms[t].stepped : terms[t].expression;
    side += (side.empty() ? "" : " + ") + spelled(multiple > 0 ? multiple : -multiple) + " * " + value->text;
  }
  for (std::string& side : sides) side = side.empty() ? "0" : side;
  return sides[0] + (constraint.is_equation ? " = " : " >= ") + sides[1];
}

}  // namespace

void RandomPreferences::add_to(Query& query) {
  const std::int64_t kind = random_.below(100);
  if (kind < 45) {
    query.prefer = preference(3);
  } else if (kind < 60) {
    query.prefer = flat();
    flat_ = true;
  } else if (kind < 85) {
    add_numbers(query);
  } else {
    add_weights(query);
  }
  if (random_.chance(15)) add_condition(query);
  query.distinct = random_.chance(20);
  add_levels(query);
}

void RandomPreferences::add_levels(Query& query) {
  if (random_.chance(20)) {
    query.levels = 1 + random_.below(4);
  } else if (random_.chance(20)) {
    query.at_least = random_.below(20);
  } else if (flat_ && random_.chance(40)) {
    query.skyband = random_.chance(30) ? Query::kAll : 1 + random_.below(6);
  }
}

Preference RandomPreferences::preference(int depth) {
  if (depth == 0 || random_.chance(25)) return term();
  if (random_.chance(10)) return {.kind = Form::inverse, .children = {preference(depth - 1)}};
  Preference all{.kind = random_.chance(60) ? Form::pareto : Form::prior};
  for (std::int64_t i = 1 + random_.below(3); i > 0; --i) all.children.push_back(preference(depth - 1));
  return all;
}

Preference RandomPreferences::flat() {
  std::vector<Preference> terms;
  for (std::int64_t i = 1 + random_.below(4); i > 0; --i) terms.push_back(term());
  return of_one_or_more(std::move(terms));
}

Preference RandomPreferences::term() {
  if (random_.chance(12)) return {.kind = Form::where, .expression = expressions_.condition(2)};
  const auto texts = expressions_.columns_of([](Kind kind) { return kind == Kind::string; });
  if (!texts.empty() && random_.chance(12)) {
    return {.kind = Form::in,
            .expression = random_.one_of(texts),
            .sets = {{std::string("b"), std::string("")}, {std::string("a")}}};
  }
  const ExpressionPtr value = expressions_.key();
  if (is_number(value->domain.kind) && random_.chance(35)) return measured(value);
  Preference plain{.kind = random_.chance(50) ? Form::low : Form::high, .expression = value};
  return random_.chance(20) ? in_boxes(std::move(plain)) : plain;
}

Preference RandomPreferences::measured(const ExpressionPtr& value) {
  const auto target = [&](std::int64_t least) -> Cell {
    const std::int64_t whole = least + random_.below(5);
    if (random_.chance(30)) return static_cast<double>(whole) + 0.5;
    return Integer{whole};
  };
  switch (random_.below(3)) {
    case 0: return {.kind = Form::around, .expression = value, .from = target(-1)};
    case 1: return {.kind = Form::between, .expression = value, .from = target(-3), .to = target(4)};
    default:
      return {
          .kind = Form::in, .expression = value, .sets = {{Integer{1}, Integer{2}}, {Integer{0}, 2.5}, {Integer{-1}}}};
  }
}

/// Texts and truths have no boxes.
Preference RandomPreferences::in_boxes(Preference term) {
  const Domain domain = term.expression->domain;
  const auto text = [&](std::vector<std::string> texts) -> Cell { return random_.one_of(texts); };
  if (domain.kind == Kind::date) {
    return stepped(std::move(term), random_.chance(50) ? text({"7d", "1w", "30d"}) : Integer{1 + random_.below(9)});
  }
  if (domain.kind == Kind::timestamp) return stepped(std::move(term), text({"2s", "90s", "5min", "1h", "3d"}));
  if (!is_number(domain.kind)) return term;
  if (random_.chance(30)) return stepped(std::move(term), text({"1%", "10%", "50%", "100%", "900%"}));
  if (random_.chance(50)) return stepped(std::move(term), random_.one_of<Integer>({1, 2, 3, 7, 1000}));
  const double step = domain.kind == Kind::float64 ? random_.one_of<double>({0.1, 0.25, 0.5, 2.5, 40.75})
                                                   : random_.one_of<double>({1.25, 1.5, 2.25, 40.75});
  return stepped(std::move(term), step);
}

Preference RandomPreferences::number_term(bool small) {
  const auto columns = expressions_.columns_of(is_number);
  const bool has_columns = !columns.empty() && random_.chance(small ? 100 : 80);
  Preference term{.kind = random_.chance(50) ? Form::low : Form::high,
                  .expression = has_columns ? random_.one_of(columns) : expressions_.number(1)};
  if (random_.chance(20)) term = in_boxes(std::move(term));
  if (random_.chance(15)) return {.kind = Form::inverse, .children = {std::move(term)}};
  return term;
}

void RandomPreferences::add_numbers(Query& query) {
  std::vector<Preference> terms;
  const bool small = random_.chance(60);
  for (std::int64_t i = 1 + random_.below(4); i > 0; --i) terms.push_back(number_term(small));
  query.prefer = of_one_or_more(std::move(terms));
  flat_ = numbers_ = true;
}

/// Falls back to terms where there are no two columns of numbers, or no weights fulfil what was drawn.
void RandomPreferences::add_weights(Query& query) {
  std::vector<ExpressionPtr> columns = expressions_.columns_of(is_number);
  if (columns.size() < 2) return add_numbers(query);
  std::vector<Preference> terms;
  for (std::int64_t i = 2 + random_.below(2); i > 0 && !columns.empty(); --i) {
    const auto place = columns.begin() + random_.below(static_cast<std::int64_t>(columns.size()));
    Preference term{.kind = random_.chance(50) ? Form::low : Form::high, .expression = *place};
    columns.erase(place);
    terms.push_back(random_.chance(15) ? in_boxes(std::move(term)) : std::move(term));
  }
  std::vector<Constraint> constraints;
  Spelling spelling;
  for (std::int64_t i = 1 + random_.below(3); i > 0; --i) {
    Constraint constraint{.is_equation = random_.chance(10)};
    for (std::size_t t = 0; t < terms.size(); ++t) constraint.multiples.push_back(random_.below(6) - 2);
    spelling.weights.push_back(text_of(constraint, terms));
    constraints.push_back(std::move(constraint));
  }
  Preference sums = sums_at_corners(terms, constraints);
  if (sums.children.empty()) return add_numbers(query);
  spelling.preference = of_one_or_more(std::move(terms));
  query.spelling = std::move(spelling);
  query.prefer = of_one_or_more(std::move(sums.children));
  flat_ = sums_ = true;
}

void RandomPreferences::add_condition(Query& query) {
  if (!query.spelling) query.spelling = {.preference = *query.prefer};
  const ExpressionPtr condition = expressions_.condition(2);
  query.spelling->feasible = condition->text;
  std::vector<ExpressionPtr> violations;
  for (std::int64_t i = random_.below(3); i > 0; --i) {
    violations.push_back(expressions_.number(1));
    query.spelling->violations.push_back(violations.back()->text);
  }
  const bool one_term = query.prefer->children.empty();
  query.prefer = behind_condition(condition, violations, *std::move(query.prefer));
  pickable_ = flat_;
  flat_ = flat_ && one_term;
  behind_ = true;
}

/// Distances and volumes are of numbers, and not of floats where NaN is best.
void RandomPreferences::add_pick(Query& query) {
  if (!flat_ && !pickable_) return;
  Pick pick{.count = 1 + random_.below(9), .by = Pick::By::coverage};
  const Preference& weighed = behind_ ? query.prefer->children.back() : *query.prefer;
  const bool by_numbers = (numbers_ || sums_) && !(query.nan == "best" && is_of_floats(weighed));
  if (by_numbers && random_.chance(70)) pick.by = Pick::By::distance;
  if (by_numbers && numbers_ && random_.chance(50)) {
    pick.by = Pick::By::hypervolume;
    for (std::size_t t = count_terms(weighed); t > 0; --t) {
      pick.reference.push_back(static_cast<double>(random_.below(40) - 12) / 2);
    }
  }
  query.pick = std::move(pick);
}

Measure RandomPreferences::measure(const Query& query) {
  using Kind = Measure::Kind;
  std::vector<Kind> kinds = {Kind::level};
  if (flat_) kinds.insert(kinds.end(), {Kind::dominated_by, Kind::dominates});
  const bool values = flat_ && !behind_;
  if (values && (numbers_ || sums_)) kinds.insert(kinds.end(), {Kind::crowding, Kind::crowding, Kind::compromise});
  if (values && numbers_) kinds.insert(kinds.end(), {Kind::contribution, Kind::contribution, Kind::compromise});
  Measure measure{.kind = random_.one_of(kinds)};
  const std::size_t terms = count_terms(*query.prefer);
  if (measure.kind == Kind::contribution) {
    for (std::size_t t = 0; t < terms; ++t) measure.numbers.push_back(static_cast<double>(random_.below(40) - 12) / 2);
  }
  if (measure.kind == Kind::compromise && numbers_ && random_.chance(60)) {
    measure.numbers = {random_.one_of<double>({0.25, 1, 2})};
    while (measure.numbers.size() < terms) measure.numbers.push_back(random_.one_of<double>({0, 0.5, 1, 4}));
  }
  return measure;
}

void RandomPreferences::finish(Query& query) {
  if (random_.chance(25)) add_pick(query);
  if (!flat_ && !random_.chance(10)) return;
  for (std::int64_t i = random_.below(3); i > 0; --i) {
    const auto place = random_.below(static_cast<std::int64_t>(query.rank_by.size()) + 1);
    query.rank_by.insert(query.rank_by.begin() + place,
                         {.expression = {}, .high = random_.chance(50), .measure = measure(query)});
  }
}

}  // namespace skyrank::differential

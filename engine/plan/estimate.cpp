#include "engine/plan/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skyrank::exec {
namespace {

constexpr double kEqual = 0.1;
constexpr double kRange = 1.0 / 3;
constexpr double kBetween = 0.25;
constexpr double kMaxOfIn = 0.5;
constexpr double kNull = 0.1;
constexpr double kUnknown = 0.5;

double negate_if(bool negated, double selectivity) { return negated ? 1 - selectivity : selectivity; }

double guess_literal(const Value& value) {
  const auto* truth = std::get_if<bool>(&value);
  return truth != nullptr && *truth ? 1 : 0;
}

/// Number of values of a type, NULL among them.
double values_of(DataType type) {
  if (type.type == Type::boolean) return 3;
  const int bytes = is_integer(type.type) ? width_in_bytes(type.type) : 8;
  return bytes > 2 ? std::numeric_limits<double>::infinity() : std::exp2(8 * bytes) + 1;
}

double guess_members(const Operation& in) {
  if (in.members == nullptr) return static_cast<double>(in.operands.size() - 1);
  return static_cast<double>(in.members->constants.size());
}

double guess(const Ir& ir, const Operation& condition, const KnownShare& known) {
  using query::Op;
  if (const auto share = known(condition)) return *share;
  const auto operand = [&](std::size_t i) { return guess(ir, ir.operand(condition, i), known); };
  switch (condition.op) {
    case Op::literal: return guess_literal(condition.constant->value);
    case Op::equal: return kEqual;
    case Op::not_equal: return 1 - kEqual;
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return kRange;
    case Op::between: return negate_if(condition.negated, kBetween);
    case Op::in: return negate_if(condition.negated, std::min(kMaxOfIn, kEqual * guess_members(condition)));
    case Op::is_null: return negate_if(condition.negated, kNull);
    case Op::logical_not: return 1 - operand(0);
    case Op::logical_and:
    case Op::logical_or: {
      const bool both = condition.op == Op::logical_and;
      double share = 1;  // of rows on which every operand is true (and), or none is (or)
      for (std::size_t i = 0; i < condition.operands.size(); ++i) share *= both ? operand(i) : 1 - operand(i);
      return both ? share : 1 - share;
    }
    default: return kUnknown;
  }
}

}  // namespace

double guess_selectivity(const Ir& condition) { return guess_selectivity(condition, condition.root()); }

double guess_selectivity(const Ir& ir, const Operation& condition) {
  return guess(ir, condition, [](const Operation&) { return std::nullopt; });
}

double guess_selectivity(const Ir& ir, const Operation& condition, const KnownShare& known) {
  return guess(ir, condition, known);
}

double guess_groups(double n, const std::vector<DataType>& types) {
  double groups = 1;
  for (const DataType type : types) groups *= type.type == Type::boolean ? 2 : std::sqrt(n);
  return std::min(n, groups);
}

planner::Cardinality bounded_guess_of_groups(const planner::Cardinality& rows, const std::vector<DataType>& types) {
  double values = 1;
  for (const DataType type : types) values *= values_of(type);
  const planner::Cardinality guess{std::min(rows.low, 1.0), guess_groups(rows.expected, types), rows.high};
  return min(guess, values);
}

namespace {

/// The rates at which rows come to groups.
struct GroupRates {
  double second = 0;  ///< twice the groups of two rows over those of one
  double part = 0;    ///< q, below; 0 where groups are of equal size
};

// The groups that m rows have once change with m as m (1 + s m)^-(1 + r), with r the shape and s the scale of the
// rates. So twice those of two rows over those of one is q (1 + r) with q = s m / (1 + s m), and three times those of
// three over those of two is q (2 + r). The groups to come are the sum of those seen once, each divided by m.
double groups_among(double n, const SampledGroups& sample, const GroupRates& rates) {
  constexpr double kMaxPart = 1 - 1e-6;  // of q: 1 is a power law without end
  constexpr double kMinShape = -0.98;    // at -1 every row is a group
  constexpr double kEqualSizes = 50;     // a shape beyond this one is as good as none
  const double growth = n / std::max(sample.rows, 1.0);
  if (growth <= 1) return std::min(n, sample.distinct);
  const double second = rates.second;
  const double part = std::clamp(rates.part, 0.0, kMaxPart);
  if (second >= kEqualSizes * part) {
    return std::min(n, sample.distinct - sample.once / second * std::expm1(-second * (growth - 1)));
  }
  const double shape = std::max(second / part - 1, kMinShape);
  const double scale = part / (1 - part);
  const double larger = std::log1p(scale * growth) - std::log1p(scale);
  const double summed = std::abs(shape) < 1e-6 ? larger : -std::expm1(-shape * larger) / shape;
  return std::min(n, sample.distinct + sample.once * (1 + scale) / scale * summed);
}

/// Three times the groups of three rows over those of two. The prior is one more group of two rows, which speaks for
/// equal sizes.
double third_rate(const SampledGroups& sample, double second) {
  return (3 * sample.thrice + second) / (sample.twice + 1);
}

/// Returns the number of groups where next to no row of the sample comes to a group that was seen before. Many numbers
/// are likely then, up to that of the rows, and the sample's bias-corrected estimate is the least of them. This is
/// their geometric mean, which errs by the least factor, by the posterior over G groups of equal size: the likelihood
/// of `repeats` repeated rows is exp(-pairs / G) / G^repeats. The prior of G is uniform in its logarithm, but for
/// columns whose values all differ.
double groups_of_few_repeats(double n, const SampledGroups& sample, double repeats) {
  constexpr double kAllDiffer = 0.15;  // prior probability that they do
  constexpr int kSteps = 48;
  const double least = sample.distinct + 1;
  if (n <= least) return n;
  const double pairs = sample.rows * sample.rows / 2;
  const double growth = std::log(n / least);
  double likelihood = 0;
  double logarithms = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double logarithm = growth * (i + 0.5) / kSteps;
    const double g = least * std::exp(logarithm);
    // Scaled by what it is for n groups, as all of them may be too small for a number.
    const double weight = (1 - kAllDiffer) / kSteps * std::exp(pairs * (1 / n - 1 / g)) * std::pow(n / g, repeats);
    likelihood += weight;
    logarithms += weight * logarithm;
  }
  const double all_differ = repeats > 0 ? 0 : kAllDiffer * std::exp(std::min(pairs / n, 500.0));
  return least * std::exp((logarithms + all_differ * growth) / (likelihood + all_differ));
}

}  // namespace

double estimate_groups(double n, const SampledGroups& sample) {
  constexpr double kFewRepeats = 2;
  if (sample.once < 1) return std::min(n, sample.distinct);
  const double repeats = sample.rows - sample.distinct;
  if (repeats <= kFewRepeats && sample.distinct > 1 && n > sample.rows) {
    return groups_of_few_repeats(n, sample, repeats);
  }
  const double second = 2 * (sample.twice + 1) / sample.once;
  return groups_among(n, sample, {second, third_rate(sample, second) - second});
}

// Groups of one size are the fewest that such a sample may come from (Chao, as above). The most are those of the power
// law that counts a little off would tell.
planner::Cardinality bounded_groups(const planner::Cardinality& rows, const SampledGroups& sample) {
  constexpr double kDeviations = 2.3;  // the estimator errs, too
  const double expected = estimate_groups(rows.expected, sample);
  SampledGroups seen = sample;
  seen.once = std::max(sample.once, 1.0);  // one more may always be there
  const double second = 2 * (seen.twice + 1) / seen.once;
  const double times = 1 + kDeviations * std::sqrt(1 / seen.once + 1 / (seen.twice + 1));
  seen.thrice += kDeviations * std::sqrt(seen.thrice + 1);
  const double low = groups_among(rows.low, sample, {second * times, 0});
  const double high = groups_among(rows.high, seen, {second / times, third_rate(seen, second) - second / times});
  const auto unseen = [&](double groups, double deviations) {  // these, too, are a count
    const double more = std::max(groups - sample.distinct, 0.0);
    return sample.distinct + std::max(more + deviations * std::sqrt(more + 1), 0.0);
  };
  return min(planner::Cardinality::around(unseen(low, -kDeviations), expected, unseen(high, kDeviations)), rows);
}

}  // namespace skyrank::exec

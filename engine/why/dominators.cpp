#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/keys/key_columns.hpp"
#include "engine/keys/keys.hpp"
#include "engine/operators/term_numbers.hpp"
#include "engine/stop.hpp"
#include "engine/why/why.hpp"

// The rows that dominate a row, found by comparing it with each: one pass over the keys.
namespace skyrank::exec {
namespace {

using query::BoundPreference;
using Kind = Preference::Kind;

constexpr std::size_t kMaxDominators = 10;

/// How one row stands to another in a preference.
enum class Relation { equal, better, worse, incomparable };

Relation relation_of(std::uint64_t a, std::uint64_t b) {
  if (a == b) return Relation::equal;
  return a < b ? Relation::better : Relation::worse;
}

/// Compares rows by a preference. `keys` are those of its terms, in order.
class RowOrder {
 public:
  RowOrder(const BoundPreference& preference, const std::vector<Keys>& keys) : preference_(preference), keys_(keys) {}

  Relation compare(std::int64_t a, std::int64_t b) const {
    std::size_t next = 0;
    return compare(preference_, next, a, b);
  }

 private:
  /// `next` is the place of the preference's first term, and then of the first one behind it.
  Relation compare(const BoundPreference& preference, std::size_t& next, std::int64_t a, std::int64_t b) const {
    if (preference.children.empty()) {
      const Keys& keys = keys_[next++];
      return relation_of(key_at(keys, a), key_at(keys, b));
    }
    Relation all = Relation::equal;
    for (const BoundPreference& child : preference.children) {
      const Relation one = compare(child, next, a, b);
      if (all == Relation::equal) {
        all = one;
      } else if (preference.kind == Kind::pareto && one != Relation::equal && one != all) {
        all = Relation::incomparable;
      }
    }
    return all;
  }

  const BoundPreference& preference_;
  const std::vector<Keys>& keys_;
};

/// Gaps between rows in one term, as shares of its range. Where a term has no scale (`in`, `where`, strings, distances)
/// or one of the values is missing, every gap is 1.
class TermGaps {
 public:
  TermGaps(const BoundPreference& term, const Table& table, const Rows& rows) {
    if (term.kind != Kind::low && term.kind != Kind::high) return;
    const Type type = term.expression.root->type.type;
    if (type == Type::string || type == Type::boolean) return;
    values_.resize(static_cast<std::size_t>(rows.n));
    for_each_number(term.expression, table, rows, [&](std::int64_t row, std::optional<double> value) {
      if (value && std::isfinite(*value)) values_[static_cast<std::size_t>(row)] = value;
    });
    std::optional<double> lowest;
    std::optional<double> highest;
    for (const std::optional<double>& value : values_) {
      if (!value) continue;
      lowest = std::min(*value, lowest.value_or(*value));
      highest = std::max(*value, highest.value_or(*value));
    }
    if (lowest) range_ = *highest - *lowest;
  }

  double gap(std::int64_t a, std::int64_t b) const {
    if (values_.empty()) return 1;
    const std::optional<double> from = values_[static_cast<std::size_t>(a)];
    const std::optional<double> to = values_[static_cast<std::size_t>(b)];
    if (!from || !to || !(range_ > 0) || !std::isfinite(range_)) return 1;
    return std::abs(*from - *to) / range_;
  }

 private:
  std::vector<std::optional<double>> values_;
  double range_ = 0;
};

}  // namespace

void find_dominators(const RowQuestion& question, WhyNot& why) {
  if (!question.query.preference) return;
  const BoundPreference& preference = *question.query.preference;
  const std::vector<const BoundPreference*> terms = terms_of(preference);
  why.pareto = terms.size() == 1 || (preference.kind == Kind::pareto && preference.children.size() == terms.size());
  const Vector<RowId> beside = rows_beside(question);
  const Rows rows{std::ssize(beside), beside.data()};
  const std::int64_t own = std::ranges::lower_bound(beside, question.row) - beside.begin();
  std::vector<Keys> keys;
  for (const BoundPreference* term : terms) keys.push_back(make_keys(*term, question.table, rows));

  const RowOrder order(preference, keys);
  std::vector<std::int64_t> dominating;
  for (std::int64_t i = 0; i < rows.n; ++i) {
    check_at(i, current_stop());
    if (order.compare(i, own) == Relation::better) dominating.push_back(i);
  }
  why.num_dominators = std::ssize(dominating);
  if (dominating.empty()) return;

  std::vector<TermGaps> gaps;
  for (const BoundPreference* term : terms) gaps.emplace_back(*term, question.table, rows);
  const auto is_better = [&](std::size_t t, std::int64_t i) { return key_at(keys[t], i) < key_at(keys[t], own); };
  std::vector<std::pair<double, std::int64_t>> nearest;
  for (const std::int64_t i : dominating) {
    double gap = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) gap = is_better(t, i) ? std::max(gap, gaps[t].gap(i, own)) : gap;
    nearest.emplace_back(gap, i);
  }
  const std::size_t shown = std::min(kMaxDominators, nearest.size());
  std::ranges::partial_sort(nearest, nearest.begin() + static_cast<std::ptrdiff_t>(shown));
  nearest.resize(shown);
  for (const auto& [gap, i] : nearest) {
    WhyDominator& dominator = why.dominators.emplace_back();
    dominator.row = rows[i];
    dominator.gap = gap;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      if (is_better(t, i)) dominator.better_in.push_back(terms[t]->expression.text);
    }
  }
}

}  // namespace skyrank::exec

#include "engine/operators/pick/pick.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "engine/decimal.hpp"
#include "engine/expression/vec.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

using query::BoundPreference;

namespace {

constexpr double kInfiniteTerm = std::numeric_limits<double>::infinity();

double stored_as_float(Int128 stored, DataType type) {
  return is_decimal(type.type) ? to_double(Decimal{stored, type.scale}) : static_cast<double>(stored);
}

bool is_high(const BoundPreference& term) { return (term.kind == Preference::Kind::high) != term.inverted; }

}  // namespace

std::vector<double> reference_of(const query::BoundQuery& query) {
  const std::vector<const BoundPreference*> terms = query::picked_terms(*query.preference);
  std::vector<double> reference = query.pick->reference;
  for (std::size_t t = 0; t < terms.size(); ++t) reference[t] = is_high(*terms[t]) ? -reference[t] : reference[t];
  return reference;
}

TermValues term_values(const query::BoundQuery& query, const Table& table, const Rows& rows) {
  const std::vector<const BoundPreference*> terms = query::picked_terms(*query.preference);
  TermValues result{terms.size(), Vector<double>(static_cast<std::size_t>(rows.n) * terms.size())};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const BoundPreference& term = *terms[t];
    const bool high = is_high(term);
    const double of_null = query.null_rule == Missing::best ? -kInfiniteTerm : kInfiniteTerm;
    const auto store = [&](std::int64_t row, double value) {
      result.values[static_cast<std::size_t>(row) * terms.size() + t] =
          std::isnan(value) ? kInfiniteTerm : (high ? -value : value) + 0.0;
    };
    Evaluator evaluator(term.expression, table);
    for (std::int64_t begin = 0; begin < rows.n; begin += kBlockRows) {
      const Block block = evaluator.evaluate(rows, begin, std::min(kBlockRows, rows.n - begin));
      with_evaluation_type(block.type.type, [&]<class T>(T) {
        for (std::int64_t i = 0; i < block.size; ++i) {
          if (block.valid != nullptr && block.valid[i] == 0) {
            result.values[static_cast<std::size_t>(begin + i) * terms.size() + t] = of_null;
          } else if constexpr (std::is_same_v<T, double>) {
            store(begin + i, block.as<double>()[i]);
          } else if constexpr (!std::is_same_v<T, std::string_view>) {
            store(begin + i, stored_as_float(static_cast<Int128>(block.as<T>()[i]), block.type));
          }
        }
      });
    }
  }
  return result;
}

void scale_to_range(TermValues& values) {
  const std::size_t terms = values.terms;
  for (std::size_t t = 0; t < terms; ++t) {
    double best = kInfiniteTerm;
    double worst = -kInfiniteTerm;
    for (std::size_t at = t; at < values.values.size(); at += terms) {
      const double value = values.values[at];
      if (!std::isfinite(value)) continue;
      best = std::min(best, value);
      worst = std::max(worst, value);
    }
    // Halves, as the difference of two floats may be infinite.
    const double range = worst / 2 - best / 2;
    for (std::size_t at = t; at < values.values.size(); at += terms) {
      double& value = values.values[at];
      if (!std::isfinite(value)) {
        value = value < 0 ? 0 : 1;
      } else {
        value = range > 0 ? (value / 2 - best / 2) / range : 0;
      }
    }
  }
}

std::size_t best_in_first_term(const TermValues& values) {
  std::size_t best = 0;
  for (std::size_t row = 0; row * values.terms < values.values.size(); ++row) {
    if (values.values[row * values.terms] < values.values[best * values.terms]) best = row;
  }
  return best;
}

}  // namespace skyrank::exec

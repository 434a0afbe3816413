#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/types.hpp>

// The reason why a row is not in the answer of a query (Engine::why).
namespace skyrank {
inline namespace v0 {

/// The first stage of a query that a row does not pass.
enum class WhyStage {
  in_answer,  ///< it passes all of them
  where,      ///< the condition is false or NULL
  missing,    ///< `nan: exclude` or `nulls: exclude` drops it
  dominated,  ///< other rows come before it in the preference
  duplicate,  ///< `distinct` keeps an earlier row that is equal in the preference
  pick,       ///< `pick` chooses other rows
  offset,     ///< `offset` leaves it out
  limit,      ///< `limit` cuts it off
};

/// Returns the name of a stage, such as "where"; "answer" for a row that is in the answer.
SKYRANK_EXPORT std::string to_string(WhyStage stage);

/// A row that dominates the one in question.
struct WhyDominator {
  RowId row = 0;  ///< its 0-based position in the input
  /// The greatest gap between the two in one term, as a share of the term's range over the rows that are compared: the
  /// additive epsilon indicator of Zitzler et al. (IEEE TEVC 7(2), 2003) of two single points with scaled objectives.
  double gap = 0;
  std::vector<std::string> better_in;  ///< expressions of the terms in which it is better

  bool operator==(const WhyDominator&) const = default;
};

/// The least change of one term, or of one condition, with which the row is in the answer.
struct WhyChange {
  std::string term;  ///< the column, the expression or the condition that changes; the rest of the row stays
  /// The condition to meet, such as "price < 118.5"; empty: no value lets the row in, or `unknown` says why.
  std::string change;
  std::string unknown;  ///< why the least change is not determined; empty: it is

  bool operator==(const WhyChange&) const = default;
};

/// The reason why a row is not in an answer, and what would let it in.
struct WhyNot {
  RowId row = 0;                               ///< 0-based position in the input
  WhyStage stage = WhyStage::in_answer;        ///< the first stage that it does not pass
  std::vector<std::string> reasons;            ///< stages where and missing: "price <= 160 is false", "rating is NULL"
  std::optional<std::int64_t> place;           ///< its place from 1 in the order of its partition, if it has one
  std::optional<RowId> last_row;               ///< offset, limit: the last row of its partition that is in the answer
  std::vector<std::string> against_last;       ///< limit: ranking terms with both values, "rating: 8.1, the last has 9"
  std::optional<RowId> equal_row;              ///< duplicate: the row that is kept in its place
  bool pareto = true;                          ///< true if the preference has one Pareto composition, or one term
  std::optional<std::int64_t> num_dominators;  ///< rows that dominate it; none if no preference is asked about it
  std::vector<WhyDominator> dominators;        ///< the ten of these with the least gaps, then the lowest row ids
  std::vector<WhyChange> changes;              ///< one for each term and failed condition; empty for rows in the answer

  bool operator==(const WhyNot&) const = default;
};

/// Returns the reason in sentences for a person, over several lines.
SKYRANK_EXPORT std::string to_string(const WhyNot& why);

}  // namespace v0
}  // namespace skyrank

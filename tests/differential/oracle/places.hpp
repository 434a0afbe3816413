#pragma once

#include <vector>

#include "tests/differential/oracle/query.hpp"

// The orders that preferences put rows into.
namespace skyrank::differential {

/// The place of a value in the order of one term: absence first, then an exact and a floating part, then bytes.
struct Place {
  int absence = 0;  ///< 0: a value, 1: NaN, 2: NULL
  Integer exact = 0;
  double floating = 0;
  std::vector<int> bytes = {};  ///< bytes of a string, and a last one that is less than all

  bool operator<(const Place& other) const {
    if (absence != other.absence) return absence < other.absence;
    if (exact != other.exact) return exact < other.exact;
    return floating != other.floating ? floating < other.floating : bytes < other.bytes;
  }
};

/// The rules `best`, by which missing values come before all others; NULL before NaN.
struct First {
  bool nan;
  bool nulls;

  Place operator()(Place place) const {
    if (place.absence == 2 && nulls) place.absence = -2;
    if (place.absence == 1 && nan) place.absence = -1;
    return place;
  }
};

/// Returns the place of a value in a ranking.
Place place_in_ranking(const Cell& value, bool high);

/// A preference with the places of all rows, as small numbers, per term.
struct Placed {
  Preference::Kind kind;
  std::vector<int> ranks = {};  ///< by row; smaller is better
  std::vector<Placed> children = {};
};

Placed placed(const Preference& preference, const std::vector<Row>& rows, First first, bool inverted = false);

enum class Outcome { equal, better, worse, neither };

/// Compares two rows: `better` is for the first.
Outcome outcome(const Placed& preference, std::size_t a, std::size_t b);

}  // namespace skyrank::differential

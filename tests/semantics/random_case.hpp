#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "tests/semantics/reference.hpp"

namespace skyrank {

/// A table of all types with NULL, NaN, extremes and duplicates, a query over it, and what its expressions mean.
struct RandomCase {
  Table table;
  Query query;
  std::map<std::string, std::function<Value(const reference::Row&)>> formulas;  ///< expressions but columns, by text

  /// The meaning of the expressions, for the reference. The case must outlive it.
  reference::Evaluate evaluate() const;
};

/// The case of a seed. Tables have up to 300 rows; `large` ones, a quarter of the time, up to some thousands.
RandomCase random_case(std::uint64_t seed, bool large = false);

}  // namespace skyrank

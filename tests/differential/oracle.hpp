#pragma once

#include <cstdint>
#include <vector>

#include "tests/differential/query.hpp"

namespace skyrank::differential {

struct Answer {
  bool refused = false;  ///< `nan: error` or `nulls: error` met such a row
  std::vector<std::int64_t> rows = {};
  std::vector<std::int32_t> levels = {};  ///< empty without `prefer`
  std::vector<std::string> names = {};
  std::vector<std::vector<Cell>> columns = {};
};

/// The fields that a query's later clauses see: the table's, or the groups'.
std::vector<Field> fields_after_grouping(const Query& query, const Relation& table);

/// Answers a query straight from the definitions, pair of rows by pair of rows. Throws Undefined where the language
/// leaves the answer open or the query fails for some row.
Answer answer(const Query& query, const Relation& table);

}  // namespace skyrank::differential

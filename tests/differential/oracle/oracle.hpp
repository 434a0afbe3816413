#pragma once

#include <cstdint>
#include <vector>

#include "tests/differential/oracle/query.hpp"

namespace skyrank::differential {

/// A row that may stand in an answer, as the answer shows it.
struct Entry {
  std::int64_t row = 0;  ///< number in the input
  std::int32_t level = 0;
  int rank = 0;          ///< position by the ranking; equal for ties
  std::size_t part = 0;  ///< number of its partition
  std::vector<Cell> cells = {};
};

struct Answer {
  bool refused = false;  ///< `nan: error` or `nulls: error` met such a row
  std::vector<std::int64_t> rows = {};
  std::vector<std::int32_t> levels = {};  ///< empty without `prefer`
  std::vector<std::string> names = {};
  std::vector<std::vector<Cell>> columns = {};
  /// Only with `ties: any`, which leaves open which of the equal rows stands where: what stands at each place in one
  /// right answer, and all rows that may take a place of their rank and partition.
  std::vector<Entry> places = {};
  std::vector<Entry> candidates = {};
};

/// The fields that a query's later clauses see: the table's, or the groups'.
std::vector<Field> fields_after_grouping(const Query& query, const Relation& table);

/// Answers a query straight from the definitions, pair of rows by pair of rows. Throws Undefined where the language
/// leaves the answer open or the query fails for some row.
Answer answer(const Query& query, const Relation& table);

}  // namespace skyrank::differential

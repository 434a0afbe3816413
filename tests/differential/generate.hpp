#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "tests/differential/oracle/query.hpp"

namespace skyrank::differential {

/// Draws with helpers for choices.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t below(std::int64_t bound) { return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(engine_); }
  bool chance(int percent) { return below(100) < percent; }
  std::uint64_t bits() { return engine_(); }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<std::int64_t>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

/// A table for the oracle, and how its columns are stored.
struct Input {
  Relation relation;
  std::vector<DataType> types;
};

Input random_input(Random& random, std::int64_t max_rows);

/// Returns `rows` rows with the columns of another table, for queries that were drawn over that.
Input random_input_like(const Input& other, Random& random, std::int64_t rows);

/// Values that text gives back: of types that a CSV reader infers, with none that another type could be inferred from.
Input random_text_input(Random& random, std::int64_t max_rows);

/// The table as CSV, spelled as other programs do, quoted here and there; of `random_text_input` only.
std::string csv_of(const Relation& relation, Random& random);

/// Meaning of rows whose dictionary entry is NULL: they must be marked as NULL themselves in a table for queries, and
/// need not be in one that goes to a file.
enum class NullEntries { marked, unmarked };

/// The same values as an application would hand them over: in one of the layouts that the type has, off their
/// alignment, with garbage where NULLs are. Draws the layouts.
Table stored(const Input& input, Random& random, NullEntries null_entries = NullEntries::marked);

struct Names {
  std::vector<std::string> skyline_algorithms;
  std::vector<std::string> topk_algorithms;
  std::vector<std::string> rules;
  bool cuda = false;
};

/// A query over the table whose answer the language defines.
Query random_query(Random& random, const Input& input, const Names& names);

/// A batch over one table "t".
std::string yaml_of(const std::vector<Query>& queries, const Relation& table);

}  // namespace skyrank::differential

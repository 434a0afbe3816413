#pragma once

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/expression.hpp>
#include <skyrank/table.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/query/bound.hpp"
#include "tests/engine/column_values.hpp"

namespace skyrank::exec {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Column text_column(std::string name, const std::vector<std::string>& values) {
  return Column::own(std::move(name), values);
}

inline query::BoundExpression bound(std::string_view text, const Table& table) {
  return query::bind_expression(Expression(text), query::schema_of(table));
}

inline Rows all_rows(const Table& table) { return {table.num_rows(), nullptr}; }

/// Returns f(), run in an arena of so many threads.
template <class F>
auto with_threads(int threads, const F& f) {
  tbb::task_arena arena(threads);
  return arena.execute(f);
}

/// Deterministic pseudo-random numbers for data of tests (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In [0, bound).
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

}  // namespace skyrank::exec

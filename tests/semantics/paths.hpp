#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>

#include "tests/semantics/reference.hpp"

// Every case of the semantics runs on every path that can answer it.
namespace skyrank {

/// A way to run a query: the planner's choice or one registered algorithm, with some number of threads.
struct Path {
  std::string name;
  ForcedPath path;
  int threads = 1;
  bool pinned = false;                             ///< the table's columns are on the GPU before
  std::shared_ptr<const Result> result = nullptr;  ///< the answer, where looking for the path has given it
};

/// A query of the table that tests call "t".
inline Query from() { return Query::from("t"); }
inline Query skyline_of(Preference preference) { return from().prefer(std::move(preference)); }

/// Returns true if queries can be answered on a GPU too, real or emulated.
bool has_gpu();

/// The planner's choice, also without each of its rules and without any, and each registered algorithm that supports
/// the query, most with one thread and with several. Where there is a GPU that can answer the query also all of it
/// there, of a table that is pinned and of one that is not. At least one algorithm of each problem kind in the query
/// supports it. With sanitizers, rules that the planner's choice does not apply are left to builds without. Where the
/// GPU is emulated, which is slow, what is about the CPU is left to builds where it is not: its algorithms, and one
/// thread beside several.
std::vector<Path> paths(const Query& query, const Table& table);

/// Runs on one path.
Result run(const Query& query, const Table& table, const Path& path);

/// Expects these rows, in this order, on every path.
void expect_rows(const Query& query, const Table& table, const std::vector<RowId>& rows);

/// Expects these rows of these levels, in this order, on every path.
void expect_levels(const Query& query, const Table& table, const std::vector<std::pair<RowId, int>>& rows);

/// Expects what the reference says, on every path.
void expect_reference(const Query& query, const Table& table, const reference::Evaluate& evaluate);
void expect_reference(const Query& query, const Table& table);

/// Expects an error of type E whose message contains all the words, on every path.
template <class E>
void expect_error(const Query& query, const Table& table, const std::vector<std::string>& words) {
  for (const Path& path : paths(query, table)) {
    try {
      run(query, table, path);
      ADD_FAILURE() << "no error on " << path.name;
    } catch (const E& error) {
      for (const std::string& word : words) {
        EXPECT_NE(error.message().find(word), std::string::npos)
            << "no '" << word << "' in: " << error.message() << " (" << path.name << ")";
      }
    }
  }
}

}  // namespace skyrank

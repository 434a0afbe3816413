#pragma once

#include <algorithm>
#include <vector>

#include "engine/expression/ir.hpp"
#include "engine/plan/operators.hpp"
#include "engine/query/bound.hpp"

// Costs of the operators around the kernels are linear in rows. Their constants are in one table, since they mean
// something only beside each other: they are seconds of the same machine. Kernels have cost models of their own, in
// planner/.
namespace skyrank::exec {

struct OperatorCost {
  double seconds = 0;
  double bytes = 0;  ///< memory that the operator fills
};

/// Replaces the estimated cost of an operator.
inline void predict(Operator& op, const OperatorCost& cost) {
  op.estimate.ms = cost.seconds * 1e3;
  op.estimate.bytes = cost.bytes;
}

namespace unit_cost {

// Seconds for a row, from `skyrank explain --analyze` over 10^6 rows with 1 and 2 threads of an AMD EPYC.
inline constexpr double kNode = 0.5e-9;       // an operation of a condition or a score on numbers
inline constexpr double kText = 8e-9;         // one on strings
inline constexpr double kFunction = 8e-9;     // a logarithm or an exponential
inline constexpr double kListedLoad = 2e-9;   // a value of a row that does not lie next to the one before
inline constexpr double kFarLoad = 7e-9;      // more, where that lies beyond the cache, and no other one beside it
inline constexpr double kListRow = 2e-9;      // the id of a row that passed
inline constexpr double kBlockRow = 1e-9;     // the mark of a row that says if it passes, in a fused ranking
inline constexpr double kKey = 1e-9;          // a key out of a value
inline constexpr double kGatherValue = 8e-9;  // a value of the answer
inline constexpr double kGatherText = 40e-9;
inline constexpr double kMemoryByte = 0.08e-9;  // a byte of a column that is not in the caches, by one thread
inline constexpr double kStart = 2e-6;
inline constexpr double kMoreThread = 1e-6;  // another thread that takes part

// The same for groups, from 10^7 rows in 500 to 10^7 groups with one thread of an Intel Xeon.
inline constexpr double kByValue = 3e-9;           // a number of a group out of a value
inline constexpr double kHash = 12e-9;             // one by hashing, for each of the columns
inline constexpr double kHashText = 60e-9;         // the same of strings
inline constexpr double kGroup = 120e-9;           // a group that was not there before
inline constexpr double kAggregate = 5e-9;         // a value on its group
inline constexpr double kGroupAggregate = 100e-9;  // an aggregate of a group
inline constexpr double kListed = 10e-9;           // a row beside those of its partition
inline constexpr double kBeaten = 3e-9;            // a row that loses to the last of the best of its partition

// The same for columns of Parquet files, from 10^6 rows in row groups of 2,048 to 10^6 rows by pyarrow, DuckDB and
// Polars with one thread. Values take 3e-9 where nothing has to be decompressed, and 12e-9 behind Zstandard.
inline constexpr double kReadValue = 6e-9;
inline constexpr double kReadText = 12e-9;
inline constexpr double kReadChunk = 10e-6;      // a column of a row group
inline constexpr double kReadPage = 50e-6;       // a page that is read for some of its rows
inline constexpr double kReadAgain = 200e-6;     // a source that is read once more
inline constexpr double kUnitQuery = 150e-6;     // a query of one unit, and its part of the answer
inline constexpr double kUnitBest = 100e-9;      // a row that a ranking takes of a unit
inline constexpr double kUnitSkylineRow = 6e-9;  // a row of a skyline saves so much where its unit is answered alone

// Numbers of dominators, by the programs that count: a step of a sorted row, and a comparison of one key of two rows.
inline constexpr double kCountStep = 6e-9;
inline constexpr double kCountPair = 0.1e-9;
inline constexpr double kCountHalf = 14e-9;    // a row, each time that it is halved for a key, by another key
inline constexpr double kCountPlace = 5e-9;    // a row that finds its place among few others, by one key
inline constexpr double kCountSet = 0.5e-9;    // a row that meets a tile of these, by one key
inline constexpr double kCountJudged = 60e-9;  // a row that meets those of a sample

inline constexpr double kHomeValue = 30e-9;  // a value of a group that a GPU made, by one thread: a guess

// Seconds that one operation of an expression takes for a row on an H200, beside the time of the memory.
inline constexpr double kDeviceOperation = 0.7e-12;

}  // namespace unit_cost

/// The bytes that a GPU reads its memory by.
inline constexpr double kSectorBytes = 32;

/// Returns the seconds of one thread for the value of one row.
double evaluation_seconds(const Ir& ir);

/// Returns the seconds that threads take to read the columns of an expression over so many rows and to write so many
/// bytes: those that do not stay in the caches are in memory.
double memory_seconds(const Ir& ir, double rows, double written, int threads);

/// Returns the number of operations for the value of one row.
double count_operations(const Ir& ir);

/// Returns the seconds of work that threads share, and of its start. More threads take part where there is enough to
/// do.
inline double start_and(double work, int threads) {
  constexpr double kWorthAThread = 20e-6;
  const double used = std::clamp(work / kWorthAThread, 1.0, static_cast<double>(std::max(threads, 1)));
  return unit_cost::kStart + (used - 1) * unit_cost::kMoreThread + work / used;
}

/// The rows of which keys are made: all rows of the table, a list of ids `among` so many of them, or all in the order
/// of their partitions.
struct RowsOfKeys {
  double rows = 0;
  double among = 0;  ///< 0: they lie one after the other
  bool is_permuted = false;
};

/// Returns the cost of one key for each expression and row; `bytes` is the size of a row's keys.
OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes,
                       const RowsOfKeys& rows, int threads);

/// Returns the cost of keys on a GPU that has the columns, `column_bytes` a row. `rows` are a `share` of the table's.
OperatorCost device_keys_cost(const std::vector<const query::BoundExpression*>& expressions, double column_bytes,
                              double bytes, double rows, double share);

}  // namespace skyrank::exec

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/types.hpp>

#include "kernels/common/problem.hpp"

// A grid of cells to measure, each one problem on one number of threads.
namespace skyrank::bench {

enum class Op { skyline, topk };

/// Values of an algorithm's parameters by name.
using Parameters = std::map<std::string, std::int64_t, std::less<>>;

struct Cell {
  Op op = Op::skyline;
  std::string distribution;          ///< a name of datasets::distributions(), or the name of `file`
  std::filesystem::path file;        ///< the table to read columns from; empty: `distribution` is generated
  std::vector<std::string> columns;  ///< columns of `file`, one for each of `d`
  bool high = false;                 ///< the greatest value of each column is the best, not the least
  std::int64_t n = 0;
  int d = 1;                  ///< columns: of the skyline, or of the ranking
  std::int64_t k = 0;         ///< top-k only
  Type type = Type::float32;  ///< type of the values: float32, float64, uint8, uint16, uint32 or uint64
  kernels::TieRule ties{};    ///< top-k only
  double where = 1;           ///< share of rows that pass a filter fused into the ranking; top-k only
  /// The place of the keys when the clock starts: on a device only for the planner's runs, of its algorithms alone.
  kernels::Memory residency = kernels::Memory::host;
  int threads = 0;                      ///< 0: all cores
  std::uint64_t seed = 1;               ///< seed of the data
  std::vector<std::string> algorithms;  ///< registered names; empty: all
  Parameters parameters;                ///< values for each algorithm; others have their defaults
  int warmups = 1;                      ///< untimed runs of each algorithm
  int repeats = 5;                      ///< timed runs of each algorithm
  /// Each run of an algorithm with a parameter `seed` has another one, from 0 on; otherwise all have that of the cell.
  bool seed_each_run = false;
  /// Seconds for an algorithm: it is left out when its first run takes longer, and not repeated when its runs together
  /// do.
  double budget_s = 10;
  /// Seconds of runs together from which on an algorithm is not repeated, though within the budget. A first run that is
  /// as long counts as timed. 0: as the budget.
  double enough_s = 0;

  bool operator==(const Cell&) const = default;
};

struct Grid {
  std::string suite;  ///< the file's name without its extension
  std::vector<Cell> cells;
};

/// Reads a grid: `version: 1` and `cells`, a list of maps with the fields of a cell. A map stands for all combinations
/// of its values where these keys have lists; the first vary slowest:
///   distribution  names of datasets::distributions(); required, unless there is a file
///   n             rows, 1 or more; required. The rows of a file that has fewer are repeated
///   d             1 to 64; required for skylines
///   type, seed
///   k             required for top-k: 1 to n, or a share of n such as n/100
///   ties          first, last, all, any
///   where         above 0, at most 1; less than 1 only for the planner's runs, of one column of 4 or 8 bytes, or of
///                 floats that are resident
///   residency     sent, resident: whether keys go to a GPU with each run, or lie there, which only the planner's runs
///                 know
///   threads       0 to 1024
///   order         low by default, or high
///   parameters    a map of names to values or lists of values, for algorithms that have all of these parameters
/// In place of `distribution`, `d`, `type` and `seed` there may be `file`, relative to the grid's folder, `columns`, a
/// name or a list of names. The others are `op` (skyline, top-k; required), `algorithms` (a name or a list), `warmups`,
/// `repeats`, `seeds` (one by default, or each_run), `budget_s`, `enough_s`. QueryError with file, line and column, and
/// the nearest name, for everything else.
Grid parse_grid(std::string_view yaml, const std::string& source);

/// The same for a file. QueryError when it does not exist, ResourceError when it cannot be read.
Grid read_grid(const std::filesystem::path& file);

/// "skyline", "top-k".
std::string_view to_string(Op op);

/// "elements=16 merged_operators=1", in the order of the names.
std::string to_string(const Parameters& parameters);

/// "first", "last", "all", "any".
std::string_view to_string(kernels::TieRule ties);

}  // namespace skyrank::bench

#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/plan.hpp>
#include <skyrank/query.hpp>
#include <skyrank/registry.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>
#include <skyrank/why.hpp>

// Declares the engine, which answers queries over tables and sources, explains them, and makes and merges partial
// answers.
namespace skyrank {
inline namespace v0 {

/// Options of an engine, which hold for all its queries.
struct EngineOptions {
  int threads = 0;                                ///< 0: all cores the process may use
  DeviceChoice device = DeviceChoice::automatic;  ///< the device for queries that do not force one
  /// The profile that `skyrank calibrate` wrote on this machine. None: the user's own if it fits the machine, otherwise
  /// the built-in prices, with a warning if the user's own does not fit. An empty path: the built-in prices.
  std::optional<std::filesystem::path> profile = {};
  /// Rules of the planner, by the names of rules(), that are off for all queries.
  std::vector<std::string> without = {};
  /// Bytes of keys to keep for later queries over the same rows of the same table, for applications (and batches) with
  /// several queries over a table; the least recently used go first. 0: none are kept.
  std::size_t shared_key_bytes = 0;
  /// Keeps columns that a query copies to a GPU there for later queries over the same table, until the table is gone.
  /// For the same applications; without it only pinned tables (Engine::pin) stay on a GPU.
  bool share_columns = false;
  /// Limit, in bytes, on the memory that all queries of the engine take together at any time, beside tables in memory:
  /// columns of sources, keys, candidates, lists of rows, answers while they are made, and data kept for later queries.
  /// A query that needs more ends with a ResourceError that says how much, without effect on others. 0: four fifths of
  /// what the process may use (the machine's memory, or what its control groups or `ulimit -v` leave of it). Memory of
  /// a GPU is not counted, and neither are some hundred kilobytes a thread that do not grow with the rows.
  std::size_t memory_bytes = 0;
  /// GPUs that queries may use, by their numbers in the CUDA runtime; none: GPU 0. Queries over a large table run on
  /// all of them at the same time if that is expected to be faster than on one.
  std::vector<int> devices = {};
  /// Limit, in bytes, on the memory of each GPU that the process uses, with pinned tables and data kept for later
  /// queries. A table that does not fit is answered in parts: one is copied while another is computed. 0: the GPU's
  /// memory.
  std::size_t gpu_memory_bytes = 0;
};

/// Options of one run.
struct RunOptions {
  bool count_work = false;    ///< fill Result::work and the plan's counters
  std::stop_token stop = {};  ///< CancelledError soon after a stop is requested, also while the query waits for threads
  /// Time limit, >= 1 ms, counted from the call, with the wait for the engine's threads; a TimeoutError follows soon
  /// after. A query's own limit (Query::timeout) holds, too: the shorter one ends the query. None: no limit.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Number of queries over the same table that will follow. The planner spreads the start of a GPU, and the transfer
  /// of shared columns, over them and this one.
  int later_queries = 0;
  /// Fills PlanNode::decisions, also in a run: every candidate of each choice, with its price as expected and at high.
  bool candidates = false;
  /// Time from which the limits of time count, for a query that began before the call. None: the call.
  std::optional<std::chrono::steady_clock::time_point> began = {};
};

/// Milliseconds by stage. Transfer stays 0 on the CPU.
struct Timing {
  double bind_ms = 0;      ///< names, types and the plan
  double filter_ms = 0;    ///< `where`, `group_by` and `partition_by`
  double keys_ms = 0;      ///< keys of preferences and rankings
  double transfer_ms = 0;  ///< to and from a GPU
  double compute_ms = 0;   ///< skylines and rankings
  double gather_ms = 0;    ///< the columns of the answer
  double total_ms = 0;     ///< the whole run, after a source is read
  double read_ms = 0;      ///< reading a source before its rows are selected; 0 for a table in memory
};

/// An answer, and how it was found.
struct Result {
  Table table;              ///< the selected columns, in the answer's order
  std::vector<RowId> rows;  ///< per answer row: its 0-based position in the input (a group's first row under group_by)
  /// Per answer row: its Pareto level from 1. Empty without `prefer`, and where `skyband: all` keeps all rows unless
  /// the query asks for levels, by `level()` or another function of a row's level.
  std::vector<std::int32_t> levels;
  Timing timing;            ///< milliseconds of each stage
  Work work;                ///< zeros unless RunOptions::count_work was set
  Transferred transferred;  ///< zeros where no GPU was used
  PlanNode plan;            ///< the plan as it ran
};

/// The time at which the columns of a pinned table are copied to the GPU.
enum class PinTime {
  now,     ///< all of them at once
  on_use,  ///< each when a query first needs it
};

class StandingQuery;  // skyrank/standing.hpp

/// Answers queries over tables. Immutable after construction and safe to use from many threads at once.
class SKYRANK_EXPORT Engine {
 public:
  /// DeviceError when `options.device` is cuda and there is none, with the driver's message. ResourceError where
  /// `options.profile` is of another machine or cannot be read. BindError for an unknown rule.
  explicit Engine(EngineOptions options = {});
  /// Ends the engine; no call of it may be under way.
  ~Engine();
  /// Moves the engine; no call of either may be under way.
  Engine(Engine&&) noexcept;
  /// Moves the engine; no call of either may be under way.
  Engine& operator=(Engine&&) noexcept;

  /// Returns problems that the constructor found and the engine works around, such as a damaged profile of the user:
  /// one text each, which names the file. For what is odd about a query see warnings_of() in warnings.hpp.
  const std::vector<std::string>& warnings() const;

  /// Returns the limit, in bytes, on the memory of all queries: EngineOptions::memory_bytes, or its default.
  std::size_t memory_limit() const;

  /// Runs a query over a table, whatever its name in the query. Throws QueryError, BindError, DataError, DeviceError,
  /// ResourceError, CancelledError, TimeoutError. More callers than the engine has threads wait in the order of their
  /// calls.
  Result run(const Query& query, const Table& table, const RunOptions& options = {}) const;

  /// Runs a query over a source. It reads no more than the answer needs: columns that only the answer shows are read
  /// for its rows, and units whose statistics exclude every row are skipped. The answer is that over the whole table.
  /// Throws what the other `run` throws, and what the source throws. A time limit does not count reading.
  Result run(const Query& query, const Source& source, const RunOptions& options = {}) const;

  /// Answers a query over a part of a table as far as that can be done without the other parts: rows [first_row,
  /// first_row + part.num_rows()) of the whole table. For every split of a table, merge() of all its partial answers
  /// equals run() over the whole; with `ties: any` the values of the ranking are equal.
  /// Throws what `run` throws, where a message names a row of the whole table, and DataError where `first_row` is
  /// negative or the last row does not fit into 64 bits.
  Partial partial(const Query& query, const Table& part, RowId first_row, const RunOptions& options = {}) const;

  /// The same for a part that is a source, such as some units of a larger one (unit_range()), of which it reads no more
  /// than the answer needs. Throws what the source throws, too. A time limit does not count reading.
  Partial partial(const Query& query, const Source& part, RowId first_row, const RunOptions& options = {}) const;

  /// Answers a query from partial answers of it, given in any order; row ids are positions in the whole table.
  /// Throws what `run` throws, and DataError where there are none, where one belongs to another query, where two cover
  /// the same row, or where their columns differ.
  Result merge(const Query& query, const std::vector<Partial>& partials, const RunOptions& options = {}) const;

  /// Makes one partial answer of several, without the rows that cannot be in the answer any more. Associative: the
  /// order and grouping of calls do not change what merge() returns. Throws what `merge` throws.
  Partial merge_partials(const Query& query, const std::vector<Partial>& partials,
                         const RunOptions& options = {}) const;

  /// Makes the plan of a query and drops it. Throws what `run` would throw before it reads data.
  [[deprecated("use explain")]] void check(const Query& query, const Table& table) const;

  /// Returns the plan of a query without running it. Throws what `run` would throw before it answers: with a table of
  /// no rows but the right columns it checks a query.
  PlanNode explain(const Query& query, const Table& table, const RunOptions& options = {}) const;

  /// Returns the plan of a query over a source without running it. Reads the columns that decide which rows are in the
  /// answer, of one unit where units are answered one by one. Throws what `run` throws.
  PlanNode explain(const Query& query, const Source& source, const RunOptions& options = {}) const;

  /// Returns why a row is not in the answer of a query: the first stage that it does not pass, the rows that dominate
  /// it, and the least change of each term that would let it in (engine/docs/meaning.md). It runs the query some dozens
  /// of times on the CPU. Throws what `run` throws, and BindError for a row that the table lacks, for `group_by`,
  /// partitions by expressions, `nan: best`, `ties: any`, and for columns that are on a GPU alone.
  WhyNot why(const Query& query, const Table& table, RowId row, const RunOptions& options = {}) const;

  /// The same for a source, of which the columns that the query reads are read as a whole.
  WhyNot why(const Query& query, const Source& source, RowId row, const RunOptions& options = {}) const;

  /// The former name of PinTime.
  using Pin [[deprecated("use PinTime")]] = PinTime;

  /// Returns the same table with its columns also in the memory of the GPU, until the last copy of the table is gone.
  /// Queries of any engine that run there read them without transfer. With several EngineOptions::devices each GPU has
  /// an equal share of the rows. Memory that the table views must not change meanwhile. Strings are pinned only if they
  /// are indices into a dictionary. Throws DeviceError where a GPU is missing. With PinTime::now, throws ResourceError
  /// with the bytes needed and available if there are too few; nothing is then left on the GPU.
  Table pin(const Table& table, PinTime when = PinTime::now) const;

  /// Returns the names of the columns that a query reads, in the table's order; all columns if it names one that does
  /// not exist.
  static std::vector<std::string> columns_read(const Query& query, const std::vector<std::string>& table_columns);

 private:
  friend class StandingQuery;
  struct SKYRANK_NO_EXPORT State;
  std::unique_ptr<const State> state_;
};

}  // namespace v0
}  // namespace skyrank

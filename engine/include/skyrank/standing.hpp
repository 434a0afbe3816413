#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/export.hpp>
#include <skyrank/plan.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>
#include <skyrank/types.hpp>

// Queries whose answers follow their rows (engine/docs/standing.md).
namespace skyrank {
inline namespace v0 {

/// Keeps the rows whose ids are among the last `rows` ids that were given, >= 1.
struct RowWindow {
  std::int64_t rows = 1;  ///< number of ids
};

/// Keeps the rows whose time is later than the greatest time of all rows so far minus `last`; rows without a time are
/// out at once.
struct TimeWindow {
  std::string by;                   ///< a column of dates or timestamps
  std::chrono::nanoseconds last{};  ///< length of the window, > 0
};

/// The rows that stay: all of them, or those in a window.
using StandingWindow = std::variant<std::monostate, RowWindow, TimeWindow>;

/// Options of a standing query.
struct StandingOptions {
  StandingWindow window = {};  ///< rows that fall out of it leave
  /// Refuses `erase` and `update`. Without a window it keeps only the rows that can still be in the answer.
  bool append_only = false;
};

/// Rows that came into the answer and went out of it.
struct Changes {
  std::vector<RowId> entered;  ///< ids, ascending; of a group the id of its first row
  std::vector<RowId> left;     ///< ids, ascending

  bool operator==(const Changes&) const = default;
};

/// A query over rows that come, change and go. After every call its answer is that of Engine::run over the rows that
/// are there, in the order of their ids, where `row` is the id; `ties: any` is answered as `ties: first`. Errors about
/// a row name its id. A call that throws changes nothing. Several threads may use it at once: calls that change rows
/// wait for each other, and answer() does not wait for them.
class SKYRANK_EXPORT StandingQuery {
 public:
  /// Makes a standing query without rows. `schema` has the names and types of the columns that all rows have; its own
  /// rows do not count. The engine must outlive the query. Throws what Engine::run throws before it reads data,
  /// QueryError for a window that is none, and BindError where a window names no column of dates or timestamps.
  StandingQuery(const Engine& engine, const Query& query, const Table& schema, const StandingOptions& options = {});
  /// Ends the query; no call of it may be under way.
  ~StandingQuery();
  /// Moves the query; no call of either may be under way.
  StandingQuery(StandingQuery&&) noexcept;
  /// Moves the query; no call of either may be under way.
  StandingQuery& operator=(StandingQuery&&) noexcept;

  /// Loads a query that `save` saved, with the query, the schema and the options that it was made with. It goes on as
  /// the saved one would: with its rows, ids, answer and window. The answer is made anew from the rows. Throws what the
  /// constructor and `insert` throw, DataError where the file is no saved standing query, is damaged, is of another
  /// version, or is one of another query, schema, window or `append_only`, and ResourceError where it cannot be read.
  static StandingQuery load(const Engine& engine, const std::filesystem::path& file, const Query& query,
                            const Table& schema, const StandingOptions& options = {}, const RunOptions& run = {});

  /// Saves the query to a file, which is replaced as a whole, or stays as it was where this throws. It is for this
  /// version of its format alone. Calls that change rows wait for it. Throws ResourceError.
  void save(const std::filesystem::path& file) const;

  /// Adds rows, which get the next ids. Their values are copied. Throws what Engine::run throws, and BindError where
  /// the columns are not those of the schema, in any order.
  Changes insert(const Table& rows, const RunOptions& options = {});

  /// Removes rows. Throws what Engine::run throws, DataError where no row has one of the ids, or an id comes twice, and
  /// QueryError under `append_only`.
  Changes erase(std::span<const RowId> ids, const RunOptions& options = {});

  /// Gives rows new values; they keep their ids. Row i of `rows` is that of `ids[i]`. Throws what `insert` and `erase`
  /// throw, and DataError where there are more or fewer rows than ids.
  Changes update(std::span<const RowId> ids, const Table& rows, const RunOptions& options = {});

  /// Returns the answer over the rows that are there. It stays as it is when rows change, for as long as it is held.
  /// The answer of a skyline without a ranking or a limit is made when it is asked for. Throws ResourceError where
  /// memory does not suffice for that.
  std::shared_ptr<const Result> answer() const;

  /// Returns the id that the next row gets: the number of rows inserted so far.
  RowId next_id() const;

  /// Returns the number of rows that are kept.
  std::int64_t num_rows() const;

  /// Returns a node `standing`, which tells how the answer follows its rows, above the plan of the last answer.
  PlanNode explain() const;

 private:
  struct SKYRANK_NO_EXPORT State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace skyrank

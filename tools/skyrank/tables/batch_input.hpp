#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "datasets/reader.hpp"
#include "datasets/source.hpp"
#include "tools/skyrank/commands.hpp"

namespace skyrank::datasets {
class PipeCache;
}

namespace skyrank::tools {

class Progress;

/// Reads a batch, applies the settings and keeps the chosen queries, in the order in which they were asked for.
/// UsageError for a malformed setting or an unknown key, BindError for unknown names, and what read_batch throws.
Batch open_batch(const BatchArguments& arguments);

/// Returns true if two queries of a batch are over one table.
bool has_shared_tables(const Batch& batch);

/// How many bytes of keys the queries of a batch may leave for one another: a quarter of the machine's memory, but none
/// where no two queries are over one table.
std::size_t shared_key_bytes(const Batch& batch);

/// Applies one "table.key=value" to a batch. Keys: file, format, header, delimiter, and of generated tables
/// generate.distribution, generate.rows, generate.dims, generate.seed. A relative file is relative to the current
/// folder.
void apply_setting(Batch& batch, const std::string& setting);

/// A table as one query gets it.
struct InputTable {
  std::shared_ptr<const Source> source;
  double read_ms = 0;     ///< reading before the query runs; 0 where it reads, or an earlier query had the table read
  int later_queries = 0;  ///< later queries of the batch over the same table
};

/// Memory that input may take, in bytes.
struct InputMemory {
  std::size_t limit = 0;    ///< the engine's, if one was asked for; 0: none was
  std::size_t to_keep = 0;  ///< columns that are kept for later queries, which do not count on the engine's limit
};

/// Returns what is left for input beside an engine's queries; `limit` as above.
InputMemory input_memory(const Engine& engine, std::size_t limit);

/// The tables of a batch: each is opened once, when its first query comes, with only the columns that the batch's
/// queries read, and let go after its last. Columns are read once, too: when the table is opened or, where its format
/// allows, as far as queries need them.
class InputTables {
 public:
  InputTables(const Batch& batch, int threads, InputMemory memory, Console& console, Signals& signals);

  /// The table of one of the batch's queries; to be called once a query. BindError for a table that the batch does not
  /// define or a column that the table lacks; else what the readers throw.
  InputTable get(const Query& query);

  /// Has reading shown there from now on; null: nowhere.
  void show_reading(Progress* progress) { progress_ = progress; }

 private:
  struct Entry {
    int queries_left = 0;
    std::optional<datasets::ColumnNames> column_names;  // all that the table has
    bool told_left_out = false;
    std::shared_ptr<const Source> source;
    std::exception_ptr failure;  // of the read; the same for every query
  };

  datasets::ColumnNames column_names(const TableSource& source);
  double open(const std::string& name, Entry& entry);  // milliseconds
  std::shared_ptr<const Source> source_of(const TableSource& source, const std::vector<std::string>& column_names);
  Table load(const TableSource& source, const std::vector<std::string>& column_names);
  datasets::LoadOptions load_options(const std::string& table, const std::vector<std::string>& column_names) const;
  std::vector<std::string> columns_needed(const std::string& table, const std::vector<std::string>& column_names) const;
  std::vector<int> columns_shared(const std::string& table, const Table& schema) const;

  const Batch& batch_;
  int threads_;
  InputMemory memory_;
  Console& console_;
  Signals& signals_;
  std::shared_ptr<datasets::PipeCache> pipes_;  // a pipe may be the file of several tables
  std::map<std::string, Entry, std::less<>> entries_;
  std::atomic<Progress*> progress_ = nullptr;
};

}  // namespace skyrank::tools

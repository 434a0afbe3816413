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
#include <skyrank/error.hpp>
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

/// Several mistakes in the text of a batch. The error is the first of them.
class BatchMistakes : public QueryError {
 public:
  explicit BatchMistakes(std::vector<QueryError> mistakes) : QueryError(mistakes.front()), all_(std::move(mistakes)) {}

  const std::vector<QueryError>& all() const { return all_; }

 private:
  std::vector<QueryError> all_;
};

/// A batch as far as there are no mistakes in its text.
struct OpenedBatch {
  Batch batch;
  std::vector<QueryError> mistakes;
};

/// Reads a batch, applies the settings and keeps the chosen queries, in the order in which they were asked for.
/// UsageError for a malformed setting or an unknown key, BindError for unknown names, and ResourceError.
OpenedBatch open_with_mistakes(const BatchArguments& arguments);

/// The same; BatchMistakes where there are some.
Batch open_batch(const BatchArguments& arguments);

/// Returns true if two queries of a batch are over one table.
bool has_shared_tables(const Batch& batch);

/// The memory of a batch, in bytes: all of its parts together fit the limit.
struct BatchMemory {
  std::size_t limit = 0;        ///< 0: none was asked for, and the parts are shares of what the process may use
  std::size_t engine = 0;       ///< for the queries, and the keys that they leave for one another
  std::size_t shared_keys = 0;  ///< share of the engine for keys; 0 where no two queries are over one table
  std::size_t to_keep = 0;      ///< for columns that are kept for later queries; 0: none are
};

/// Shares out `limit`, or without one four fifths of the memory that the process may use.
BatchMemory memory_of(const Batch& batch, std::size_t limit);

/// Reads types of columns such as `zip:string,price:decimal(12,2)`. UsageError naming `option` for other texts,
/// DataError for a type that is not known.
std::map<std::string, std::string> read_types(const std::string& text, const std::string& option);

/// States the form of a table's files. UsageError or DataError naming the option that has no such value.
void apply_form(TableSpec& table, const FileForm& form);

/// Applies one "table.key=value" to a batch. Keys: file, those of a table in YAML that state the form of its files, and
/// of generated tables generate.distribution, generate.rows, generate.dims, generate.seed. A relative file is relative
/// to the current folder.
void apply_setting(Batch& batch, const std::string& setting);

/// A table as one query gets it.
struct InputTable {
  std::shared_ptr<const Source> source;
  double read_ms = 0;     ///< reading before the query runs; 0 where it reads, or an earlier query had the table read
  int later_queries = 0;  ///< later queries of the batch over the same table
};

/// The tables of a batch: each is opened once, when its first query comes, with only the columns that the batch's
/// queries read, and let go after its last. Columns are read once, too: when the table is opened or, where its format
/// allows, as far as queries need them.
class InputTables {
 public:
  InputTables(const Batch& batch, int threads, const BatchMemory& memory, Console& console, Signals& signals);

  /// The table of one of the batch's queries; to be called once a query. BindError for a table that the batch does not
  /// define or a column that the table lacks; else what the readers throw. Reading ends with the thread's StopScope.
  InputTable get(const Query& query);

  /// Has reading shown there from now on; null: nowhere.
  void show_reading(Progress* progress) { progress_ = progress; }

 private:
  struct Entry {
    const TableSpec* table = nullptr;
    std::vector<const Query*> queries;
    int queries_left = 0;
    std::optional<datasets::ColumnNames> column_names;  // all that the table has
    bool told_left_out = false;
    std::shared_ptr<const Source> source;
    double kept_bytes = 0;       // of a table that is in memory as a whole
    std::exception_ptr failure;  // of the read; the same for every query
  };

  const std::vector<const Query*>& queries_of(const std::string& table) const {
    return entries_.find(table)->second.queries;
  }
  datasets::ColumnNames column_names(const TableSpec& source);
  void open(Entry& entry);
  std::shared_ptr<const Source> source_of(const TableSpec& source, const std::vector<std::string>& column_names,
                                          std::int64_t block_bytes);
  std::shared_ptr<const Source> loaded(const TableSpec& source, Entry& entry);
  std::size_t memory_to_read() const;
  Table load(const TableSpec& source, const std::vector<std::string>& column_names);
  datasets::LoadOptions load_options(const std::string& table, const std::vector<std::string>& column_names) const;
  std::vector<std::string> columns_needed(const std::string& table, const std::vector<std::string>& column_names) const;
  std::vector<int> columns_shared(const std::string& table, const Table& schema) const;

  const Batch& batch_;
  int threads_;
  BatchMemory memory_;
  double kept_bytes_ = 0;  // of all entries
  Console& console_;
  Signals& signals_;
  std::shared_ptr<datasets::PipeCache> pipes_;  // a pipe may be the file of several tables
  std::map<std::string, Entry, std::less<>> entries_;
  std::atomic<Progress*> progress_ = nullptr;
};

}  // namespace skyrank::tools

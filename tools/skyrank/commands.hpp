#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "tools/skyrank/terminal/console.hpp"
#include "tools/skyrank/terminal/signals.hpp"

// The commands, one file each but for `completion` and `man`, which reference/ prints. Their arguments come checked in
// form (numbers are numbers in range) but not in meaning (names may not exist). Each returns the exit status and throws
// what ends it early.
namespace skyrank::tools {

enum ExitStatus : int { success = 0, system_failure = 1, user_mistake = 2 };

/// The batch, its queries to run, and changes to its tables.
struct BatchArguments {
  std::filesystem::path file;
  std::vector<std::string> queries;   ///< names; empty: all
  std::vector<std::string> settings;  ///< "table.key=value"
};

/// The GPUs of an engine.
struct GpuArguments {
  std::vector<int> devices;      ///< by number; empty: those of the batch
  std::size_t memory_bytes = 0;  ///< memory of each that may be in use; 0: all
};

/// GPUs that the command line names, or else the batch.
inline std::vector<int> devices_of(const GpuArguments& gpus, const Batch& batch) {
  return gpus.devices.empty() ? batch.devices : gpus.devices;
}

struct RunArguments {
  BatchArguments batch;
  std::string format;                    ///< table, csv, jsonl, parquet, arrow; empty: table, or csv with `out`
  std::filesystem::path out;             ///< file of one query, or folder for one file a query; empty: standard output
  std::filesystem::path report;          ///< page of HTML with the answers; empty: none
  std::vector<std::int64_t> report_why;  ///< rows of which the page says why they are not in the answers
  std::optional<std::int64_t> rows;      ///< shown of each answer in a table; 0: all
  int threads = 0;                       ///< 0: all cores
  DeviceChoice device = DeviceChoice::automatic;
  std::size_t memory_bytes = 0;  ///< memory that queries may take; 0: the machine's share
  GpuArguments gpus;
  std::optional<std::chrono::milliseconds> timeout;  ///< time limit of each query
  bool json = false;
  bool plan = false;  ///< show the measured plan with each answer
  bool logs = false;  ///< write a log of JSON to standard error
};

struct CheckArguments {
  BatchArguments batch;
  bool json = false;
};

struct ExplainArguments {
  BatchArguments batch;
  int threads = 0;
  DeviceChoice device = DeviceChoice::automatic;
  std::size_t memory_bytes = 0;
  GpuArguments gpus;
  std::optional<std::chrono::milliseconds> timeout;  ///< time limit of each query
  bool analyze = false;                              ///< run the queries, and show what was measured
  bool candidates = false;                           ///< show what each choice by price was made from
  std::vector<std::string> without;                  ///< rules of the planner
  bool rules = false;                                ///< list these, and explain nothing
  bool json = false;
};

struct WhyArguments {
  BatchArguments batch;  ///< all but the query
  std::string query;
  std::int64_t row = 0;  ///< 0-based position in the query's table
  int threads = 0;
  std::size_t memory_bytes = 0;
  bool json = false;
};

struct WatchArguments {
  BatchArguments batch;
  std::string from = "-";                 ///< a file, or - for the standard input
  std::string format;                     ///< jsonl, csv, tsv or arrow; empty: by the name of the file, or jsonl
  bool follow = false;                    ///< wait for more at the end of a file
  std::filesystem::path state;            ///< file to resume from and to save to; empty: none
  std::string save_every;                 ///< rows or a time; empty: at the end alone
  std::int64_t step = 0;                  ///< most rows that are taken at a time; 0: as many as have come
  std::optional<std::int64_t> last_rows;  ///< window of so many rows
  std::string last;                       ///< window of such a time
  std::string by;                         ///< column of times of that window
  std::string show;                       ///< changes or table; empty: table on a terminal, else changes
  int threads = 0;
  std::size_t memory_bytes = 0;
};

struct PlotArguments {
  std::filesystem::path batch;
  std::string query;
  std::filesystem::path out;             ///< empty: named after the query
  std::string kind = "front";            ///< front, parallel, matrix
  std::optional<std::int64_t> max_rows;  ///< limit on the rows drawn beside the front
};

/// The form of files of text, as options state it; empty ones are recognised. See TableSpec.
struct FileForm {
  std::string delimiter;
  std::string header;
  std::string decimal;
  std::string skip;
  std::string comment;
  std::string encoding;
  std::string records;
  std::string flatten;
  std::string types;  ///< "column:type,..."; empty: none is stated
};

struct SqlArguments {
  std::string statement;
  FileForm form;            ///< form of all files that are named
  RunArguments run;         ///< all but the batch
  bool explain = false;     ///< show the plan in place of the answer
  bool analyze = false;     ///< show it with what was measured
  bool candidates = false;  ///< show the plan with what each choice by price was made from
};

struct ShellArguments {
  std::vector<std::string> files;  ///< tables: FILE, named after it, or NAME=FILE
  SqlArguments sql;                ///< all but the statement
};

struct ShowArguments {
  BatchArguments batch;
  std::string dialect = "sql";  ///< sql, yaml or cpp
};

struct DescribeArguments {
  std::string file;    ///< a path, a pattern, a folder, a URI, or - for the standard input
  std::string format;  ///< empty: by its name or its first bytes
  FileForm form;
  bool json = false;
};

struct GenerateArguments {
  std::string distribution;
  std::optional<std::int64_t> rows;
  int dims = 1;
  std::uint64_t seed = 1;
  std::filesystem::path out;
  std::string format;  ///< empty: by the extension of `out`
  int threads = 0;
  std::size_t memory_bytes = 0;  ///< memory that may be taken; 0: the machine's share
  bool list = false;
};

struct AlgorithmsArguments {
  bool json = false;
};

struct BenchArguments {
  std::filesystem::path grid;
  std::filesystem::path out;            ///< CSV; empty: none
  std::vector<int> threads;             ///< instead of the grid's; empty: the grid's
  std::vector<std::string> algorithms;  ///< only these; empty: all that the grid wants
  std::optional<int> repeat;            ///< instead of the grid's repeats
  DeviceChoice device = DeviceChoice::automatic;
  std::string commit;  ///< empty: the one it was built from
  bool list = false;
  /// Reads columns of a file for cells that have one; null: the program reads no files.
  std::function<Table(const std::filesystem::path&, const std::vector<std::string>&)> read_columns;
};

struct CalibrateArguments {
  std::filesystem::path out;                 ///< the profile; empty: where the user's is looked for
  std::filesystem::path grid;                ///< empty: a built-in one
  std::filesystem::path runs;                ///< CSV of what was measured; empty: none
  std::filesystem::path from;                ///< such a CSV to fit to, instead of measuring
  std::vector<std::filesystem::path> learn;  ///< batches whose queries are measured, instead of a grid
  DeviceChoice device = DeviceChoice::automatic;
};

struct CompletionArguments {
  std::string shell;  ///< bash, zsh or fish
};

int run(const RunArguments& arguments, Console& console, Signals& signals);
int check(const CheckArguments& arguments, Console& console, Signals& signals);
int explain(const ExplainArguments& arguments, Console& console, Signals& signals);
int why(const WhyArguments& arguments, Console& console, Signals& signals);
int watch(const WatchArguments& arguments, Console& console, Signals& signals);
/// Does not return where the program that draws can be run.
int plot(const PlotArguments& arguments, Console& console, Signals& signals);
int sql(const SqlArguments& arguments, Console& console, Signals& signals);
int shell(const ShellArguments& arguments, Console& console, Signals& signals);
int show(const ShowArguments& arguments, Console& console);
int describe(const DescribeArguments& arguments, Console& console, Signals& signals);
int generate(const GenerateArguments& arguments, Console& console, Signals& signals);
int algorithms(const AlgorithmsArguments& arguments, Console& console);
int calibrate(const CalibrateArguments& arguments, Console& console, Signals& signals);
int bench(const BenchArguments& arguments, Console& console, Signals& signals);

/// Answers and explains the queries of a batch that is open; `arguments.batch` is not looked at but for its file's
/// name.
int run_batch(const Batch& batch, const RunArguments& arguments, Console& console, Signals& signals);
int explain_batch(const Batch& batch, const ExplainArguments& arguments, Console& console, Signals& signals);

/// The same for statements of SQL, as `arguments` asks.
int answer_statements(const Batch& batch, const SqlArguments& arguments, Console& console, Signals& signals);

struct OpenedBatch;  // tables/batch_input.hpp

/// Shows all mistakes of a batch, in its text and in its queries, in the order of their places. Returns the exit
/// status.
int report_mistakes(const OpenedBatch& opened, const CheckArguments& arguments, Console& console, Signals& signals);

/// The status that stands for an error: 2 for what the user can put right, 1 for the system's.
ExitStatus exit_status(const std::exception& error);

/// The worse of two: the system's failure before the user's mistake.
ExitStatus worse(ExitStatus a, ExitStatus b);

/// The whole program: parses, runs one command, reports errors. Never throws.
int main(int argc, const char* const* argv);

}  // namespace skyrank::tools

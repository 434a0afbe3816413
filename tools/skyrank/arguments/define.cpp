#include <skyrank/engine.hpp>

#include "datasets/generate/generate.hpp"
#include "tools/skyrank/arguments/arguments.hpp"
#include "tools/skyrank/version/build_info.hpp"

// Defines the commands and options of the command line, each with its help.
namespace skyrank::tools {
namespace {

constexpr const char* kDelimiterHelp =
    "What separates the fields of a CSV file: one character, or tab (default: recognised)";

constexpr const char* kTypesHelp =
    "Types of columns of text instead of those that their values seem to have, such as zip:string,day:date";

constexpr const char* kCandidatesHelp =
    "Show what each choice by price was made from: every candidate, with its price as expected and at high";

void add_form_options(CLI::App& command, FileForm& form) {
  command.add_option("--delimiter", form.delimiter, kDelimiterHelp)->type_name("CHARACTER");
  command
      .add_option("--header", form.header,
                  "Whether the first line of a CSV file names its columns: true or false (default: recognised)")
      ->type_name("BOOLEAN");
  command.add_option("--decimal", form.decimal, "Decimal sign of a CSV file: '.' or ',' (default: recognised)")
      ->type_name("CHARACTER");
  command.add_option("--skip", form.skip, "Lines of a CSV file before its header (default: recognised)")
      ->type_name("N");
  command
      .add_option("--comment", form.comment,
                  "Beginning of lines of a CSV file that are no records, such as '#' (default: there are none)")
      ->type_name("TEXT");
  command
      .add_option("--encoding", form.encoding,
                  "Encoding of a text, such as utf-16 or windows-1252 (default: by its first bytes, else utf-8)")
      ->type_name("NAME");
  command
      .add_option("--records", form.records,
                  "Where the records of a JSON file are, such as data.items (default: the file, or its array)")
      ->type_name("PATH");
  command
      .add_option("--flatten", form.flatten,
                  "Whether the members of objects in a JSON file are columns, such as address.city (default: false)")
      ->type_name("BOOLEAN");
  command.add_option("--types", form.types, kTypesHelp)->type_name("COLUMN:TYPE,...");
}

void add_settings_option(CLI::App& command, BatchArguments& batch) {
  command
      .add_option("--set", batch.settings,
                  "Change a table, such as hotels.file=new.csv, hotels.format=jsonl, hotels.delimiter=tab or "
                  "hotels.types=zip:string; may be repeated")
      ->type_name("TABLE.KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_batch_options(CLI::App& command, BatchArguments& batch) {
  command.add_option("BATCH", batch.file, "YAML file with tables and queries")->type_name("FILE")->required();
  command.add_option("--query", batch.queries, "Only this query; may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  add_settings_option(command, batch);
}

/// Names the only values of an option, for completion.
void offer(Arguments& arguments, const CLI::Option* option, std::vector<std::string> values) {
  arguments.choices[option] = [values = std::move(values)] { return values; };
}

void add_device_option(CLI::App& command, Arguments& arguments) {
  const auto* option =
      command.add_option("--device", arguments.device, "Where to compute: auto, cpu or cuda (default: auto)")
          ->type_name("DEVICE");
  offer(arguments, option, {"auto", "cpu", "cuda"});
}

void add_quiet_flag(CLI::App& command, Arguments& arguments) {
  command.add_flag("-q,--quiet", arguments.quiet, "No warnings, no progress, no lines on sizes and times");
}

void add_memory_option(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--memory-limit", arguments.memory_limit,
                  "The most memory that queries may take beside their tables, such as 500MB or 2GiB (default: four "
                  "fifths of the machine's)")
      ->type_name("SIZE");
}

void add_engine_options(CLI::App& command, int& threads, Arguments& arguments) {
  command.add_option("--threads", threads, "Threads to use (default: all cores)")->type_name("N");
  add_device_option(command, arguments);
  add_memory_option(command, arguments);
  command
      .add_option("--devices", arguments.devices,
                  "The GPUs to use, by their numbers, such as 0,1 (default: those of the batch, or else 0)")
      ->type_name("N,...")
      ->delimiter(',');
  command
      .add_option("--gpu-memory-limit", arguments.gpu_memory_limit,
                  "The most memory of each GPU that may be in use; larger tables are answered in parts (default: all)")
      ->type_name("SIZE");
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const RuleInfo& rule : skyrank::rules()) names.push_back(rule.name);
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmInfo& algorithm : skyrank::algorithms()) names.push_back(algorithm.name);
  return names;
}

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const auto& list : {datasets::distributions(), datasets::tables_with_own_columns()}) {
    for (const auto& entry : list) names.emplace_back(entry.name);
  }
  return names;
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON for programs"); }

void add_rows_option(CLI::App& command, RunArguments& run) {
  command
      .add_option("--rows", run.rows,
                  "Rows of each answer that a table shows, the first and the last; 0: all (default: 40 on a terminal, "
                  "else all)")
      ->type_name("N");
}

void add_timeout_option(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--timeout", arguments.timeout,
                  "The longest that each query may take, with reading its table, such as 30s or 500ms (default: no "
                  "limit)")
      ->type_name("TIME");
}

/// The form and place of answers, and what they may cost.
void add_answer_options(CLI::App& command, RunArguments& run, Arguments& arguments) {
  const auto* format =
      command
          .add_option("--format", run.format,
                      "table, csv, jsonl, parquet or arrow (default: table; with --out by its suffix, or csv)")
          ->type_name("FORMAT");
  offer(arguments, format, {"table", "csv", "jsonl", "parquet", "arrow"});
  add_rows_option(command, run);
  command
      .add_option("--out", run.out,
                  "Write the answer of one query to this file, such as best.parquet, or each answer to "
                  "PATH/<query name>.<format>")
      ->type_name("PATH");
  command
      .add_option("--report", run.report,
                  "Also write a page of HTML with the queries, their answers, fronts, plans and times to this file")
      ->type_name("FILE");
  command
      .add_option("--report-why", run.report_why,
                  "Rows, by their positions from 0, of which the page says why they are not in the answers")
      ->type_name("ROW,...")
      ->delimiter(',');
  add_engine_options(command, run.threads, arguments);
  add_timeout_option(command, arguments);
  const auto* log = command
                        .add_option("--log", arguments.log,
                                    "json: write what happens to standard error, an object of JSON a line, with the "
                                    "plan and the times of each query")
                        ->type_name("FORM");
  offer(arguments, log, {"json"});
  add_json_flag(command, run.json);
  command.add_flag("--plan", run.plan, "Show the plan of each answer, with what was measured");
  add_quiet_flag(command, arguments);
}

void define_run(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("run", "Answer the queries of a batch");
  add_batch_options(command, arguments.run.batch);
  add_answer_options(command, arguments.run, arguments);
  command.footer("Example:\n  skyrank run datasets/examples/hotels.yaml --query good-deals");
}

void define_sql(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("sql", "Answer statements of SQL over files");
  command
      .add_option(
          "STATEMENT", arguments.sql.statement,
          "SELECT ... FROM 'FILE' ...; several stand between ';', and - reads them from the standard input. FILE is a "
          "path, a pattern, a folder, a URI, or - for the standard input")
      ->type_name("TEXT")
      ->required();
  add_form_options(command, arguments.sql.form);
  add_answer_options(command, arguments.sql.run, arguments);
  command.add_flag("--explain", arguments.sql.explain, "Show the plan instead of the answer");
  command.add_flag("--analyze", arguments.sql.analyze, "Run the query, and show measured beside predicted");
  command.add_flag("--candidates", arguments.sql.candidates, kCandidatesHelp);
  command.footer(
      "Example:\n  skyrank sql \"SELECT name, price, rating FROM 'datasets/examples/hotels.csv' "
      "PREFERRING LOW price PLUS HIGH rating\"");
}

void define_shell(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("shell", "Answer statements of SQL as they are typed");
  SqlArguments& sql = arguments.shell.sql;
  command
      .add_option("TABLE", arguments.shell.files,
                  "Tables to begin with: FILE, which FROM names without its folder and suffix, or NAME=FILE")
      ->type_name("[NAME=]FILE");
  add_form_options(command, sql.form);
  add_rows_option(command, sql.run);
  add_engine_options(command, sql.run.threads, arguments);
  add_timeout_option(command, arguments);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank shell datasets/examples/hotels.csv");
}

void define_show(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("show", "Print the queries of a batch as SQL, YAML or C++");
  add_batch_options(command, arguments.show.batch);
  const auto* dialect =
      command.add_option("--as", arguments.show.dialect, "sql, yaml or cpp (default: sql)")->type_name("DIALECT");
  offer(arguments, dialect, {"sql", "yaml", "cpp"});
  command.footer("Example:\n  skyrank show datasets/examples/hotels.yaml --as sql");
}

void define_check(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("check", "Check a batch against its tables' columns without running it");
  add_batch_options(command, arguments.check.batch);
  add_json_flag(command, arguments.check.json);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank check datasets/examples/hotels.yaml");
}

void define_explain(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("explain", "Show how the queries of a batch would be answered");
  add_batch_options(command, arguments.explain.batch);
  add_engine_options(command, arguments.explain.threads, arguments);
  add_timeout_option(command, arguments);
  const auto* without =
      command.add_option("--without", arguments.explain.without, "Plan without this rule of --rules; may be repeated")
          ->type_name("RULE")
          ->take_all()
          ->allow_extra_args(false);
  arguments.choices[without] = rule_names;
  command.add_flag("--analyze", arguments.explain.analyze, "Run the queries, and show measured beside predicted");
  command.add_flag("--candidates", arguments.explain.candidates, kCandidatesHelp);
  command.add_flag("--rules", arguments.explain.rules, "List the rules of the planner, and explain nothing");
  command.get_option("BATCH")->required(false);
  add_json_flag(command, arguments.explain.json);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank explain datasets/examples/hotels.yaml --query good-deals");
}

void define_why(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("why", "Tell why a row is not in an answer, and what would let it in");
  WhyArguments& why = arguments.why;
  command.add_option("BATCH", why.batch.file, "YAML file with tables and queries")->type_name("FILE")->required();
  command.add_option("QUERY", why.query, "Name of the query")->type_name("NAME")->required();
  command.add_option("ROW", why.row, "Position of the row in the query's table, from 0")->type_name("N")->required();
  add_settings_option(command, why.batch);
  command.add_option("--threads", why.threads, "Threads to use (default: all cores)")->type_name("N");
  add_memory_option(command, arguments);
  add_json_flag(command, why.json);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank why datasets/examples/hotels.yaml good-deals 5");
}

void define_watch(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("watch", "Follow the answer of a query over rows as they come");
  WatchArguments& watch = arguments.watch;
  add_batch_options(command, watch.batch);
  command
      .add_option(
          "--from", watch.from,
          "Where rows come from: a file, or - for the standard input (default: -). The query's table in the batch "
          "gives their columns and types")
      ->type_name("FILE");
  const auto* format =
      command
          .add_option("--format", watch.format,
                      "jsonl, csv, tsv or arrow, which is an Arrow stream (default: by the name of the "
                      "file, or jsonl)")
          ->type_name("FORMAT");
  offer(arguments, format, {"jsonl", "csv", "tsv", "arrow"});
  command.add_flag("--follow", watch.follow, "Wait for more rows at the end of a file");
  command
      .add_option("--state", watch.state,
                  "Resume from this file, and save to it at the end; rows of a file that were taken are left out")
      ->type_name("FILE");
  command
      .add_option("--save-every", watch.save_every,
                  "Save to the file of --state after so many rows, or such a time, too, such as 10000 or 30s")
      ->type_name("N|TIME");
  command.add_option("--step", watch.step, "The most rows to take at a time (default: as many as have come)")
      ->type_name("N");
  command.add_option("--last-rows", watch.last_rows, "Keep only the last N rows")->type_name("N");
  command
      .add_option("--last", watch.last,
                  "Keep only rows whose time is later than the latest so far minus this, such as 1h; needs --by")
      ->type_name("TIME");
  command.add_option("--by", watch.by, "Column of dates or timestamps for --last")->type_name("COLUMN");
  const auto* show = command
                         .add_option("--show", watch.show,
                                     "changes, a JSON object for each, or table, the answer after each (default: table "
                                     "on a terminal, else changes)")
                         ->type_name("WHAT");
  offer(arguments, show, {"changes", "table"});
  command.add_option("--threads", watch.threads, "Threads to use (default: all cores)")->type_name("N");
  add_memory_option(command, arguments);
  add_quiet_flag(command, arguments);
  command.footer(
      "Example:\n  skyrank watch datasets/examples/hotels.yaml --query good-deals --from datasets/examples/hotels.csv");
}

void define_plot(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("plot", "Draw the front of a query, by Python and matplotlib");
  PlotArguments& plot = arguments.plot;
  command.add_option("BATCH", plot.batch, "YAML file with tables and queries")->type_name("FILE")->required();
  command.add_option("QUERY", plot.query, "Name of the query")->type_name("NAME")->required();
  command.add_option("--out", plot.out, "File of a format of matplotlib, by its suffix (default: QUERY.png)")
      ->type_name("FILE");
  const auto* kind =
      command.add_option("--kind", plot.kind, "front, parallel or matrix (default: front)")->type_name("KIND");
  offer(arguments, kind, {"front", "parallel", "matrix"});
  command.add_option("--max-rows", plot.max_rows, "Rows to draw at most that are not in the front (default: 2000)")
      ->type_name("N");
  command.footer("Example:\n  skyrank plot datasets/examples/hotels.yaml second-choices --out hotels.svg");
}

void define_describe(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("describe", "List the columns of a file with their types and first values");
  DescribeArguments& describe = arguments.describe;
  command.add_option("FILE", describe.file, "A path, a pattern, a folder, a URI, or - for the standard input")
      ->type_name("FILE")
      ->required();
  const auto* format = command
                           .add_option("--format", describe.format,
                                       "csv, tsv, jsonl, parquet or arrow (default: by the file's extension)")
                           ->type_name("FORMAT");
  offer(arguments, format, {"csv", "tsv", "jsonl", "parquet", "arrow"});
  add_form_options(command, describe.form);
  add_json_flag(command, describe.json);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank describe datasets/examples/hotels.csv");
}

void define_generate(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("generate", "Write a synthetic table to a file");
  GenerateArguments& generate = arguments.generate;
  const auto* distribution =
      command.add_option("--distribution", generate.distribution, "One of --list")->type_name("NAME");
  arguments.choices[distribution] = distribution_names;
  command.add_option("--rows", generate.rows, "Number of rows")->type_name("N");
  command.add_option("--dims", generate.dims, "Number of columns (default: 1)")->type_name("D");
  command.add_option("--seed", generate.seed, "Equal seeds give equal tables (default: 1)")->type_name("S");
  command.add_option("--out", generate.out, "File to write: .csv, .jsonl, .parquet or .arrow")->type_name("FILE");
  const auto* format =
      command
          .add_option("--format", generate.format, "csv, jsonl, parquet or arrow (default: by the file's extension)")
          ->type_name("FORMAT");
  offer(arguments, format, {"csv", "jsonl", "parquet", "arrow"});
  command.add_option("--threads", generate.threads, "Threads to use (default: all cores)")->type_name("N");
  command
      .add_option("--memory-limit", arguments.memory_limit,
                  "The most memory that rows may take before they are written, such as 500MB or 2GiB (default: four "
                  "fifths of the machine's)")
      ->type_name("SIZE");
  command.add_flag("--list", generate.list, "List the distributions and write nothing");
  add_quiet_flag(command, arguments);
  command.footer(
      "Example:\n  skyrank generate --distribution anticorrelated --rows 100000 --dims 4 --seed 1 --out "
      "points.parquet");
}

void define_algorithms(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("algorithms", "List the algorithms with their sources and parameters");
  add_json_flag(command, arguments.algorithms.json);
  command.footer("Example:\n  skyrank algorithms --json");
}

void define_bench(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("bench", "Measure the algorithms over a grid of problems");
  BenchArguments& bench = arguments.bench;
  command.add_option("GRID", bench.grid, "YAML file with the cells to measure")->type_name("FILE")->required();
  command.add_option("--out", bench.out, "Write the figures to a CSV file, after every cell")->type_name("FILE");
  command.add_option("--threads", bench.threads, "Numbers of threads, instead of the grid's")
      ->type_name("N,...")
      ->delimiter(',');
  const auto* algorithms = command.add_option("--algorithms", bench.algorithms, "Only these algorithms")
                               ->type_name("NAME,...")
                               ->delimiter(',');
  arguments.choices[algorithms] = algorithm_names;
  command.add_option("--repeat", bench.repeat, "Timed runs of each algorithm, instead of the grid's")->type_name("R");
  add_device_option(command, arguments);
  command.add_option("--commit", bench.commit, "What to note as the commit (default: the one built from)")
      ->type_name("NAME");
  command.add_flag("--list", bench.list, "List the cells and their algorithms and measure nothing");
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank bench tools/bench/grids/skyline-cpu.yaml --out skyline-cpu.csv");
}

void define_calibrate(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("calibrate", "Measure this machine and fit the planner's cost models to it");
  CalibrateArguments& calibrate = arguments.calibrate;
  command.add_option("--out", calibrate.out, "The profile (default: $XDG_CACHE_HOME/skyrank/profile.yaml)")
      ->type_name("FILE");
  command.add_option("--grid", calibrate.grid, "YAML file with the problems to measure, as for bench")
      ->type_name("FILE");
  command.add_option("--runs", calibrate.runs, "Write what was measured to a CSV file")->type_name("FILE");
  command.add_option("--from", calibrate.from, "Fit to such a file and measure nothing")->type_name("FILE");
  command
      .add_option("--learn", calibrate.learn,
                  "Measure the queries of batches, and fit the profile that is used to them")
      ->type_name("BATCH...")
      ->excludes("--grid")
      ->excludes("--from");
  add_device_option(command, arguments);
  add_quiet_flag(command, arguments);
  command.footer("Example:\n  skyrank calibrate\n  skyrank calibrate --learn batch.yaml");
}

void define_completion(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("completion", "Print a script with which a shell completes command lines");
  const auto* shell =
      command.add_option("SHELL", arguments.completion.shell, "bash, zsh or fish")->type_name("NAME")->required();
  offer(arguments, shell, {"bash", "zsh", "fish"});
  command.footer("Example:\n  source <(skyrank completion bash)");
}

void define_man(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("man", "Print the manual page");
  command.footer("Example:\n  skyrank man > skyrank.1 && man -l skyrank.1");
}

}  // namespace

void define(CLI::App& app, Arguments& arguments) {
  app.name("skyrank");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  app.set_version_flag("--version", build_info());
  app.footer(
      "Example:\n  skyrank run datasets/examples/hotels.yaml\n\nskyrank COMMAND --help says more.\n"
      "Exit status: 0 done, 1 the system failed, 2 a mistake in what was asked, 128 + N ended by signal N.");
  define_run(app, arguments);
  define_check(app, arguments);
  define_explain(app, arguments);
  define_why(app, arguments);
  define_watch(app, arguments);
  define_plot(app, arguments);
  define_sql(app, arguments);
  define_shell(app, arguments);
  define_show(app, arguments);
  define_describe(app, arguments);
  define_generate(app, arguments);
  define_algorithms(app, arguments);
  define_bench(app, arguments);
  define_calibrate(app, arguments);
  define_completion(app, arguments);
  define_man(app);
  for (CLI::App* command : app.get_subcommands({})) command->allow_extras();
  app.allow_extras();  // so that a wrong name is answered here, with the nearest right one
}

}  // namespace skyrank::tools

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <new>
#include <string_view>

#include "engine/duration.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/build_info.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/json.hpp"
#include "tools/skyrank/last_resort.hpp"

namespace skyrank::tools {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxRepeat = 10'000;

/// Everything that can be said on the command line.
struct Arguments {
  RunArguments run;
  CheckArguments check;
  ExplainArguments explain;
  SqlArguments sql;
  ShowArguments show;
  GenerateArguments generate;
  AlgorithmsArguments algorithms;
  BenchArguments bench;
  CalibrateArguments calibrate;
  std::string device = "auto";
  std::string memory_limit;
  std::string timeout;
};

void add_batch_options(CLI::App& command, BatchArguments& batch) {
  command.add_option("BATCH", batch.file, "YAML file with tables and queries")->type_name("FILE")->required();
  command.add_option("--query", batch.queries, "Only this query; may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option(
          "--set", batch.settings,
          "Change a table, such as hotels.file=new.csv, hotels.format=jsonl or hotels.delimiter=tab; may be repeated")
      ->type_name("TABLE.KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "Where to compute: auto, cpu or cuda (default: auto)")->type_name("DEVICE");
}

void add_engine_options(CLI::App& command, int& threads, Arguments& arguments) {
  command.add_option("--threads", threads, "Threads to use (default: all cores)")->type_name("N");
  add_device_option(command, arguments.device);
  command
      .add_option(
          "--memory-limit", arguments.memory_limit,
          "The most memory that queries may take beside their tables, such as 500MB or 2GiB (default: no limit)")
      ->type_name("SIZE");
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON for programs"); }

/// The form and place of answers, and what they may cost.
void add_answer_options(CLI::App& command, RunArguments& run, Arguments& arguments) {
  command.add_option("--format", run.format, "table, csv, jsonl, parquet or arrow (default: table; csv with --out)")
      ->type_name("FORMAT");
  command
      .add_option("--rows", run.rows,
                  "Rows of each answer that a table shows, the first and the last; 0: all (default: 40 on a terminal, "
                  "else all)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--out", run.out, "Write each answer to DIR/<query name>.<format>")->type_name("DIR");
  add_engine_options(command, run.threads, arguments);
  command
      .add_option(
          "--timeout", arguments.timeout,
          "The longest that each query may take once its table is read, such as 30s or 500ms (default: no limit)")
      ->type_name("TIME");
  add_json_flag(command, run.json);
}

void define_run(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("run", "Answer the queries of a batch");
  add_batch_options(command, arguments.run.batch);
  add_answer_options(command, arguments.run, arguments);
  command.footer("Example:\n  skyrank run datasets/examples/hotels.yaml --query good-deals");
}

void define_sql(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("sql", "Answer one statement of SQL over a file");
  command
      .add_option("STATEMENT", arguments.sql.statement,
                  "SELECT ... FROM 'FILE' ...; FILE is a path, a pattern, a folder, a URI, or - for the standard input")
      ->type_name("TEXT")
      ->required();
  command
      .add_option("--delimiter", arguments.sql.delimiter,
                  "What separates the fields of a CSV file: one character, or tab (default: comma; tab for .tsv)")
      ->type_name("CHARACTER");
  add_answer_options(command, arguments.sql.run, arguments);
  command.add_flag("--explain", arguments.sql.explain, "Show the plan instead of the answer");
  command.add_flag("--analyze", arguments.sql.analyze, "Run the query, and show measured beside predicted");
  command.footer(
      "Example:\n  skyrank sql \"SELECT name, price, rating FROM 'datasets/examples/hotels.csv' "
      "PREFERRING LOW price PLUS HIGH rating\"");
}

void define_show(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("show", "Print the queries of a batch as SQL, YAML or C++");
  add_batch_options(command, arguments.show.batch);
  command.add_option("--as", arguments.show.dialect, "sql, yaml or cpp (default: sql)")->type_name("DIALECT");
  command.footer("Example:\n  skyrank show datasets/examples/hotels.yaml --as sql");
}

void define_check(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("check", "Check a batch against its tables' columns without running it");
  add_batch_options(command, arguments.check.batch);
  add_json_flag(command, arguments.check.json);
  command.footer("Example:\n  skyrank check datasets/examples/hotels.yaml");
}

void define_explain(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("explain", "Show how the queries of a batch would be answered");
  add_batch_options(command, arguments.explain.batch);
  add_engine_options(command, arguments.explain.threads, arguments);
  command.add_option("--without", arguments.explain.without, "Plan without this rule of --rules; may be repeated")
      ->type_name("RULE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("--analyze", arguments.explain.analyze, "Run the queries, and show measured beside predicted");
  command.add_flag("--rules", arguments.explain.rules, "List the rules of the planner, and explain nothing");
  command.get_option("BATCH")->required(false);
  add_json_flag(command, arguments.explain.json);
  command.footer("Example:\n  skyrank explain datasets/examples/hotels.yaml --query good-deals");
}

void define_generate(CLI::App& app, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand("generate", "Write a synthetic table to a file");
  GenerateArguments& generate = arguments.generate;
  command.add_option("--distribution", generate.distribution, "One of --list")->type_name("NAME");
  command.add_option("--rows", generate.rows, "Number of rows")->type_name("N");
  command.add_option("--dims", generate.dims, "Number of columns (default: 1)")->type_name("D");
  command.add_option("--seed", generate.seed, "Equal seeds give equal tables (default: 1)")->type_name("S");
  command.add_option("--out", generate.out, "File to write: .csv, .jsonl, .parquet or .arrow")->type_name("FILE");
  command.add_option("--format", generate.format, "csv, jsonl, parquet or arrow (default: by the file's extension)")
      ->type_name("FORMAT");
  command.add_option("--threads", generate.threads, "Threads to use (default: all cores)")->type_name("N");
  command.add_flag("--list", generate.list, "List the distributions and write nothing");
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
  command.add_option("--algorithms", bench.algorithms, "Only these algorithms")->type_name("NAME,...")->delimiter(',');
  command.add_option("--repeat", bench.repeat, "Timed runs of each algorithm, instead of the grid's")->type_name("R");
  add_device_option(command, arguments.device);
  command.add_option("--commit", bench.commit, "What to note as the commit (default: the one built from)")
      ->type_name("NAME");
  command.add_flag("--list", bench.list, "List the cells and their algorithms and measure nothing");
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
  add_device_option(command, arguments.device);
  command.footer("Example:\n  skyrank calibrate");
}

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
  define_sql(app, arguments);
  define_show(app, arguments);
  define_generate(app, arguments);
  define_algorithms(app, arguments);
  define_bench(app, arguments);
  define_calibrate(app, arguments);
  for (CLI::App* command : app.get_subcommands({})) command->allow_extras();
  app.allow_extras();  // so that a wrong name is answered here, with the nearest right one
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// Throws for what no option, argument or command took.
void refuse_extras(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const std::vector<std::string> extras = command->remaining();
    // An unknown option leaves its value behind too; the option is what to name.
    const auto option = std::ranges::find_if(extras, [](const auto& extra) { return extra.starts_with('-'); });
    if (option != extras.end()) {
      throw UsageError(fmt::format("{}: unknown option '{}'{}", command->get_name(), *option,
                                   query::did_you_mean(*option, option_names(*command))));
    }
    if (!extras.empty())
      throw UsageError(fmt::format("{}: unexpected argument '{}'", command->get_name(), extras.front()));
  }
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  const bool is_option = extras.front().starts_with('-');
  const std::vector<std::string> names = is_option ? option_names(app) : command_names(app);
  throw UsageError(fmt::format("unknown {} '{}'{}; there are {}", is_option ? "option" : "command", extras.front(),
                               query::did_you_mean(extras.front(), names), fmt::join(names, ", ")));
}

DeviceChoice parse_device(const std::string& name) {
  if (name == "auto") return DeviceChoice::automatic;
  if (name == "cpu") return DeviceChoice::cpu;
  if (name == "cuda") return DeviceChoice::cuda;
  throw UsageError(fmt::format("--device: '{}' is not one of auto, cpu, cuda{}", name,
                               query::did_you_mean(name, {"auto", "cpu", "cuda"})));
}

/// Bytes of a size such as 4096, 500MB, 1.5GiB; none is 0.
std::size_t parse_size(const std::string& text) {
  if (text.empty()) return 0;
  static const std::map<std::string, double, std::less<>> kUnits{
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = kUnits.find(std::string_view(end, text.data() + text.size()));
  const double bytes = unit == kUnits.end() ? 0 : number * unit->second;
  if (error != std::errc() || !(bytes >= 1 && bytes < 0x1p63)) {
    throw UsageError(fmt::format("--memory-limit: '{}' is not a size such as 4096, 500MB or 1.5GiB", text));
  }
  return static_cast<std::size_t>(bytes);
}

std::optional<std::chrono::milliseconds> parse_timeout(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto limit = parse_duration(text);
  if (!limit) throw UsageError(fmt::format("--timeout: '{}' is not {}", text, kDurationExample));
  return limit;
}

void check_threads(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    throw UsageError(fmt::format("--threads: {} is not between 0 (all cores) and {}", threads, kMaxThreads));
  }
}

void check_repeat(std::optional<int> repeat) {
  if (repeat && (*repeat < 1 || *repeat > kMaxRepeat)) {
    throw UsageError(fmt::format("--repeat: {} is not between 1 and {}", *repeat, kMaxRepeat));
  }
}

/// Completes the arguments with what CLI11 does not settle.
void settle(const CLI::App& app, Arguments& arguments) {
  refuse_extras(app);
  const DeviceChoice device = parse_device(arguments.device);
  arguments.run.device = device;
  arguments.explain.device = device;
  arguments.sql.run.device = device;
  arguments.bench.device = device;
  arguments.calibrate.device = device;
  arguments.run.memory_bytes = parse_size(arguments.memory_limit);
  arguments.explain.memory_bytes = arguments.run.memory_bytes;
  arguments.sql.run.memory_bytes = arguments.run.memory_bytes;
  arguments.run.timeout = parse_timeout(arguments.timeout);
  arguments.sql.run.timeout = arguments.run.timeout;
  for (const int threads :
       {arguments.run.threads, arguments.explain.threads, arguments.sql.run.threads, arguments.generate.threads}) {
    check_threads(threads);
  }
  for (const int threads : arguments.bench.threads) check_threads(threads);
  check_repeat(arguments.bench.repeat);
}

int run_command(const CLI::App& app, const Arguments& arguments, Console& console, Signals& signals) {
  if (app.got_subcommand("run")) return run(arguments.run, console, signals);
  if (app.got_subcommand("check")) return check(arguments.check, console, signals);
  if (app.got_subcommand("explain")) return explain(arguments.explain, console, signals);
  if (app.got_subcommand("sql")) return sql(arguments.sql, console, signals);
  if (app.got_subcommand("show")) return show(arguments.show, console);
  if (app.got_subcommand("generate")) return generate(arguments.generate, console, signals);
  if (app.got_subcommand("algorithms")) return algorithms(arguments.algorithms, console);
  if (app.got_subcommand("calibrate")) return calibrate(arguments.calibrate, console, signals);
  if (app.got_subcommand("bench")) return bench(arguments.bench, console, signals);
  console.print(app.help());
  console.flush();
  throw UsageError("no command given");
}

/// For programs that read the output, where a command failed before it printed any.
void print_error_document(const std::exception& error, Console& console) {
  if (console.has_printed()) return;
  try {
    console.print(to_text({{"error", to_json(error)}}));
    console.flush();
  } catch (...) {  // the error that matters is already on standard error
  }
}

bool wants_json(const Arguments& arguments) {
  return arguments.run.json || arguments.sql.run.json || arguments.check.json || arguments.explain.json ||
         arguments.algorithms.json;
}

/// CLI11 reports by exception, help and version too.
int report_parse(const CLI::App& app, const CLI::ParseError& error, Console& console) {
  if (dynamic_cast<const CLI::Success*>(&error) == nullptr) {
    console.complain(error.what());
    return user_mistake;
  }
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    console.print(app.help());
  } else {
    console.print(std::string(error.what()) + "\n");
  }
  console.flush();
  return success;
}

int parse_and_run(CLI::App& app, Arguments& arguments, int argc, const char* const* argv, Console& console,
                  Signals& signals) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error, console);
  }
  settle(app, arguments);
  return run_command(app, arguments, console, signals);
}

int run_until_signal(Arguments& arguments, int argc, const char* const* argv, Console& console,
                     std::stop_source& stop) {
  Signals signals(stop);  // before any other thread
  try {
    CLI::App app("Answers skyline and top-k queries over tables.");
    define(app, arguments);
    return parse_and_run(app, arguments, argc, argv, console, signals);
  } catch (const CancelledError& error) {
    signals.set_reported();
    console.complain(error.what());
    if (wants_json(arguments)) print_error_document(error, console);
    return signals.exit_status();
  }
}

}  // namespace

ExitStatus exit_status(const std::exception& error) {
  const bool mistake =
      dynamic_cast<const UsageError*>(&error) != nullptr || dynamic_cast<const QueryError*>(&error) != nullptr ||
      dynamic_cast<const BindError*>(&error) != nullptr || dynamic_cast<const DataError*>(&error) != nullptr;
  return mistake ? user_mistake : system_failure;
}

ExitStatus worse(ExitStatus a, ExitStatus b) {
  if (a == system_failure || b == system_failure) return system_failure;
  return std::max(a, b);
}

int main(int argc, const char* const* argv) {
  install_last_resort();
  std::stop_source stop;
  Console console(stop.get_token());
  Arguments arguments;
  try {
    return run_until_signal(arguments, argc, argv, console, stop);
  } catch (const OutputClosed&) {
    return system_failure;
  } catch (const std::bad_alloc&) {
    console.complain("out of memory");
    return system_failure;
  } catch (const std::exception& error) {
    console.complain(error.what());
    if (wants_json(arguments)) print_error_document(error, console);
    return exit_status(error);
  }
}

}  // namespace skyrank::tools

#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/version/build_info.hpp"

// `skyrank bench` and `skyrank algorithms` for machines where nothing is installed: without files of data, and so
// without the libraries that read them.
namespace skyrank::tools {

int bench_main(int argc, const char* const* argv);

namespace {

struct Arguments {
  BenchArguments bench;
  AlgorithmsArguments algorithms;
};

void define(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", build_info());
  app.require_subcommand(1);
  CLI::App& bench = *app.add_subcommand("bench", "Measure the algorithms over a grid of problems");
  bench.add_option("GRID", arguments.bench.grid, "YAML file with the cells to measure")->required();
  bench.add_option("--out", arguments.bench.out, "Write the figures to a CSV file, after every cell");
  CLI::App& algorithms = *app.add_subcommand("algorithms", "List the algorithms");
  algorithms.add_flag("--json", arguments.algorithms.json, "Print JSON");
}

int run_command(const CLI::App& app, const Arguments& arguments, std::stop_source& stop) {
  Signals signals(stop);  // before any other thread
  Console console(stop.get_token());
  try {
    if (app.got_subcommand("bench")) return bench(arguments.bench, console, signals);
    return algorithms(arguments.algorithms, console);
  } catch (const CancelledError& error) {
    signals.set_reported();
    console.complain(error.what());
    return signals.exit_status();
  } catch (const std::bad_alloc&) {
    console.complain("out of memory");
  } catch (const std::exception& error) {
    console.complain(error.what());
  }
  return system_failure;
}

}  // namespace

int bench_main(int argc, const char* const* argv) {
  CLI::App app("Measures skyline and top-k algorithms over generated data.");
  Arguments arguments;
  define(app, arguments);
  CLI11_PARSE(app, argc, argv);
  std::stop_source stop;
  return run_command(app, arguments, stop);
}

}  // namespace skyrank::tools

int main(int argc, char** argv) { return skyrank::tools::bench_main(argc, argv); }

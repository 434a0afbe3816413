#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/skyrank/commands.hpp"

namespace skyrank::tools {

/// Everything that can be said on the command line.
struct Arguments {
  RunArguments run;
  CheckArguments check;
  ExplainArguments explain;
  WhyArguments why;
  WatchArguments watch;
  PlotArguments plot;
  SqlArguments sql;
  ShellArguments shell;
  ShowArguments show;
  DescribeArguments describe;
  GenerateArguments generate;
  AlgorithmsArguments algorithms;
  BenchArguments bench;
  CalibrateArguments calibrate;
  CompletionArguments completion;
  std::string device = "auto";
  std::string memory_limit;
  std::vector<int> devices;
  std::string gpu_memory_limit;
  std::string timeout;
  std::string log;
  bool quiet = false;
  /// The values that an option or argument can have, where they are few; made when they are asked for.
  std::map<const CLI::Option*, std::function<std::vector<std::string>()>> choices;
};

/// Adds the commands and their options to the application; parsing fills `arguments`, which must outlive it.
void define(CLI::App& app, Arguments& arguments);

/// Completes parsed arguments with what CLI11 does not settle, such as sizes and times. UsageError for unknown names
/// and for values out of range.
void settle(const CLI::App& app, Arguments& arguments);

}  // namespace skyrank::tools

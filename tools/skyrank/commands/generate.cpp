#include "datasets/generate/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include <skyrank/engine.hpp>

#include "datasets/generate/generate_file.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/terminal/progress.hpp"

namespace skyrank::tools {
namespace {

void list_distributions(Console& console) {
  const std::span<const datasets::Distribution> lists[] = {datasets::distributions(),
                                                           datasets::tables_with_own_columns()};
  std::size_t width = 0;
  for (const auto& list : lists) {
    for (const auto& entry : list) width = std::max(width, entry.name.size());
  }
  const std::string indentation(width + 2, ' ');
  for (const auto& list : lists) {
    for (const auto& entry : list) {
      console.print(fmt::format("{:<{}}  {}\n", entry.name, width, wrapped(entry.summary, indentation)));
    }
  }
  console.flush();
}

void require(bool given, const char* option) {
  if (!given) throw UsageError(fmt::format("generate: {} is missing; see skyrank generate --help", option));
}

/// Returns the limit that is asked for, or else the one that engines have.
std::size_t memory_limit(const GenerateArguments& arguments) {
  return Engine({.device = DeviceChoice::cpu, .profile = "", .memory_bytes = arguments.memory_bytes}).memory_limit();
}

void generate_file(const GenerateArguments& arguments, datasets::Format format, Console& console,
                   const Signals& signals) {
  const GeneratorSpec spec{arguments.distribution, *arguments.rows, arguments.dims, arguments.seed};
  Progress progress(console, "writing " + arguments.out.string());
  datasets::generate_file(spec, arguments.out, format,
                          {.threads = arguments.threads,
                           .memory_bytes = memory_limit(arguments),
                           .progress = [&](std::uint64_t done, std::uint64_t rows) { progress.done(done, rows); },
                           .stop = signals.stop_token()});
}

}  // namespace

int generate(const GenerateArguments& arguments, Console& console, Signals& signals) {
  if (arguments.list) {
    list_distributions(console);
    return success;
  }
  require(!arguments.distribution.empty(), "--distribution");
  require(arguments.rows.has_value(), "--rows");
  require(!arguments.out.empty(), "--out");
  const auto format = arguments.format.empty() ? datasets::format_of(arguments.out, datasets::Access::write)
                                               : datasets::parse_output_format(arguments.format);
  generate_file(arguments, format, console, signals);
  return success;
}

}  // namespace skyrank::tools

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "datasets/reader.hpp"
#include "engine/query/duration.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/arguments/arguments.hpp"

// Completes parsed arguments: sizes, times, and options that exclude each other.
namespace skyrank::tools {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxRepeat = 10'000;

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
    std::vector<std::string> extras = command->remaining();
    std::erase(extras, "--");  // ends the options; CLI11 lists it, too
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
  std::error_code ignored;
  if (std::filesystem::exists(extras.front(), ignored)) {
    throw UsageError(
        fmt::format("'{0}' is a file, not a command: to answer a batch, write skyrank run {0}; to list the "
                    "columns of a table, skyrank describe {0}",
                    extras.front()));
  }
  const bool is_option = extras.front().starts_with('-');
  const std::vector<std::string> names = is_option ? option_names(app) : command_names(app);
  throw UsageError(fmt::format("unknown {} '{}'{}; there are {}", is_option ? "option" : "command", extras.front(),
                               query::did_you_mean(extras.front(), names), fmt::join(names, ", ")));
}

/// Throws for an option with an empty text, such as that of a variable of the shell that is not set.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() || option->results() != std::vector<std::string>{""}) continue;
      throw UsageError(fmt::format("{}: the value is empty", option->get_name()));
    }
  }
}

void check_rows(std::optional<std::int64_t> rows) {
  if (rows && *rows < 0) throw UsageError(fmt::format("--rows: {} is not 0 (all rows) or more", *rows));
}

DeviceChoice parse_device(const std::string& name) {
  if (name == "auto") return DeviceChoice::automatic;
  if (name == "cpu") return DeviceChoice::cpu;
  if (name == "cuda") return DeviceChoice::cuda;
  throw UsageError(fmt::format("--device: '{}' is not one of auto, cpu, cuda{}", name,
                               query::did_you_mean(name, {"auto", "cpu", "cuda"})));
}

/// Bytes of a size such as 4096, 500MB, 1.5GiB, which an option has; none is 0.
std::size_t parse_size(std::string_view option, const std::string& text) {
  if (text.empty()) return 0;
  static const std::map<std::string, double, std::less<>> kUnits{
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = kUnits.find(std::string_view(end, text.data() + text.size()));
  const double bytes = unit == kUnits.end() ? 0 : number * unit->second;
  if (error != std::errc() || !(bytes >= 1 && bytes < 0x1p63)) {
    throw UsageError(fmt::format("{}: '{}' is not a size such as 4096, 500MB or 1.5GiB", option, text));
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

void check_devices(const std::vector<int>& devices) {
  for (auto one = devices.begin(); one != devices.end(); ++one) {
    if (*one < 0) throw UsageError(fmt::format("--devices: {} is not the number of a GPU, which are 0, 1, ...", *one));
    if (std::find(devices.begin(), one, *one) != one) {
      throw UsageError(fmt::format("--devices: GPU {} is named twice", *one));
    }
  }
}

void check_repeat(std::optional<int> repeat) {
  if (repeat && (*repeat < 1 || *repeat > kMaxRepeat)) {
    throw UsageError(fmt::format("--repeat: {} is not between 1 and {}", *repeat, kMaxRepeat));
  }
}

void check_shell(const CLI::App& app, const std::string& shell) {
  if (!app.got_subcommand("completion") || shell == "bash" || shell == "zsh" || shell == "fish") return;
  throw UsageError(fmt::format("completion: '{}' is not one of bash, zsh, fish{}", shell,
                               query::did_you_mean(shell, {"bash", "zsh", "fish"})));
}

void settle_log(Arguments& arguments) {
  if (!arguments.log.empty() && arguments.log != "json") {
    throw UsageError(fmt::format("--log: '{}' is not json", arguments.log));
  }
  arguments.run.logs = arguments.sql.run.logs = !arguments.log.empty();
}

Table read_columns(const std::filesystem::path& file, const std::vector<std::string>& columns) {
  datasets::ReadOptions options;
  options.columns = columns;
  return datasets::read({file}, options);
}

}  // namespace

void settle(const CLI::App& app, Arguments& arguments) {
  refuse_extras(app);
  refuse_empty_values(app);
  check_shell(app, arguments.completion.shell);
  const DeviceChoice device = parse_device(arguments.device);
  arguments.run.device = device;
  arguments.explain.device = device;
  arguments.sql.run.device = arguments.shell.sql.run.device = device;
  arguments.bench.device = device;
  arguments.bench.read_columns = read_columns;
  arguments.calibrate.device = device;
  settle_log(arguments);
  check_devices(arguments.devices);
  GpuArguments& gpus = arguments.run.gpus;
  gpus = {arguments.devices, parse_size("--gpu-memory-limit", arguments.gpu_memory_limit)};
  arguments.explain.gpus = arguments.sql.run.gpus = arguments.shell.sql.run.gpus = gpus;
  arguments.run.memory_bytes = parse_size("--memory-limit", arguments.memory_limit);
  arguments.explain.memory_bytes = arguments.run.memory_bytes;
  arguments.why.memory_bytes = arguments.run.memory_bytes;
  arguments.watch.memory_bytes = arguments.run.memory_bytes;
  arguments.sql.run.memory_bytes = arguments.run.memory_bytes;
  arguments.shell.sql.run.memory_bytes = arguments.run.memory_bytes;
  arguments.generate.memory_bytes = arguments.run.memory_bytes;
  arguments.run.timeout = parse_timeout(arguments.timeout);
  arguments.sql.run.timeout = arguments.shell.sql.run.timeout = arguments.explain.timeout = arguments.run.timeout;
  for (const int threads :
       {arguments.run.threads, arguments.explain.threads, arguments.why.threads, arguments.watch.threads,
        arguments.sql.run.threads, arguments.shell.sql.run.threads, arguments.generate.threads}) {
    check_threads(threads);
  }
  for (const int threads : arguments.bench.threads) check_threads(threads);
  check_repeat(arguments.bench.repeat);
  check_rows(arguments.run.rows);
  check_rows(arguments.sql.run.rows);
  check_rows(arguments.shell.sql.run.rows);
}

}  // namespace skyrank::tools

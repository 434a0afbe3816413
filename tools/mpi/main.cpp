#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <stop_token>
#include <string>

#include "engine/text.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/runtime/start.hpp"
#include "tools/mpi/commands.hpp"
#include "tools/skyrank/terminal/console.hpp"
#include "tools/skyrank/terminal/last_resort_at_start.hpp"
#include "tools/skyrank/terminal/signals.hpp"

// Reads the command line of skyrank_mpi, and ends all ranks where one of them fails.
namespace skyrank::mpi {
namespace {

constexpr std::uint64_t kMaxVectorRows = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxVectorK = std::uint64_t{1} << 24;

/// The command line as CLI11 reads it.
struct Texts {
  std::string device = "auto";
  std::string gather = "flat";
  std::vector<std::string> rows;
  std::string sub_vector = "2^30";
  std::string k = "128";
};

template <class Value>
Value one_of(const std::string& option, const std::string& name, const std::map<std::string, Value>& values) {
  if (const auto found = values.find(name); found != values.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : values) names.push_back(known);
  throw tools::UsageError(fmt::format("{}: '{}' is not one of {}{}", option, name, fmt::join(names, ", "),
                                      query::did_you_mean(name, names)));
}

/// Returns a number such as 1000 or 2^30.
std::uint64_t number_of(const std::string& option, const std::string& text, std::uint64_t most) {
  const auto whole = [&](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  std::uint64_t value = 0;
  std::uint64_t exponent = 0;
  bool is_number = false;
  if (text.starts_with("2^")) {
    is_number = whole(std::string_view(text).substr(2), exponent) && exponent < 64;
    value = is_number ? std::uint64_t{1} << exponent : 0;
  } else {
    is_number = whole(text, value);
  }
  if (is_number && value >= 1 && value <= most) return value;
  throw tools::UsageError(
      fmt::format("{}: '{}' is not a number from 1 to {} such as 1000 or 2^20", option, text, most));
}

void define_run(CLI::App& app, RunArguments& arguments, Texts& texts) {
  CLI::App& command = *app.add_subcommand("run", "Answer the queries of a batch from the parts of all ranks");
  tools::RunArguments& run = arguments.run;
  command.add_option("BATCH", run.batch.file, "YAML file")->required();
  command.add_option("--query", run.batch.queries, "Only this query; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--set", run.batch.settings, "table.key=value: changes a table; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--format", run.format, "table, csv, jsonl, parquet or arrow (default: table; csv with --out)");
  command.add_option("--out", run.out, "File of one query, or folder for one file a query, which rank 0 writes");
  command.add_option("--rows", run.rows, "Rows of each answer that a table shows; 0: all");
  command.add_option("--threads", run.threads, "Threads of each rank (default: all cores that MPI gives it)");
  command.add_option("--device", texts.device, "auto, cpu or cuda: GPU number (rank of the host) modulo (its GPUs)");
  command.add_option("--gather", texts.gather, "flat: all ranks send to rank 0; tree: they merge on the way");
  command.footer("Example:\n  mpirun -n 4 skyrank_mpi run batch.yaml --gather tree");
}

void define_top_k(CLI::App& app, TopKArguments& arguments, Texts& texts) {
  CLI::App& command = *app.add_subcommand("topk", "Measure distributed Dr. Top-k, a GPU a rank, and check its answers");
  command.add_option("--rows", texts.rows, "Keys of the vectors, such as 2^30,2^31")->delimiter(',')->required();
  command.add_option("--k", texts.k, "Keys that are wanted (default: 128)");
  command.add_option("--sub-vector", texts.sub_vector, "Most keys that a GPU holds at a time (default: 2^30)");
  command.add_option("--distinct", arguments.distinct, "Number of different keys (default: those of 32 bits)");
  command.add_option("--seed", arguments.seed, "Equal seeds give equal vectors (default: 1)");
  command.add_option("--repeats", arguments.repeats, "Timed runs, whose median is shown (default: 5)")
      ->check(CLI::Range(1, 1000));
  command.add_option("--algorithm", arguments.algorithm, "Top-k algorithm of each rank (default: cuda-dr-topk)");
  command.add_flag("--exchange-delegates", arguments.exchange_delegates,
                   "Ranks tell each other their k-th delegates, to read fewer keys again");
  command.add_option("--gather", texts.gather, "flat: all ranks send to rank 0; tree: they merge on the way");
  command.add_flag("--overlap", arguments.overlap,
                   "Ranks send their keys while others compute; communication then has their waits for each other");
  command.add_option("--out", arguments.out, "CSV file to which rank 0 adds a line for each vector");
  command.footer("Example:\n  mpirun -n 2 skyrank_mpi topk --rows 2^30,2^31,2^32,2^33");
}

/// The command line in its meaning.
struct Command {
  CLI::App app{"Answers skyline and top-k queries with the ranks of an MPI job."};
  RunArguments run;
  TopKArguments top_k;
  std::string help;  ///< text to print instead of running anything
};

void parse(int argc, char** argv, Command& command) {
  Texts texts;
  command.app.require_subcommand(1);
  define_run(command.app, command.run, texts);
  define_top_k(command.app, command.top_k, texts);
  try {
    command.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.help = command.app.help();
    return;
  } catch (const CLI::ParseError& error) {
    throw tools::UsageError(error.what());
  }
  const auto gather =
      one_of<GatherShape>("--gather", texts.gather, {{"flat", GatherShape::flat}, {"tree", GatherShape::tree}});
  command.run.gather = gather;
  command.top_k.gather = gather;
  command.run.run.device = one_of<DeviceChoice>(
      "--device", texts.device,
      {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}});
  for (const std::string& rows : texts.rows) {
    command.top_k.rows.push_back(number_of("--rows", rows, kMaxVectorRows));
  }
  command.top_k.k = number_of("--k", texts.k, kMaxVectorK);
  command.top_k.sub_vector = number_of("--sub-vector", texts.sub_vector, kMaxVectorRows);
}

int run_command(int argc, char** argv, const Session& session, tools::Console& console, tools::Signals& signals) {
  Command command;
  const int status = together(session, console, [&] { parse(argc, argv, command); });
  if (status != tools::success) return status;
  if (!command.help.empty()) {
    if (session.rank() == 0) console.print(command.help);
    console.flush();
    return tools::success;
  }
  if (const std::size_t gpus = kernels::cuda::find_devices().devices.size(); gpus > 0) {
    kernels::cuda::set_process_device(session.rank_on_host() % static_cast<int>(gpus));
  }
  return command.app.got_subcommand("run") ? mpi::run(command.run, session, console, signals)
                                           : top_k(command.top_k, session, console, signals);
}

/// Says why all ranks have to end, and ends them.
[[noreturn]] void give_up(int rank, const std::string& why, int status, tools::Console& console) {
  console.complain("rank " + std::to_string(rank) + ": " + why);
  std::fflush(nullptr);
  end_all_ranks(status);
}

int main(int argc, char** argv) {
  tools::install_last_resort();
  std::stop_source stop;
  tools::Console console(stop.get_token());
  tools::Signals signals(stop);  // before MPI's threads
  int rank = 0;
  try {
    const Session session(&argc, &argv);
    rank = session.rank();
    try {
      return run_command(argc, argv, session, console, signals);
    } catch (const CancelledError& error) {
      signals.set_reported();
      give_up(rank, error.what(), signals.exit_status(), console);
    } catch (const tools::OutputClosed&) {
      end_all_ranks(tools::system_failure);
    } catch (const std::bad_alloc&) {
      give_up(rank, "out of memory", tools::system_failure, console);
    } catch (const std::exception& error) {
      give_up(rank, error.what(), tools::exit_status(error), console);
    }
  } catch (const RanksFailed& error) {
    console.complain(error.what());
    return tools::system_failure;
  }
}

}  // namespace
}  // namespace skyrank::mpi

int main(int argc, char** argv) { return skyrank::mpi::main(argc, argv); }

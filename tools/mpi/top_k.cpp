#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/text.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/papers/names.hpp"
#include "kernels/registry.hpp"
#include "tools/mpi/commands.hpp"
#include "tools/mpi/distributed_top_k.hpp"

// Measures distributed Dr. Top-k: table 2 of the paper.
namespace skyrank::mpi {
namespace {

const kernels::TopKAlgorithm& algorithm_of(const std::string& name) {
  const auto all = kernels::topk_algorithms();
  const auto found = std::ranges::find(all, name, &kernels::TopKAlgorithm::name);
  if (found != all.end()) return **found;
  if (const std::string left_out = kernels::papers::why_left_out(name); !left_out.empty()) {
    throw tools::UsageError("--algorithm: " + left_out);
  }
  std::vector<std::string> names;
  for (const kernels::TopKAlgorithm* const algorithm : all) names.emplace_back(algorithm->name);
  throw tools::UsageError(fmt::format("--algorithm: there is no top-k algorithm '{}'{}; there are {}", name,
                                      query::did_you_mean(name, names), fmt::join(names, ", ")));
}

/// Checks what all ranks agree on.
const kernels::TopKAlgorithm& checked_algorithm(const TopKArguments& arguments) {
  const kernels::TopKAlgorithm& algorithm = algorithm_of(arguments.algorithm);
  if (algorithm.device == kernels::Device::cuda && kernels::cuda::find_devices().devices.empty()) {
    throw DeviceError("--algorithm " + arguments.algorithm + ": " + kernels::cuda::find_devices().reason);
  }
  if (arguments.exchange_delegates && algorithm.variants.part == nullptr) {
    throw tools::UsageError("--exchange-delegates: " + arguments.algorithm + " has no delegates; cuda-dr-topk has");
  }
  const kernels::TopKShape shape{.n = std::min(arguments.sub_vector, *std::ranges::max_element(arguments.rows)),
                                 .k = arguments.k,
                                 .widths = {kernels::KeyWidth::bytes4}};
  if (const kernels::Support support = algorithm.supports(shape); !support) {
    throw tools::UsageError("--algorithm: " + arguments.algorithm + " " + support.reason);
  }
  return algorithm;
}

Times median_of(std::vector<Times> runs) {
  const auto median = [&](double Times::*member) {
    const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
    std::ranges::nth_element(runs, middle, {}, member);
    return (*middle).*member;
  };
  return {median(&Times::communication), median(&Times::reload), median(&Times::total)};
}

constexpr const char* kHeader =
    "ranks,rows,k,sub_vectors,algorithm,gather,exchange,overlap,repeats,communication_ms,reload_ms,total_ms,correct\n";

/// Adds a line to a CSV file, with the names of the columns if it is new.
void add_line(const std::filesystem::path& file, const std::string& line) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(file, ignored);
  std::ofstream stream(file, std::ios::app);
  stream << (is_new ? kHeader : "") << line;
  stream.flush();
  if (!stream) throw ResourceError(file.string() + ": writing failed");
}

/// One vector: as many runs as are asked for, the first answer and the last one checked. Returns true if they are
/// right.
bool measure(const TopKArguments& arguments, const Session& session, const kernels::TopKAlgorithm& algorithm,
             std::uint64_t rows, tools::Console& console, tools::Signals& signals) {
  const DistributedPlan plan{arguments.k, arguments.sub_vector, arguments.exchange_delegates, arguments.gather,
                             arguments.overlap};
  DistributedTopK run(plan, session, algorithm, {rows, arguments.distinct, arguments.seed}, signals.stop_token());
  run.run();  // memory, kernels and connections are there from now on
  std::string wrong = run.wrong();
  std::vector<Times> runs;
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    runs.push_back(run.run());
    signals.check();
    if (const std::string here = run.wrong(); wrong.empty()) wrong = here;
  }
  if (session.rank() != 0) return wrong.empty();
  const Times times = median_of(std::move(runs));
  console.print(fmt::format("{:>14} {:>6} {:>12} {:>18.3f} {:>12.3f} {:>12.3f}  {}\n", rows, session.size(),
                            run.sub_vectors_of_rank(), times.communication, times.reload, times.total,
                            wrong.empty() ? "yes" : "NO: " + wrong));
  console.flush();
  if (!arguments.out.empty()) {
    add_line(arguments.out,
             fmt::format("{},{},{},{},{},{},{},{},{},{:.6f},{:.6f},{:.6f},{}\n", session.size(), rows, arguments.k,
                         run.sub_vectors_of_rank(), arguments.algorithm,
                         arguments.gather == GatherShape::flat ? "flat" : "tree", arguments.exchange_delegates ? 1 : 0,
                         arguments.overlap ? 1 : 0, arguments.repeats, times.communication, times.reload, times.total,
                         wrong.empty() ? "yes" : "no"));
  }
  return wrong.empty();
}

}  // namespace

int top_k(const TopKArguments& arguments, const Session& session, tools::Console& console, tools::Signals& signals) {
  const kernels::TopKAlgorithm* algorithm = nullptr;
  const int status = together(session, console, [&] { algorithm = &checked_algorithm(arguments); });
  if (status != tools::success) return status;
  if (session.rank() == 0) {
    console.print(fmt::format("{:>14} {:>6} {:>12} {:>18} {:>12} {:>12}  {}\n", "rows", "ranks", "sub-vectors",
                              "communication ms", "reload ms", "total ms", "correct"));
  }
  bool right = true;
  try {
    for (const std::uint64_t rows : arguments.rows) {
      right = measure(arguments, session, *algorithm, rows, console, signals) && right;
    }
  } catch (const kernels::Cancelled&) {
    throw CancelledError("the run was cancelled");
  }
  return right ? tools::success : tools::system_failure;
}

}  // namespace skyrank::mpi

// Many random queries over random tables, each answered on several paths and compared with the reference, with an eye
// on the memory of the process. Every query has a seed and can be run again alone.
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"
#include "tests/semantics/random_case.hpp"
#include "tests/semantics/reference.hpp"
#include "tests/soak/limited_memory.hpp"

namespace skyrank {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

// ---- What queries run on ----

struct Machine {
  int threads;
  Engine engine;
};

/// Engines of applications with one query a table, and with several that share columns and keys.
std::vector<Machine> make_machines() {
  std::vector<Machine> machines;
  for (const int threads : {1, 2, 5}) {
    machines.push_back({threads, Engine({.threads = threads})});
    for (const std::size_t key_bytes : {std::size_t{1} << 9, std::size_t{1} << 18}) {
      machines.push_back({threads, Engine({.threads = threads, .shared_key_bytes = key_bytes, .share_columns = true})});
    }
  }
  return machines;
}

/// Some rules of the planner, to do without; none in half of the cases.
std::vector<std::string> some_rules(Random& random) {
  std::vector<std::string> names;
  if (below(random, 2) == 0) return names;
  for (const RuleInfo& rule : rules()) {
    if (below(random, 3) == 0) names.push_back(rule.name);
  }
  return names;
}

/// One algorithm for a problem of the query, forced, now and then with parameters other than its own.
ForcedPath forced_path(const Query& query, Random& random) {
  std::vector<AlgorithmInfo> candidates = algorithms();
  std::erase_if(candidates, [&](const AlgorithmInfo& algorithm) {
    return algorithm.problem == "skyline" ? !query.prefer() : query.rank_by().empty();
  });
  ForcedPath path;
  if (candidates.empty()) return path;
  const AlgorithmInfo& chosen = candidates[below(random, candidates.size())];
  path.algorithms = {chosen.name};
  for (const AlgorithmInfo::Parameter& parameter : chosen.parameters) {
    if (below(random, 3) != 0) continue;
    const auto range = static_cast<std::size_t>(parameter.max - parameter.min);
    path.parameters[parameter.name] = parameter.min + static_cast<std::int64_t>(below(random, range + 1));
  }
  return path;
}

std::string name_of(const ForcedPath& path) {
  std::string name = path.device == DeviceChoice::cuda ? "on the GPU" : "the planner's choice";
  for (const std::string& algorithm : path.algorithms) name = algorithm;
  for (const auto& [parameter, value] : path.parameters) name += ", " + parameter + " " + std::to_string(value);
  for (const std::string& rule : path.without) name += ", without " + rule;
  return name;
}

// ---- Comparing ----

/// Says how an answer differs from what it should be; empty where it does not.
std::string difference(const Result& result, const reference::Answer& expected) {
  if (result.rows != expected.rows) {
    return std::to_string(result.rows.size()) + " rows, other than the " + std::to_string(expected.rows.size()) +
           " of the reference";
  }
  if (result.levels != expected.levels) return "levels differ";
  const std::vector<Column>& columns = result.table.columns();
  if (columns.size() != expected.cells.size()) return "the number of columns differs";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
      const Value value = columns[c].value(static_cast<std::int64_t>(i));
      if (!reference::same(value, expected.cells[c][i])) {
        return "column " + columns[c].name() + ", row " + std::to_string(i) + " is " + to_string(value) +
               " instead of " + to_string(expected.cells[c][i]);
      }
    }
  }
  return {};
}

/// The observations of all callers together.
class Tally {
 public:
  void ran(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    ++runs_;
    paths_.insert(path);
  }
  void expected(std::size_t rows) { with_rows_ += rows > 0 ? 1 : 0; }
  void refused() { ++refused_; }
  void stopped() { ++stopped_; }
  void starved() { ++starved_; }
  void failed(std::uint64_t seed, const std::string& where, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    ++failures_;
    std::fprintf(stderr, "FAILED: %s (%s)\n  again: skyrank_soak --queries 1 --seed %llu\n", what.c_str(),
                 where.c_str(), static_cast<unsigned long long>(seed));
  }

  int failures() const { return failures_; }
  void print() const {
    std::printf(
        "%d have rows in their answer; %lld runs of %zu algorithms, %d refused by the algorithm that was forced, "
        "%d stopped, %d short of memory, %d failures\n",
        with_rows_.load(), runs_, paths_.size(), refused_.load(), stopped_.load(), starved_.load(), failures_.load());
  }

 private:
  std::mutex mutex_;
  long long runs_ = 0;
  std::set<std::string> paths_;
  std::atomic<int> with_rows_ = 0;
  std::atomic<int> refused_ = 0;
  std::atomic<int> stopped_ = 0;
  std::atomic<int> starved_ = 0;
  std::atomic<int> failures_ = 0;
};

// ---- One query ----

class Soak {
 public:
  explicit Soak(bool alone) : alone_(alone) {}

  void query(std::uint64_t seed) {
    const RandomCase random_query = random_case(seed, true);
    const reference::Answer expected =
        reference::answer(random_query.query, random_query.table, random_query.evaluate());
    tally.expected(expected.rows.size());
    Random random(seed);
    run(seed, random_query, random_query.table, {}, expected, random);
    run(seed, random_query, random_query.table, forced_path(random_query.query, random), expected, random);
    // Again, now that the table knows of its columns what the first run has learnt.
    run(seed, random_query, random_query.table, {}, expected, random);
    if (has_gpu_) {
      const ForcedPath on_gpu{.algorithms = {}, .device = DeviceChoice::cuda, .parameters = {}};
      const bool pinned = below(random, 2) == 0;
      const Table& table = random_query.table;
      run(seed, random_query, pinned ? machines_.front().engine.pin(table) : table, on_gpu, expected, random);
    }
    if (below(random, 10) == 0) stop(seed, random_query, expected, random);
    if (below(random, 10) == 0) limit(seed, random_query, expected, random);
    if (alone_ && !has_gpu_ && below(random, 10) == 0) starve(seed, random_query, expected, random);
  }

  Tally tally;

 private:
  const Machine& any_machine(Random& random) const { return machines_[below(random, machines_.size())]; }

  void run(std::uint64_t seed, const RandomCase& random_query, const Table& table, ForcedPath path,
           const reference::Answer& expected, Random& random) {
    const Machine& machine = any_machine(random);
    const bool forced = path != ForcedPath{};
    path.without = some_rules(random);
    const std::string where = name_of(path) + ", " + std::to_string(machine.threads) + " threads";
    try {
      Query query = random_query.query;
      const Result result = machine.engine.run(
          query.using_path(path), table,
          {.count_work = below(random, 2) == 0, .stop = {}, .later_queries = static_cast<int>(below(random, 3))});
      note_algorithms(result.plan);
      const std::string wrong = difference(result, expected);
      if (!wrong.empty()) tally.failed(seed, where, wrong);
    } catch (const BindError& error) {
      // A forced algorithm may not take the query; the planner always finds one that does.
      if (!forced) {
        tally.failed(seed, where, error.what());
      } else {
        tally.refused();
      }
    } catch (const std::exception& error) {
      tally.failed(seed, where, error.what());
    }
  }

  /// Stops a run after some microseconds: it is cancelled, or its answer is right.
  void stop(std::uint64_t seed, const RandomCase& random_query, const reference::Answer& expected, Random& random) {
    const Machine& machine = any_machine(random);
    std::stop_source source;
    std::jthread stopper([&source, wait = std::chrono::microseconds(below(random, 500))] {
      std::this_thread::sleep_for(wait);
      source.request_stop();
    });
    try {
      const Result result =
          machine.engine.run(random_query.query, random_query.table, {.count_work = false, .stop = source.get_token()});
      const std::string wrong = difference(result, expected);
      if (!wrong.empty()) tally.failed(seed, "stopped, " + std::to_string(machine.threads) + " threads", wrong);
    } catch (const CancelledError&) {
      tally.stopped();
    } catch (const std::exception& error) {
      tally.failed(seed, "stopped, " + std::to_string(machine.threads) + " threads", error.what());
    }
  }

  /// Lets a run have little memory: it says that it is too little, or its answer is right.
  void starve(std::uint64_t seed, const RandomCase& random_query, const reference::Answer& expected, Random& random) {
    const Machine& machine = any_machine(random);
    const std::size_t most = (std::size_t{64} << 10) + below(random, std::size_t{1} << below(random, 22));
    try {
      const Result result = [&] {
        const memory::Limit limit(memory::live() + most);
        return machine.engine.run(random_query.query, random_query.table);
      }();
      const std::string wrong = difference(result, expected);
      if (!wrong.empty()) tally.failed(seed, std::to_string(most) + " bytes of memory", wrong);
    } catch (const ResourceError&) {
      tally.starved();
    } catch (const std::exception& error) {
      tally.failed(seed, std::to_string(most) + " bytes of memory", error.what());
    }
  }

  /// Runs on an engine with a limit of memory, which is kept: the query says that it needs more, or its answer is
  /// right. Callers share one such engine; one that is alone has a new one, with any limit, and watches the heap too.
  void limit(std::uint64_t seed, const RandomCase& random_query, const reference::Answer& expected, Random& random) {
    constexpr std::size_t kNotCounted = std::size_t{1} << 20;  // plans and messages, and what threads have once
    const std::size_t most = (std::size_t{1} << 10) + below(random, std::size_t{1} << below(random, 22));
    const std::string where = "a limit of " + std::to_string(alone_ ? most : kSharedLimit) + " bytes";
    try {
      const Engine own({.threads = static_cast<int>(1 + below(random, 4)), .memory_bytes = most});
      const std::size_t before = memory::live();
      memory::reset_peak();
      const Result result = (alone_ ? own : limited_).run(random_query.query, random_query.table);
      if (alone_ && memory::peak() > before + most + kNotCounted) {
        tally.failed(seed, where, "it took " + std::to_string(memory::peak() - before));
      }
      const std::string wrong = difference(result, expected);
      if (!wrong.empty()) tally.failed(seed, where, wrong);
    } catch (const ResourceError&) {
      tally.starved();
    } catch (const std::exception& error) {
      tally.failed(seed, where, error.what());
    }
  }

  void note_algorithms(const PlanNode& plan) {
    if (!plan.algorithm.empty()) tally.ran(plan.algorithm);
    for (const PlanNode& child : plan.children) note_algorithms(child);
  }

  static constexpr std::size_t kSharedLimit = std::size_t{100} << 10;

  std::vector<Machine> machines_ = make_machines();
  Engine limited_ = Engine({.threads = 2, .memory_bytes = kSharedLimit});
  bool alone_;
  bool has_gpu_ = !kernels::cuda::find_devices().devices.empty();
};

// ---- Memory ----

struct Memory {
  double resident_mib = 0;
  double heap_mib = 0;  ///< allocated and not freed
};

Memory look_at_memory() {
  malloc_trim(0);  // what is free is not what leaks
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  constexpr double kMib = 1 << 20;
  return {static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / kMib, static_cast<double>(memory::live()) / kMib};
}

/// The highest of each measure in part of a run, in quarters.
Memory highest(const std::vector<Memory>& samples, std::size_t quarter) {
  const std::size_t begin = samples.size() * quarter / 4;
  const std::size_t end = samples.size() * (quarter + 1) / 4;
  Memory result;
  for (std::size_t i = begin; i < end; ++i) {
    result.resident_mib = std::max(result.resident_mib, samples[i].resident_mib);
    result.heap_mib = std::max(result.heap_mib, samples[i].heap_mib);
  }
  return result;
}

/// Returns true if the last quarter of a run takes no more memory than the second; the first one warms up.
bool is_flat(const std::vector<Memory>& samples) {
  const Memory before = highest(samples, 1);
  const Memory after = highest(samples, 3);
  return after.heap_mib <= before.heap_mib + 1 && after.resident_mib <= before.resident_mib + 16;
}

// ---- All of it ----

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t queries = 10'000;
  int callers = 1;
  bool check_memory = true;
};

int soak(const Options& options) {
  constexpr std::uint64_t kSamples = 40;
  const auto start = std::chrono::steady_clock::now();
  Soak soak(options.callers == 1);
  std::vector<Memory> samples{look_at_memory()};
  for (std::uint64_t part = 0; part < kSamples && soak.tally.failures() == 0; ++part) {
    std::atomic<std::uint64_t> next = options.queries * part / kSamples;
    const std::uint64_t end = options.queries * (part + 1) / kSamples;
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < options.callers; ++caller) {
      callers.emplace_back([&] {
        for (std::uint64_t i = next++; i < end; i = next++) soak.query(options.seed + i);
      });
    }
    callers.clear();
    samples.push_back(look_at_memory());
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::printf("%llu queries from seed %llu by %d callers in %.1f s: ", static_cast<unsigned long long>(options.queries),
              static_cast<unsigned long long>(options.seed), options.callers, passed.count());
  soak.tally.print();
  const Memory& middle = samples[samples.size() / 2];
  std::printf("resident %.1f MiB at the start, %.1f in the middle, %.1f at the end; on the heap %.2f, %.2f, %.2f MiB\n",
              samples.front().resident_mib, middle.resident_mib, samples.back().resident_mib, samples.front().heap_mib,
              middle.heap_mib, samples.back().heap_mib);
  if (soak.tally.failures() > 0) return 1;
  if (options.check_memory && !is_flat(samples)) {
    std::fputs("FAILED: memory grows; resident and heap MiB after each part:\n", stderr);
    for (const Memory& sample : samples) std::fprintf(stderr, "  %.1f %.2f\n", sample.resident_mib, sample.heap_mib);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace skyrank

int main(int argc, char** argv) {
  skyrank::Options options;
  CLI::App app{"Random queries against the reference, with flat memory"};
  app.add_option("--queries", options.queries, "how many")->capture_default_str();
  app.add_option("--seed", options.seed, "of the first query; the others follow")->capture_default_str();
  app.add_option("--callers", options.callers, "threads that share the engines")->capture_default_str();
  app.add_flag("!--no-memory", options.check_memory, "do not look at memory (sanitizers keep what is freed)");
  CLI11_PARSE(app, argc, argv);
  return skyrank::soak(options);
}

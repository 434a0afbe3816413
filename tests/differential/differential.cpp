// Batches of random queries over random tables, run as applications and the command line run them, against an oracle.
//
// The oracle (oracle/) shares no code with the engine: queries are made as trees of its own, which
// it evaluates pair of rows by pair of rows in integers of 128 bits; the engine gets nothing but their YAML text and
// the columns. It is C++ and in this process, not Python beside it, because faults of a GPU's memory show only in many
// answers: some hundred thousand take minutes. files.cpp runs the same batches over files by the command line.
//
// Each batch has 20 to 30 queries over one table, run in order by engines that share columns and keys, that share none
// and that share little, with a limit of memory and without, with tables pinned and not, by one caller and by several
// at once, with rules off at random and with forced algorithms beside planned ones. The last line says how many answers
// were compared and how many were wrong; a wrong one comes with its batch in a file and the command that repeats it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"
#include "tests/build.hpp"
#include "tests/differential/compare.hpp"
#include "tests/differential/generate.hpp"
#include "tests/differential/oracle/oracle.hpp"

namespace skyrank::differential {
namespace {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t batches = std::numeric_limits<std::int64_t>::max();
  std::int64_t answers = 20'000;
  int seconds = std::numeric_limits<int>::max();
  int workers = 1;
  std::string device = "auto";
  std::int64_t max_rows = tests::kEmulated ? 200 : 2000;
  std::filesystem::path keep = "differential-failures";
};

// ---- Comparing ----

std::string shown(const std::vector<std::int64_t>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size() && i < 20; ++i) text += " " + std::to_string(rows[i]);
  return text + (rows.size() > 20 ? " ..." : "") + " (" + std::to_string(rows.size()) + ")";
}

/// The same where ties may fall in any way: rows and levels are those of rows that may stand in the answer, and of
/// those that the table shows.
std::string difference_but_for_ties(const Result& result, const Answer& expected) {
  if (result.rows.size() != expected.rows.size()) {
    return "rows" + shown(result.rows) + " instead of as many as" + shown(expected.rows);
  }
  if (result.levels.size() != expected.levels.size()) return "another number of levels";
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const auto entry = std::ranges::find(expected.candidates, result.rows[i], &Entry::row);
    if (entry == expected.candidates.end()) return "row " + std::to_string(result.rows[i]) + " has no place here";
    if (!result.levels.empty() && result.levels[i] != entry->level) return "other levels";
    // The first column tells the row.
    const Value row = result.table.columns().front().value(static_cast<std::int64_t>(i));
    if (row != Value(result.rows[i])) return "rows" + shown(result.rows) + ", but others in the table";
  }
  return difference(result.table, expected);
}

/// Says how an answer differs from what it should be; empty where it does not.
std::string difference(const Result& result, const Answer& expected) {
  if (expected.refused) return "an answer where a missing value should have been an error";
  if (!expected.places.empty()) return difference_but_for_ties(result, expected);
  if (result.rows != expected.rows) return "rows" + shown(result.rows) + " instead of" + shown(expected.rows);
  if (result.levels != expected.levels) return "other levels";
  return difference(result.table, expected);
}

// ---- Running ----

/// Words of every refusal for want of memory.
constexpr const char* kOverLimit = "the engine's limit of memory is ";

struct Way {
  EngineOptions engine;
  std::optional<PinTime> pin = {};
  int callers = 1;
  bool backwards = false;
};

std::string name_of(const Way& way) {
  constexpr const char* kDevices[] = {"auto", "cpu", "cuda"};
  std::string name = "device " + std::string(kDevices[static_cast<std::size_t>(way.engine.device)]) + ", " +
                     std::to_string(way.engine.threads) + " threads, " + std::to_string(way.callers) + " callers";
  if (way.engine.share_columns) name += ", shared columns";
  if (way.engine.shared_key_bytes > 0)
    name += ", " + std::to_string(way.engine.shared_key_bytes) + " bytes of shared keys";
  if (way.engine.memory_bytes > 0) name += ", memory for " + std::to_string(way.engine.memory_bytes) + " bytes";
  if (way.pin) name += *way.pin == PinTime::now ? ", pinned" : ", pinned on use";
  if (way.backwards) name += ", last query first";
  for (const std::string& rule : way.engine.without) name += ", without " + rule;
  return name;
}

class Tally {
 public:
  void compared() { ++compared_; }
  void refused() { ++refused_; }
  void wrong() { ++wrong_; }
  std::int64_t answers() const { return compared_; }
  std::int64_t failures() const { return wrong_; }
  std::int64_t refusals() const { return refused_; }

 private:
  std::atomic<std::int64_t> compared_ = 0;
  std::atomic<std::int64_t> refused_ = 0;
  std::atomic<std::int64_t> wrong_ = 0;
};

bool has_gpu() {
  static const bool has = !kernels::cuda::find_devices().devices.empty();
  return has;
}

/// One batch, all the ways it is run, and what comes of it.
class Case {
 public:
  Case(std::uint64_t seed, const Options& options, const Names& names, Tally& tally)
      : seed_(seed), options_(options), random_(seed), tally_(tally), input_(random_input(random_, options.max_rows)) {
    const std::int64_t count = 20 + random_.below(11);
    for (std::int64_t i = 0; i < count; ++i) {
      Query query = random_query(random_, input_, names);
      query.name = "q" + std::to_string(i);
      answers_.push_back(answer(query, input_.relation));
      made_.push_back(std::move(query));
    }
    yaml_ = yaml_of(made_, input_.relation);
    names_ = names;
  }

  void run() {
    Batch batch;
    try {
      batch = parse_batch(yaml_, "differential");
    } catch (const Error& error) {
      return report("the parser", error.what(), {});
    }
    for (const Way& way : ways()) run(batch, way);
  }

 private:
  std::vector<Way> ways() {
    const DeviceChoice device = options_.device == "cuda"  ? DeviceChoice::cuda
                                : options_.device == "cpu" ? DeviceChoice::cpu
                                                           : DeviceChoice::automatic;
    // The first is the command line's.
    std::vector<Way> ways = {{.engine = {.threads = static_cast<int>(1 + random_.below(3)),
                                         .device = device,
                                         .shared_key_bytes = std::size_t{1} << 30,
                                         .share_columns = true}}};
    for (int i = 0; i < 3; ++i) ways.push_back(random_way(device));
    return ways;
  }

  Way random_way(DeviceChoice device) {
    Way way{.engine = {.threads = static_cast<int>(1 + random_.below(4)),
                       .device = has_gpu() && device == DeviceChoice::automatic && random_.chance(50)
                                     ? DeviceChoice::cuda
                                     : device,
                       .shared_key_bytes = random_.one_of<std::size_t>({0, 600, 20'000, std::size_t{1} << 30}),
                       .share_columns = random_.chance(60)}};
    if (random_.chance(20)) {
      way.engine.memory_bytes = random_.one_of<std::size_t>({1, 1'000, 10'000, 100'000, 1'000'000});
    }
    if (random_.chance(25)) way.callers = 3;
    way.backwards = random_.chance(30);
    if (has_gpu() && device != DeviceChoice::cpu && random_.chance(30)) {
      way.pin = random_.chance(50) ? PinTime::now : PinTime::on_use;
    }
    for (const std::string& rule : names_.rules) {
      if (random_.chance(random_.chance(30) ? 40 : 0)) way.engine.without.push_back(rule);
    }
    return way;
  }

  void run(const Batch& batch, const Way& way) {
    const Engine engine(way.engine);
    Table table = stored(input_, random_);
    if (way.pin) table = engine.pin(table, *way.pin);
    const std::size_t count = batch.queries.size();
    std::atomic<std::size_t> next = 0;
    const auto call = [&] {
      for (std::size_t turn = next++; turn < count; turn = next++) {
        const std::size_t i = way.backwards ? count - 1 - turn : turn;
        compare(engine, way, batch.queries[i], i, table, static_cast<int>(count - 1 - turn));
      }
    };
    std::vector<std::jthread> others;
    for (int caller = 1; caller < way.callers; ++caller) others.emplace_back(call);
    call();
  }

  void compare(const Engine& engine, const Way& way, const skyrank::Query& query, std::size_t i, const Table& table,
               int later) {
    const Answer& expected = answers_[i];
    std::string wrong;
    try {
      wrong = difference(engine.run(query, table, {.count_work = false, .stop = {}, .later_queries = later}), expected);
    } catch (const BindError& error) {
      // A forced algorithm or device need not take the query.
      if (made_[i].path.may_be_refused() || way.engine.device == DeviceChoice::cuda) return tally_.refused();
      wrong = error.what();
    } catch (const ResourceError& error) {
      // Too small a limit is told; whatever fits it is right.
      const bool tells_limit = error.message().find(kOverLimit) != std::string::npos;
      if (way.engine.memory_bytes > 0 && tells_limit) return tally_.refused();
      wrong = error.what();
    } catch (const DataError& error) {
      if (!expected.refused) wrong = error.what();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    tally_.compared();
    if (!wrong.empty()) report(name_of(way), wrong, made_[i].name);
  }

  /// Prints a failure and keeps the batch and its table.
  void report(const std::string& where, const std::string& what, const std::string& query) {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    tally_.wrong();
    const std::filesystem::path folder = options_.keep / std::to_string(seed_);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "batch.yaml") << yaml_;
    write_table(folder / "t.csv");
    std::fprintf(stderr,
                 "WRONG: %s of seed %llu (%s): %s\n  batch: %s\n  again: skyrank_differential --seed %llu --batches 1 "
                 "--device %s --rows %lld\n",
                 query.c_str(), static_cast<unsigned long long>(seed_), where.c_str(), what.c_str(),
                 (folder / "batch.yaml").c_str(), static_cast<unsigned long long>(seed_), options_.device.c_str(),
                 static_cast<long long>(options_.max_rows));
  }

  void write_table(const std::filesystem::path& file) const {
    std::ofstream out(file);
    const Relation& table = input_.relation;
    for (std::size_t c = 0; c < table.fields.size(); ++c) {
      out << (c > 0 ? "," : "") << table.fields[c].name << " " << to_string(input_.types[c]);
    }
    for (const Row& row : table.rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        out << (c > 0 ? "," : "\n") << (is_null(row[c]) ? "" : spelled(row[c], table.fields[c].domain));
      }
    }
    out << "\n";
  }

  std::uint64_t seed_;
  const Options& options_;
  Random random_;
  Tally& tally_;
  Input input_;
  Names names_;
  std::vector<Query> made_;
  std::vector<Answer> answers_;
  std::string yaml_;
};

int compare_all(const Options& options) {
  constexpr std::int64_t kTooMany = 20;
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (options.device == "cuda" && !has_gpu()) {
    std::fprintf(stderr, "no GPU: %s\n", kernels::cuda::find_devices().reason.c_str());
    return 1;
  }
  const Names names = names_of_engine(has_gpu() && options.device != "cpu");
  Tally tally;
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t i = next++; i < options.batches && tally.answers() < options.answers &&
                                  tally.failures() < kTooMany && passed() < options.seconds;
         i = next++) {
      Case(options.seed + static_cast<std::uint64_t>(i), options, names, tally).run();
    }
  };
  std::vector<std::jthread> workers;
  for (int worker = 1; worker < options.workers; ++worker) workers.emplace_back(work);
  work();
  workers.clear();
  std::printf("from seed %llu in %.1f s, %lld refused by what was forced\n%lld answers compared, %lld wrong\n",
              static_cast<unsigned long long>(options.seed), passed(), static_cast<long long>(tally.refusals()),
              static_cast<long long>(tally.answers()), static_cast<long long>(tally.failures()));
  return tally.failures() == 0 && tally.answers() > 0 ? 0 : 1;
}

}  // namespace
}  // namespace skyrank::differential

int main(int argc, char** argv) {
  setenv("SKYRANK_POISON_DEVICE_MEMORY", "1", 0);
  skyrank::differential::Options options;
  CLI::App app{"Batches of random queries against an oracle that shares no code with the engine"};
  app.add_option("--seed", options.seed, "of the first batch; the others follow")->capture_default_str();
  app.add_option("--batches", options.batches, "at most so many");
  app.add_option("--answers", options.answers, "stop after so many")->capture_default_str();
  app.add_option("--seconds", options.seconds, "begin no batch after so many");
  app.add_option("--workers", options.workers, "batches at a time")->capture_default_str();
  app.add_option("--device", options.device, "of the engines: auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--rows", options.max_rows, "of a table at most")->capture_default_str();
  app.add_option("--keep", options.keep, "folder for batches that fail")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return skyrank::differential::compare_all(options);
}

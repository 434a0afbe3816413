// The batches of differential.cpp over files: tables are written as Parquet or Arrow files, strings in dictionaries and
// plain, or spelled as CSV by the oracle, the built command line runs the batch into a folder of such files, and these
// are compared with the oracle.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include <skyrank/error.hpp>

#include "datasets/source.hpp"
#include "datasets/write/writer.hpp"
#include "tests/differential/compare.hpp"
#include "tests/tools/program.hpp"

namespace skyrank::differential {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t seed = 1;
  int batches = std::numeric_limits<int>::max();
  int seconds = std::numeric_limits<int>::max();
  std::int64_t max_rows = 600;
  fs::path keep = "differential-failures";
};

struct Counts {
  int compared = 0;
  int refused = 0;
  int wrong = 0;
};

Table read(const fs::path& file) {
  TableSpec source;
  source.name = "answer";
  source.files = {file.string()};
  return datasets::load(source, file.parent_path());
}

class Case {
 public:
  Case(std::uint64_t seed, const Options& options) : seed_(seed), options_(options), random_(seed) {}

  void run(Counts& counts) {
    const std::string table = random_.one_of<std::string>({"t.parquet", "t.arrow", "t.csv"});
    const bool is_text = table == "t.csv";
    const Input input =
        is_text ? random_text_input(random_, options_.max_rows) : random_input(random_, options_.max_rows);
    const Names names = names_of_engine(false);
    for (std::int64_t i = 20 + random_.below(11); i > 0; --i) {
      queries_.push_back(random_query(random_, input, names));
      queries_.back().name = "q" + std::to_string(queries_.size());
    }
    const std::string format = random_.chance(50) ? "parquet" : "arrow";
    fs::create_directories(folder_);
    if (is_text) {
      std::ofstream(folder_ / table, std::ios::binary) << csv_of(input.relation, random_);
    } else {
      // Parquet has no NULL in a dictionary.
      const auto null_entries = table == "t.arrow" ? NullEntries::unmarked : NullEntries::marked;
      datasets::write(stored(input, random_, null_entries), folder_ / table, datasets::format_of(table));
    }
    std::string yaml = yaml_of(queries_, input.relation);
    yaml.replace(yaml.find("t.csv"), 5, table);
    std::ofstream(folder_ / "batch.yaml") << yaml;
    const testing::Outcome outcome = testing::run_skyrank(
        {"run", (folder_ / "batch.yaml").string(), "--out", (folder_ / "answers").string(), "--format", format});
    const int before = counts.wrong;
    for (const Query& query : queries_) {
      compare(query, answer(query, input.relation), folder_ / "answers" / (query.name + "." + format), counts);
    }
    if (counts.wrong > before) std::fprintf(stderr, "%s\n", outcome.err.c_str());
    if (counts.wrong == before) fs::remove_all(folder_);
  }

 private:
  void compare(const Query& query, const Answer& expected, const fs::path& file, Counts& counts) const {
    const bool answered = fs::exists(file);
    if (!answered && !expected.refused && query.path.may_be_refused()) {
      ++counts.refused;
      return;
    }
    ++counts.compared;
    std::string wrong;
    if (answered == expected.refused) {
      wrong = answered ? "an answer where a missing value should have been an error" : "no answer";
    } else if (answered) {
      wrong = difference(read(file), expected);
    }
    if (wrong.empty()) return;
    ++counts.wrong;
    std::fprintf(stderr,
                 "WRONG: %s: %s\n  again: skyrank run %s --query %s\n  or: skyrank_differential_files --seed %llu "
                 "--batches 1 --rows %lld\n",
                 query.name.c_str(), wrong.c_str(), (folder_ / "batch.yaml").c_str(), query.name.c_str(),
                 static_cast<unsigned long long>(seed_), static_cast<long long>(options_.max_rows));
  }

  std::uint64_t seed_;
  const Options& options_;
  Random random_;
  fs::path folder_ = options_.keep / ("files-" + std::to_string(seed_));
  std::vector<Query> queries_;
};

int compare_all(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Counts counts;
  for (int i = 0; i < options.batches && passed() < options.seconds && counts.wrong < 20; ++i) {
    Case(options.seed + static_cast<std::uint64_t>(i), options).run(counts);
  }
  std::printf("from seed %llu in %.1f s, %d refused by what was forced\n%d answers compared, %d wrong\n",
              static_cast<unsigned long long>(options.seed), passed(), counts.refused, counts.compared, counts.wrong);
  return counts.wrong == 0 && counts.compared > 0 ? 0 : 1;
}

}  // namespace
}  // namespace skyrank::differential

int main(int argc, char** argv) {
  skyrank::differential::Options options;
  CLI::App app{"Batches of random queries over files, by the command line, against an oracle of their own"};
  app.add_option("--seed", options.seed, "of the first batch; the others follow")->capture_default_str();
  app.add_option("--batches", options.batches, "at most so many");
  app.add_option("--seconds", options.seconds, "begin no batch after so many");
  app.add_option("--rows", options.max_rows, "of a table at most")->capture_default_str();
  app.add_option("--keep", options.keep, "folder for batches that fail")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return skyrank::differential::compare_all(options);
}

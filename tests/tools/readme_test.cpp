#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/program.hpp"

// What README shows is what the program prints, but for times, and what differs in a build with CUDA.
namespace skyrank::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::string& readme() {
  static const std::string kText = read_file(std::string(SKYRANK_SOURCE_DIR) + "/README.md");
  return kText;
}

/// The lines of the block of text that has `first` as its first line.
std::vector<std::string> block(const std::string& first) {
  const std::vector<std::string> lines = lines_of(readme());
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!lines[i].starts_with("```") || lines[i + 1] != first) continue;
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    return {begin, std::find(begin, lines.end(), "```")};
  }
  ADD_FAILURE() << "README has no block that begins with " << first;
  return {};
}

/// Each number between `before` and `after` becomes N.
std::string without_numbers(const std::string& line, const std::string& before, const std::string& after) {
  std::string result;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i + before.size();
    const std::size_t end = std::min(line.find_first_not_of("0123456789.e+", begin), line.size());
    if (line.compare(i, before.size(), before) == 0 && end > begin && line.compare(end, after.size(), after) == 0) {
      result += before + "N" + after;
      i = end + after.size();
    } else {
      result += line[i++];
    }
  }
  return result;
}

/// Times, and how they compare, become marks; what a build with CUDA has more is left out.
std::vector<std::string> masked(const std::vector<std::string>& lines) {
  const std::string device = "device auto: the CPU, ";
  std::vector<std::string> result;
  for (std::string line : lines) {
    if (line.find("not cuda-") != std::string::npos) continue;
    line = without_numbers(line, "", " ms");
    line = without_numbers(line, "predicted ", " times");
    line = without_numbers(line, "cheapest of ", "");
    if (const std::size_t place = line.find(device); place != std::string::npos) line.resize(place + device.size());
    result.push_back(line);
  }
  return result;
}

Outcome run_in_clone(const std::vector<std::string>& arguments) {
  // Without a profile of this machine's, and on as many threads everywhere: both change what is predicted.
  ProgramOptions options;
  options.folder = SKYRANK_SOURCE_DIR;
  options.environment = {"XDG_CACHE_HOME=/nonexistent"};
  const Outcome outcome = run_skyrank(arguments, options);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome;
}

TEST(Readme, ShowsTheAnswerOfTheQuickStart) {
  const Outcome outcome = run_in_clone({"run", "datasets/examples/hotels.yaml", "--query", "good-deals"});
  EXPECT_EQ(masked(lines_of(outcome.out)), masked(block("good-deals")));
}

TEST(Readme, ShowsWhatExplainSays) {
  const Outcome outcome =
      run_in_clone({"explain", "datasets/examples/hotels.yaml", "--query", "top-rated", "--threads", "2"});
  EXPECT_EQ(masked(lines_of(outcome.out)), masked(block("top-rated")));
}

TEST(Readme, ShowsWhatAMistakeInABatchIsAnsweredWith) {
  const std::vector<std::string> shown =
      block("skyrank: batch.yaml:7:12: there is no column 'pric'; did you mean 'price'?");
  const TemporaryFolder folder;
  folder.write("hotels.csv", "price,rating\n1,2\n");
  folder.write("rag.csv", "a,b\n1,2\n3\n");
  folder.write("batch.yaml",
               "version: 1\n"
               "tables:\n"
               "  hotels: {file: hotels.csv}\n"
               "queries:\n"
               "  - name: q\n"
               "    from: hotels\n"
               "    where: pric > 3\n"
               "    rank_by: {low: rating}\n");
  folder.write("ragged.yaml",
               "version: 1\n"
               "tables:\n"
               "  rag: {file: rag.csv}\n"
               "queries:\n"
               "  - {name: q, from: rag, rank_by: {low: a}}\n");
  const auto error_of = [&](const std::string& batch) {
    ProgramOptions options;
    options.folder = folder.path();
    const Outcome outcome = run_skyrank({"run", batch}, options);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(error_of("batch.yaml"), shown[0] + "\n");
  EXPECT_EQ(error_of("ragged.yaml"), shown[1] + "\n");
}

/// What comes after `$ build/release/skyrank` in console blocks, without comments and the brackets of what may be left
/// out.
std::vector<std::vector<std::string>> commands() {
  const std::string start = "$ build/release/skyrank ";
  std::vector<std::vector<std::string>> all;
  for (std::string line : lines_of(readme())) {
    if (!line.starts_with(start)) continue;
    line = line.substr(start.size(), line.find(" #") - start.size());
    std::erase_if(line, [](char c) { return c == '[' || c == ']'; });
    std::istringstream words(line);
    all.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return all;
}

TEST(Readme, NamesNoOptionThatIsNotThere) {
  EXPECT_GE(commands().size(), 8u);
  for (const std::vector<std::string>& command : commands()) {
    const std::string help = run_in_clone({command.front(), "--help"}).out;
    for (const std::string& word : command) {
      if (word.starts_with("--")) {
        EXPECT_THAT(help, HasSubstr(word)) << command.front();
      }
    }
  }
}

TEST(Readme, CommandsOverFilesOfTheCloneRunAsWritten) {
  const TemporaryFolder folder;
  int ran = 0;
  for (std::vector<std::string> command : commands()) {
    if (command.front() == "generate") {
      command.back() = folder / command.back();
    } else if (command.front() == "bench") {
      // All but the measuring, which takes as long as it takes.
      std::erase(command, "--device");
      std::erase(command, "cuda");
      command.emplace_back("--list");
    } else if (command.front() == "calibrate" || std::ranges::count(command, "BATCH.yaml") > 0) {
      continue;
    }
    run_in_clone(command);
    ++ran;
  }
  EXPECT_GE(ran, 5);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"points.parquet"});
}

}  // namespace
}  // namespace skyrank::testing

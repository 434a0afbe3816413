#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/program.hpp"

// The pages for users show what the program prints, except for times and for what a build with CUDA prints besides.
namespace skyrank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

const std::filesystem::path kRoot = SKYRANK_SOURCE_DIR;

/// A fenced block of a page.
struct Block {
  std::string place;     ///< "README.md:12"
  std::string language;  ///< behind the fence: "yaml", "text", "console", ...
  std::vector<std::string> lines;
  bool follows_block = false;  ///< only blank lines stand between this block and the one before it
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// README.md and the pages below engine/docs, sorted.
std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> result = {kRoot / "README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "engine/docs")) {
    if (entry.path().extension() == ".md") result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<Block> blocks_of(const std::filesystem::path& page) {
  std::vector<Block> blocks;
  const std::vector<std::string> lines = lines_of(read_file(page));
  bool adjacent = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("```")) {
      adjacent = adjacent && lines[i].empty();
      continue;
    }
    Block block{page.filename().string() + ":" + std::to_string(i + 1), lines[i].substr(3), {}, adjacent};
    while (++i < lines.size() && lines[i] != "```") block.lines.push_back(lines[i]);
    blocks.push_back(std::move(block));
    adjacent = true;
  }
  return blocks;
}

const std::vector<Block>& blocks() {
  static const std::vector<Block> kBlocks = [] {
    std::vector<Block> all;
    for (const std::filesystem::path& page : pages()) std::ranges::move(blocks_of(page), std::back_inserter(all));
    return all;
  }();
  return kBlocks;
}

/// Returns the lines of the block that has `first` as its first line.
std::vector<std::string> block(const std::string& first) {
  for (const Block& block : blocks()) {
    if (!block.lines.empty() && block.lines.front() == first && block.language == "text") return block.lines;
  }
  ADD_FAILURE() << "no page has a block that begins with " << first;
  return {};
}

/// Replaces each number between `before` and `after` by N.
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

/// Replaces times and how they compare by marks, and leaves out what only a build with CUDA prints.
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
  // A profile of this machine, or a GPU, would change what is predicted.
  ProgramOptions options;
  options.folder = SKYRANK_SOURCE_DIR;
  options.environment = {"XDG_CACHE_HOME=/nonexistent", "CUDA_VISIBLE_DEVICES="};
  const Outcome outcome = run_skyrank(arguments, options);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome;
}

TEST(Documents, ShowTheAnswerOfTheQuickStart) {
  const Outcome outcome = run_in_clone({"run", "datasets/examples/hotels.yaml", "--query", "top-rated"});
  EXPECT_EQ(masked(lines_of(outcome.out)), masked(block("top-rated")));
}

/// Returns the block with the plan of `top-rated`.
std::vector<std::string> explained() {
  for (const Block& block : blocks()) {
    if (block.lines.size() > 2 && block.lines[0] == "top-rated" && block.lines[1].starts_with("gather")) {
      return block.lines;
    }
  }
  ADD_FAILURE() << "no page shows the plan of top-rated";
  return {};
}

TEST(Documents, ShowWhatExplainSays) {
  const Outcome outcome =
      run_in_clone({"explain", "datasets/examples/hotels.yaml", "--query", "top-rated", "--threads", "2"});
  EXPECT_EQ(masked(lines_of(outcome.out)), masked(explained()));
}

TEST(Documents, ShowWhyARowIsNotInTheAnswer) {
  const Outcome outcome = run_in_clone({"why", "datasets/examples/hotels.yaml", "good-deals", "2"});
  EXPECT_EQ(lines_of(outcome.out), block(lines_of(outcome.out).front()));
}

TEST(Documents, ShowChangesThatWatchPrints) {
  const Outcome outcome = run_in_clone({"watch", "datasets/examples/hotels.yaml", "--query", "top-rated", "--from",
                                        "datasets/examples/hotels.csv", "--step", "32"});
  EXPECT_EQ(lines_of(outcome.out), block(lines_of(outcome.out).front()));
}

TEST(Documents, ShowWhatAMistakeInABatchIsAnsweredWith) {
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

/// Splits a command line at its spaces, but not within double quotes.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> std::quoted(word);) words.push_back(word);
  return words;
}

/// Returns the arguments of `$ build/release/skyrank` in console blocks, without comments and without the brackets
/// around what may be left out.
std::vector<std::vector<std::string>> commands() {
  const std::string start = "$ build/release/skyrank ";
  std::vector<std::vector<std::string>> all;
  for (const Block& block : blocks()) {
    for (std::string line : block.lines) {
      if (!line.starts_with(start)) continue;
      line = line.substr(start.size(), line.find(" #") - start.size());
      std::erase_if(line, [](char c) { return c == '[' || c == ']'; });
      all.push_back(words_of(line));
    }
  }
  return all;
}

TEST(Documents, NameNoOptionThatIsNotThere) {
  std::vector<std::string> seen;
  for (const std::vector<std::string>& command : commands()) {
    seen.push_back(command.front());
    const std::string help = run_in_clone({command.front(), "--help"}).out;
    for (const std::string& word : command) {
      if (word.starts_with("--")) {
        EXPECT_THAT(help, HasSubstr(word)) << command.front();
      }
    }
  }
  EXPECT_THAT(seen,
              IsSupersetOf({"run", "check", "explain", "sql", "show", "algorithms", "generate", "calibrate", "bench"}));
}

TEST(Documents, ShowCommandsThatRunAsWritten) {
  const TemporaryFolder folder;
  int ran = 0;
  for (std::vector<std::string> command : commands()) {
    if (command.front() == "generate" || std::ranges::count(command, "--report") > 0) {
      command.back() = folder / command.back();
    } else if (command.front() == "bench") {
      // The cells are listed instead of measured, which would take minutes.
      std::erase(command, "--device");
      std::erase(command, "cuda");
      std::erase(command, "--list");
      command.emplace_back("--list");
    } else if (command.front() == "calibrate" || std::ranges::count(command, "BATCH.yaml") > 0) {
      continue;
    }
    run_in_clone(command);
    ++ran;
  }
  EXPECT_GE(ran, 5);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"hotels.html", "points.parquet"}));
}

/// Leaves out the lines of times below each answer, and the blank lines at the end.
std::vector<std::string> answers(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) {
    return !line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) != 0 &&
           (line.find(" rows from ") != std::string::npos || line.find(" row from ") != std::string::npos);
  });
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Runs a batch that a page shows, in a folder with the example data.
Outcome run_shown(const Block& batch) {
  const TemporaryFolder folder;
  std::filesystem::copy(kRoot / "datasets/examples/hotels.csv", folder.path());
  std::string text;
  for (const std::string& line : batch.lines) text += line + "\n";
  folder.write("batch.yaml", text);
  ProgramOptions options;
  options.folder = folder.path();
  return run_skyrank({"run", "batch.yaml"}, options);
}

TEST(Documents, ShowBatchesThatRunAndTheirAnswers) {
  int ran = 0;
  int compared = 0;
  for (std::size_t i = 0; i < blocks().size(); ++i) {
    const Block& batch = blocks()[i];
    if (batch.language != "yaml" || batch.lines.front() != "version: 1") continue;
    const Outcome outcome = run_shown(batch);
    EXPECT_EQ(outcome.status, 0) << batch.place << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "") << batch.place;
    ++ran;
    if (i + 1 == blocks().size() || blocks()[i + 1].language != "text" || !blocks()[i + 1].follows_block) continue;
    EXPECT_EQ(answers(lines_of(outcome.out)), answers(blocks()[i + 1].lines)) << batch.place;
    ++compared;
  }
  EXPECT_GE(ran, 8);
  EXPECT_GE(compared, 7);
}

TEST(Documents, ShowStatementsThatRunAndTheirAnswers) {
  int compared = 0;
  for (std::size_t i = 0; i + 1 < blocks().size(); ++i) {
    const Block& shown = blocks()[i];
    if (shown.language != "sql") continue;
    std::string statement;
    for (const std::string& line : shown.lines) statement += line + "\n";
    ProgramOptions options;
    options.folder = kRoot / "datasets/examples";
    const Outcome outcome = run_skyrank({"sql", statement}, options);
    EXPECT_EQ(outcome.status, 0) << shown.place << ": " << outcome.err;
    ASSERT_TRUE(blocks()[i + 1].follows_block) << shown.place << " shows no answer";
    EXPECT_EQ(answers(lines_of(outcome.out)), answers(blocks()[i + 1].lines)) << shown.place;
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST(Documents, ShowFilesAndWhatIsRecognised) {
  const TemporaryFolder folder;
  ProgramOptions options;
  options.folder = folder.path();
  int ran = 0;
  for (const Block& shown : blocks()) {
    if (!shown.place.starts_with("files.md")) continue;
    for (std::size_t i = 0; i < shown.lines.size();) {
      const std::string command = shown.lines[i++];
      std::string text;
      while (i < shown.lines.size() && !shown.lines[i].starts_with("$ ")) text += shown.lines[i++] + "\n";
      if (command.starts_with("$ cat ")) {
        folder.write(command.substr(6), text);
        continue;
      }
      std::vector<std::string> words = words_of(command);
      ASSERT_EQ(words.at(1), "skyrank") << shown.place;
      words.erase(words.begin(), words.begin() + 2);
      const Outcome outcome = run_skyrank(words, options);
      EXPECT_EQ(outcome.status, 0) << shown.place;
      EXPECT_EQ(outcome.err + outcome.out, text) << shown.place << ": " << command;
      ++ran;
    }
  }
  EXPECT_GE(ran, 3);
}

TEST(Documents, TheChangelogKnowsTheVersion) {
  const std::vector<std::string> changes = lines_of(read_file(kRoot / "CHANGELOG.md"));
  const auto release = std::ranges::find_if(changes, [](const std::string& line) {
    return line.starts_with("## [") && !line.starts_with("## [Unreleased]");
  });
  ASSERT_NE(release, changes.end());
  const std::string version = release->substr(4, release->find(']') - 4);
  EXPECT_THAT(run_in_clone({"--version"}).out, StartsWith("skyrank " + version + " "));
}

TEST(Documents, ShowTheQuestionOfTheQuickStartAsItIs) {
  const std::string example = read_file(kRoot / "datasets/examples/hotels.yaml");
  for (const Block& batch : blocks_of(kRoot / "README.md")) {
    if (batch.language != "yaml") continue;
    const auto query = std::ranges::find(batch.lines, "  - name: good-deals");
    ASSERT_NE(query, batch.lines.end());
    std::string text;
    for (auto line = query; line != batch.lines.end(); ++line) text += *line + "\n";
    EXPECT_THAT(example, HasSubstr(text));
  }
}

}  // namespace
}  // namespace skyrank::testing

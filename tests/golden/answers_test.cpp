#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/tools/program.hpp"

// Every batch in answers/, and every example that ships with the project, is run by the built program and its answers
// compared, byte by byte, with the expected ones, which reference.py computed.
namespace skyrank::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kAnswers = fs::path(SKYRANK_SOURCE_DIR) / "tests/golden/answers";
/// The answers of the examples are kept here, away from what users look at.
const fs::path kExamples = fs::path(SKYRANK_SOURCE_DIR) / "datasets/examples";
const fs::path kExampleAnswers = fs::path(SKYRANK_SOURCE_DIR) / "tests/golden/examples";

/// Files of the real data, by the table names that the batches use for them.
constexpr std::array<std::pair<const char*, const char*>, 3> kRealData = {
    {{"nba", "nba.csv"}, {"diamonds", "diamonds.csv"}, {"housing", "california-housing.csv"}}};

fs::path real_data_folder() {
  const char* folder = std::getenv("SKYRANK_DATA");
  return folder != nullptr ? fs::path(folder) : fs::path(SKYRANK_SOURCE_DIR) / "../shared/data";
}

std::vector<std::string> batches_with_answers(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".expected") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

struct ExpectedAnswer {
  std::string query;
  std::string csv;
};

/// "-- query name" lines, each followed by that query's answer as CSV.
std::vector<ExpectedAnswer> read_expected(const fs::path& file) {
  std::vector<ExpectedAnswer> answers;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("-- ")) {
      answers.push_back({line.substr(3), ""});
    } else {
      answers.back().csv += line + "\n";
    }
  }
  return answers;
}

void expect_answers(const fs::path& batch, const fs::path& expected_file) {
  const TemporaryFolder out;
  std::vector<std::string> arguments = {"run", batch.string(), "--format", "csv", "--out", out.path().string()};
  const std::string text = read_file(batch);
  for (const auto& [table, file] : kRealData) {
    if (text.find("file: " + std::string(file)) == std::string::npos) continue;
    const fs::path data = real_data_folder() / file;
    if (!fs::exists(data)) GTEST_SKIP() << data << " is not there; set SKYRANK_DATA to the folder of the real data";
    arguments.insert(arguments.end(), {"--set", std::string(table) + ".file=" + data.string()});
  }
  const Outcome outcome = run_skyrank(arguments);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  const std::vector<ExpectedAnswer> expected = read_expected(expected_file);
  ASSERT_FALSE(expected.empty());
  std::vector<std::string> files;
  for (const auto& [query, csv] : expected) {
    files.push_back(query + ".csv");
    if (!fs::exists(out / files.back())) {
      ADD_FAILURE() << query << ": no answer";
      continue;
    }
    EXPECT_EQ(read_file(out / files.back()), csv) << query;
  }
  std::ranges::sort(files);
  EXPECT_EQ(out.names(), files);
}

class GoldenAnswers : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenAnswers, AreAsExpected) {
  expect_answers(kAnswers / (GetParam() + ".yaml"), kAnswers / (GetParam() + ".expected"));
}

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, AnswerAsExpected) {
  expect_answers(kExamples / (GetParam() + ".yaml"), kExampleAnswers / (GetParam() + ".expected"));
}

std::string name_of(const ::testing::TestParamInfo<std::string>& batch) { return batch.param; }

INSTANTIATE_TEST_SUITE_P(All, GoldenAnswers, ::testing::ValuesIn(batches_with_answers(kAnswers)), name_of);
INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(batches_with_answers(kExampleAnswers)), name_of);

}  // namespace
}  // namespace skyrank::testing

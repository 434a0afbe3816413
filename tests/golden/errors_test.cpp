#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/tools/program.hpp"

// Every batch in errors/ is refused with the expected words: the first line of its .expected file is the exit status,
// the rest is what stands on standard error. Nothing is written anywhere.
namespace skyrank::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kErrors = fs::path(SKYRANK_SOURCE_DIR) / "tests/golden/errors";

std::vector<std::string> batches() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kErrors)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

class GoldenErrors : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenErrors, AreAsExpected) {
  const TemporaryFolder out;
  ProgramOptions options;
  options.folder = kErrors;  // so that messages name files by short names
  const Outcome outcome = run_skyrank({"run", GetParam() + ".yaml", "--out", out.path().string()}, options);
  EXPECT_EQ("exit " + std::to_string(outcome.status) + "\n" + outcome.err,
            read_file(kErrors / (GetParam() + ".expected")));
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(out.names().empty());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenErrors, ::testing::ValuesIn(batches()),
                         [](const auto& batch) { return batch.param; });

}  // namespace
}  // namespace skyrank::testing

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "datasets/reader.hpp"
#include "tests/build.hpp"
#include "tests/operations.hpp"

// The work of reading a text grows with its bytes, however these are spread over rows, columns and keys.
namespace skyrank::datasets {
namespace {

using tests::expect_near_linear;

class LinearReading : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "a sanitizer's own work is not linear";
    folder_ = std::filesystem::path(::testing::TempDir()) / "skyrank_linear";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Measures reading a file of some text on one thread.
  void expect_linear_reading(const std::string& what, const std::string& name, int n,
                             const std::function<std::string(int)>& text) {
    const std::filesystem::path file = folder_ / name;
    expect_near_linear(what, n, [&](int size) {
      std::ofstream(file) << text(size);
      return [file] {
        ReadOptions options;
        options.threads = 1;
        read({file}, options);
      };
    });
  }

  static std::string list(int n, const std::function<std::string(int)>& piece) {
    std::string text;
    for (int i = 0; i < n; ++i) text += (i == 0 ? "" : ",") + piece(i);
    return text;
  }

  std::filesystem::path folder_;
};

TEST_F(LinearReading, OfRows) {
  expect_linear_reading("rows of CSV", "rows.csv", 20'000, [](int n) {
    std::string text = "a,b\n";
    for (int i = 0; i < n; ++i) text += std::to_string(i) + ",x\n";
    return text;
  });
  expect_linear_reading("bytes of a field", "field.csv", 500'000,
                        [](int n) { return "a,b\n1," + std::string(static_cast<std::size_t>(n), 'x') + "\n"; });
  expect_linear_reading("rows of JSON lines", "rows.jsonl", 10'000, [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "{\"a\":" + std::to_string(i) + "}\n";
    return text;
  });
}

}  // namespace
}  // namespace skyrank::datasets

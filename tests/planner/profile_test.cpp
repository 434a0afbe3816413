#include "planner/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "kernels/papers/names.hpp"
#include "planner/calibration_runs.hpp"
#include "planner/choose.hpp"
#include "planner/cost/correction.hpp"
#include "planner/cost/rbf_kernel.hpp"
#include "planner/fit.hpp"

namespace skyrank::planner {
namespace {

using testing::HasSubstr;

/// A constant, and a point at the origin of all features.
Correction correction_of_one_point() {
  const std::size_t features = cost::correction_names(true).size();
  Correction correction{std::vector<double>(features + 1), std::vector<float>(features), {0.5F}};
  correction.linear.front() = -0.25;
  return correction;
}

Profile example() {
  return {.cpu = "A CPU",
          .cores = 4,
          .gpu = "",
          .rates = {{"memory_bandwidth", 2e10}},
          .algorithms = {{"sfs", {{"start", 1e-6}, {"keys", 0}}}},
          .corrections = {{"heap", correction_of_one_point()}}};
}

std::string refusal(const std::filesystem::path& file, const std::string& cpu, const std::string& gpu = "") {
  try {
    read_profile(file, cpu, gpu);
  } catch (const BadProfile& bad) {
    return bad.reason;
  }
  return {};
}

class ProfileFile : public testing::Test {
 protected:
  ProfileFile() { std::filesystem::create_directories(folder_); }
  ~ProfileFile() override { std::filesystem::remove_all(folder_); }
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  std::filesystem::path written(const std::string& text) const {
    std::ofstream(folder_ / "profile.yaml") << text;
    return folder_ / "profile.yaml";
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("skyrank_profile_test_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST(Profiles, ComeBackFromYaml) { EXPECT_EQ(parse_profile(to_yaml(example()), "text"), example()); }

TEST(Profiles, BuiltInOneFitsEveryRegisteredName) {
  for (const auto& entry : built_in_profile().algorithms) {
    const std::string_view algorithm = entry.first;
    const auto known = [&](const auto& algorithms) {
      return std::ranges::any_of(algorithms, [&](const auto* it) { return it->name == algorithm; });
    };
    // Those of GPUs are registered in builds with CUDA only, those of the papers in builds with SKYRANK_PAPERS only.
    const bool left_out = !kernels::papers::why_left_out(algorithm).empty();
    EXPECT_TRUE(algorithm.starts_with("cuda-") || left_out || known(kernels::skyline_algorithms()) ||
                known(kernels::topk_algorithms()))
        << algorithm;
  }
}

// A build with the papers' algorithms may have made the profile of one without them.
TEST(Profiles, OfAlgorithmsThatAreNotBuiltAreAccepted) {
  const Profile profile = parse_profile(
      "version: 2\nseconds: {sfs: {start: 100}, never-built: {start: 1}}\n"
      "corrections: {never-built: {linear: {all: 1}, near: '1 2 3'}}\n",
      "text");
  EXPECT_TRUE(profile.corrections.empty());
  const PriceList prices(profile);
  const kernels::SkylineShape shape{.n = 1000, .d = 3, .width = kernels::KeyWidth::bytes4, .general_order = false};
  EXPECT_NEAR(seconds_of(cost_of("sfs", shape, {.prices = &prices})), 100, 0.1);
}

TEST(Profiles, RefuseWhatIsNone) {
  for (const char* text : {"", "[]", "version: 3", "version: 2\nseconds: {sfs: {keys: fast}}",
                           "version: 2\nseconds: {sfs: {keys: -1}}", "version: 2\nrates: {a: .nan}", "{"}) {
    EXPECT_THROW(parse_profile(text, "text"), BadProfile) << text;
  }
}

TEST_F(ProfileFile, OfAnotherMachineIsRefused) {
  const auto file = written(to_yaml(example()));
  EXPECT_EQ(read_profile(file, "A CPU", ""), example());
  EXPECT_THAT(refusal(file, "Another CPU"), HasSubstr("CPU 'A CPU', this one has 'Another CPU'"));
  Profile with_gpu = example();
  with_gpu.gpu = "A GPU";
  const auto other = written(to_yaml(with_gpu));
  EXPECT_THAT(refusal(other, "A CPU", "Another GPU"), HasSubstr("GPU 'A GPU', this one has 'Another GPU'"));
  EXPECT_EQ(refusal(other, "A CPU", ""), "");  // it still knows the CPU
}

TEST_F(ProfileFile, ThatDoesNotExistIsNone) {
  EXPECT_EQ(read_profile(folder_ / "none.yaml", "A CPU", ""), std::nullopt);
}

TEST(Profiles, SecondsOfAProfileReplaceThoseOfTheModel) {
  const kernels::SkylineShape shape{.n = 1000, .d = 3, .width = kernels::KeyWidth::bytes4, .general_order = false};
  const auto algorithms = kernels::skyline_algorithms();
  const auto* sfs = *std::ranges::find_if(algorithms, [](const auto* it) { return it->name == "sfs"; });
  Profile profile;
  profile.algorithms["sfs"]["start"] = 100;
  const PriceList prices(profile);
  EXPECT_NEAR(predict(*sfs, shape, {.prices = &prices}), 100, 0.1);
}

TEST(Profiles, CorrectionsOfAProfileAreATermOfTheirOwn) {
  const kernels::TopKShape shape{.n = 1000, .k = 3, .widths = {kernels::KeyWidth::bytes4}};
  const auto cost = [&](const Profile& profile) {
    const PriceList prices(profile);
    return cost_of("heap", shape, {.prices = &prices});
  };
  Profile profile;
  const double without = seconds_of(cost(profile));
  Correction& correction = profile.corrections["heap"];
  correction.linear.assign(cost::correction_names(true).size() + 1, 0);
  correction.linear.front() = std::log(1.5);
  const cost::Cost corrected = cost(profile);
  EXPECT_EQ(corrected.terms[corrected.terms.size() - 1].name, "correction");
  EXPECT_NEAR(seconds_of(corrected), 1.5 * without, 1e-9 * without);
  correction.linear.front() = -100;  // bounded
  EXPECT_NEAR(seconds_of(cost(profile)), without / 3, 1e-3 * without);
}

TEST(Profiles, PointsOfACorrectionCountWhereTheyAreNear) {
  const kernels::TopKShape shape{.n = 1000, .k = 3, .widths = {kernels::KeyWidth::bytes4}};
  cost::Features features(shape, {});
  const std::span<const double> values = features.of(1, 1e-5);
  Correction correction{std::vector<double>(values.size() + 1), {}, {0.25F, 100}};
  for (const double value : values) {
    correction.points.push_back(static_cast<float>(value));
    correction.points.push_back(static_cast<float>(value) + 100);
  }
  EXPECT_NEAR(cost::correction_factor(correction, values), std::exp(0.25), 1e-6);
  correction.points.pop_back();  // of other features than these
  EXPECT_EQ(cost::correction_factor(correction, values), 1);
}

TEST(Profiles, RbfKernelIsASquaredExponential) {
  for (const std::size_t count : {0u, 1u, 7u, 16u, 61u, 240u}) {
    const std::vector<float> values = {0.25, -1.5, 3};
    std::vector<float> points;
    std::vector<float> weights;
    for (std::size_t i = 0; i < 3 * count; ++i) points.push_back(static_cast<float>(i * 37 % 101) / 20 - 2);
    for (std::size_t i = 0; i < count; ++i) weights.push_back(static_cast<float>(i % 5) - 2);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double square = 0;
      for (std::size_t j = 0; j < 3; ++j) square += std::pow(points[j * count + i] - values[j], 2);
      sum += weights[i] * std::exp(-square / 2);
    }
    EXPECT_NEAR(cost::weighted_rbf_kernel(points, weights, values), sum, 1e-5) << count;
  }
}

// Blocks of points do not go through the YAML parser, which everything around them does.
TEST(Profiles, PointsMayBeWrittenInAnyWay) {
  const std::size_t fields = cost::correction_names(true).size() + 1;
  std::string first;
  std::string second;
  for (std::size_t i = 0; i < fields; ++i) first += std::to_string(i) + " ";
  for (std::size_t i = 0; i < fields; ++i) second += std::to_string(i) + ".5 ";
  const auto profile = [](const std::string& near, const std::string& after) {
    return parse_profile("version: 2\ncorrections:\n  heap:\n    near: " + near + "    linear: {all: 1}\n" + after,
                         "text");
  };
  const std::string more = "  sort:\n    linear: {all: 2}\n    near: |\n      " + first;  // up to the end of the text
  const Profile block = profile("|\n      " + first + "\n\n      " + second + "\n", more);
  ASSERT_EQ(block.corrections.at("heap").weights, (std::vector<float>{0, 0.5}));
  EXPECT_EQ(block.corrections.at("heap").points[1], 1.5);
  EXPECT_EQ(block.corrections.at("heap").linear.front(), 1);
  EXPECT_EQ(block.corrections.at("sort").weights.size(), 1U);
  EXPECT_EQ(profile("\"" + first + second + "\"\n", more), block);
  EXPECT_EQ(profile("|-\n      " + first + "\n      " + second + "\n", more), block);
  EXPECT_EQ(profile(">\r\n      " + first + "\r\n      " + second + "\r\n", more), block);
}

// Where it is wrong, by the lines of the text as it was given.
TEST(Profiles, ErrorsBehindPointsHaveTheirPlace) {
  const std::string points = "version: 2\ncorrections:\n  heap:\n    linear: {all: 1}\n    near: |\n      1\n      2\n";
  try {
    parse_profile(points + "seconds: {heap: {start: -1}}\n", "text");
    ADD_FAILURE();
  } catch (const BadProfile& error) {
    EXPECT_NE(error.reason.find("line 8"), std::string::npos) << error.reason;
  }
  try {
    parse_profile(points + "      x\n", "text");
    ADD_FAILURE();
  } catch (const BadProfile& error) {
    EXPECT_NE(error.reason.find("line 5"), std::string::npos) << error.reason;
    EXPECT_NE(error.reason.find("finite numbers"), std::string::npos) << error.reason;
  }
  EXPECT_THROW(parse_profile("version: 2\ncorrections:\n  heap:\n    linear: {all: 1}\n    near: !taken '7'\n", "text"),
               BadProfile);
}

TEST(Profiles, PointsOfACorrectionHaveAllTheirNumbers) {
  const std::string yaml = "version: 2\ncorrections:\n  heap:\n    linear: {all: 1}\n    near: \"0.5 1 2\"\n";
  EXPECT_THROW(parse_profile(yaml, "text"), BadProfile);
  const std::string words = "version: 2\ncorrections:\n  heap:\n    linear: {all: 1}\n    near: a b\n";
  EXPECT_THROW(parse_profile(words, "text"), BadProfile);
  const Profile older = parse_profile("version: 2\ncorrections:\n  heap: {all: 1, n: 2}\n", "text");
  EXPECT_TRUE(older.corrections.empty());  // what an earlier fit wrote says nothing of these features
}

TEST(Profiles, NamesOfCorrectionsAreDistinctAndHaveValues) {
  const kernels::SkylineShape skyline{.n = 1000, .d = 3, .width = kernels::KeyWidth::bytes4, .general_order = false};
  const kernels::TopKShape ranking{.n = 1000, .k = 3, .widths = {kernels::KeyWidth::bytes4}};
  EXPECT_EQ(cost::Features(skyline, {}).of(1, 1e-4).size(), cost::correction_names(false).size());
  EXPECT_EQ(cost::Features(ranking, {}).of(1, 1e-4).size(), cost::correction_names(true).size());
  for (const bool is_ranking : {false, true}) {
    const auto names = cost::correction_names(is_ranking);
    EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  }
}

TEST(Fit, FindsTheSecondsThatMadeTheRuns) {
  std::vector<TimedRun> runs;
  for (int i = 1; i <= 40; ++i) {
    const double rows = i * i;
    const double keys = 100.0 / i;
    runs.push_back({{{{"rows", rows, 1e-6}, {"keys", keys, 1e-6}, {"none", 0, 5e-6}}, 0}, rows * 3e-6 + keys * 2e-7});
  }
  const Profile::Seconds seconds = fit(runs);
  EXPECT_NEAR(seconds.at("rows"), 3e-6, 3e-8);
  EXPECT_NEAR(seconds.at("keys"), 2e-7, 4e-8);
  EXPECT_NEAR(seconds.at("none"), 5e-6, 1e-9);  // nothing known: the model's own
}

TEST(Fit, StoppedRunsAreLowerBounds) {
  std::vector<TimedRun> runs;
  for (int i = 1; i <= 20; ++i) {
    runs.push_back({{{{"a", 1.0 * i, 1}, {"b", 0, 1}}, 0}, 1.0 * i});
    runs.push_back({{{{"a", 1.0, 1}, {"b", 1.0 * i, 1}}, 0}, 50.0 * i, true});  // so b takes at least 49
    runs.push_back({{{{"a", 1000.0, 1}, {"b", 0, 1}}, 0}, 10, true});           // says nothing that is not known
  }
  const Profile::Seconds seconds = fit(runs);
  EXPECT_NEAR(seconds.at("a"), 1, 0.05);
  EXPECT_GT(seconds.at("b"), 15);  // the pull to the model's own 1 holds it back
}

TEST(Fit, NeverGoesBelowATenthOfTheModelsOwn) {
  std::vector<TimedRun> runs;
  for (int i = 1; i <= 20; ++i) runs.push_back({{{{"a", 1.0 * i, 1}, {"b", 1, 1}}, 0}, 2.0 * i - 1});
  const Profile::Seconds seconds = fit(runs);
  EXPECT_GT(seconds.at("a"), 1);
  EXPECT_DOUBLE_EQ(seconds.at("b"), 0.1);
}

TEST(Fit, CorrectsWhatTermsLeaveOver) {
  const auto left_over = [](double size) { return 0.2 + 0.3 * size + 0.4 * std::exp(-2 * size * size); };
  std::vector<CorrectedRun> runs;
  for (int i = 0; i < 120; ++i) {
    const double size = 0.025 * i - 1.5;
    const double noise = i % 9 == 0 ? 5 : 1;  // other work on the machine
    const double seconds = std::exp(left_over(size)) * noise;
    runs.push_back({{size}, 1, seconds, seconds});
  }
  const std::optional<Correction> correction = fit_correction(runs);
  ASSERT_TRUE(correction);
  for (const double size : {-1.2, -0.3, 0.0, 0.4, 1.2}) {
    EXPECT_NEAR(std::log(cost::correction_factor(*correction, std::vector<double>{size})), left_over(size), 0.1)
        << size;
  }
  runs.resize(2);
  EXPECT_FALSE(fit_correction(runs));  // too few
}

TEST(Fit, MakesWhatIsSeldomTheBestAsDearAsItsWorstPredictions) {
  std::vector<CorrectedRun> runs;
  for (int i = 0; i < 100; ++i) runs.push_back({{0.01 * i}, 1, i < 90 ? 1.0 : 2.5, 0.1});
  const std::optional<Correction> correction = fit_correction(runs);
  ASSERT_TRUE(correction);
  for (const double size : {-1.0, 0.5, 2.0}) {
    EXPECT_NEAR(cost::correction_factor(*correction, std::vector<double>{size}), 2.5, 1e-6) << size;
  }
  for (CorrectedRun& run : runs) run.seconds = 0.5;  // predictions that are too high are left as they are
  EXPECT_NEAR(cost::correction_factor(*fit_correction(runs), std::vector<double>{0.5}), 1, 1e-6);
}

TEST(CalibrationRuns, ComeBackFromCsv) {
  CalibrationRun skyline{.algorithm = "sfs", .data = "independent float32 1", .shape = {}, .statistics = {}};
  skyline.shape = kernels::SkylineShape{.n = 1000, .d = 3, .width = kernels::KeyWidth::bytes8};
  skyline.statistics.sample = 256;
  skyline.statistics.growth = {256, 2.5, 0.25};
  skyline.threads = 4;
  skyline.seconds = 0.5;
  skyline.parameters = {{"block", 256}, {"other", -1}};
  CalibrationRun ranking{.algorithm = "heap", .data = "uniform uint8 1", .shape = {}, .statistics = {}};
  ranking.shape = kernels::TopKShape{
      .n = 10, .k = 2, .widths = {kernels::KeyWidth::bytes1, kernels::KeyWidth::bytes4}, .ties = kernels::TieRule::all};
  ranking.statistics.best_ascending = 0.75;
  ranking.seconds = std::numeric_limits<double>::infinity();
  std::stringstream text;
  write_runs(text, {skyline, ranking});
  const std::vector<CalibrationRun> read = read_runs(text, "text");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].data, skyline.data);
  EXPECT_EQ(std::get<kernels::SkylineShape>(read[0].shape).d, 3u);
  EXPECT_EQ(read[0].statistics.growth.drift, 0.25);
  EXPECT_EQ(read[0].parameters, skyline.parameters);
  EXPECT_TRUE(read[1].parameters.empty());
  EXPECT_EQ(read[1].statistics.best_ascending, 0.75);
  const PriceList prices(Profile{});
  EXPECT_EQ(predict(read[0], prices), predict(skyline, prices));
  EXPECT_EQ(predict(read[1], prices), predict(ranking, prices));
  EXPECT_EQ(std::get<kernels::TopKShape>(read[1].shape).widths.size(), 2u);
  EXPECT_EQ(read[1].seconds, ranking.seconds);
  EXPECT_EQ(fit(read).algorithms.count("heap"), 0u);  // stopped, and of its query nothing else is known
  std::istringstream wrong("sfs,data,1");
  EXPECT_THROW(read_runs(wrong, "text"), BadProfile);
}

}  // namespace
}  // namespace skyrank::planner

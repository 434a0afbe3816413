#include "planner/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "kernels/papers/names.hpp"
#include "planner/calibration_runs.hpp"
#include "planner/choose.hpp"
#include "planner/fit.hpp"

namespace skyrank::planner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Profile example() {
  return {.cpu = "A CPU",
          .cores = 4,
          .gpu = "",
          .rates = {{"memory_bandwidth", 2e10}},
          .algorithms = {{"sfs", {{"start", 1e-6}, {"keys", 0}}}}};
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
    // GPU algorithms are registered in builds with CUDA only, those of the papers in builds with SKYRANK_PAPERS only.
    const bool left_out = !kernels::papers::why_left_out(algorithm).empty();
    EXPECT_TRUE(algorithm.starts_with("cuda-") || left_out || known(kernels::skyline_algorithms()) ||
                known(kernels::topk_algorithms()))
        << algorithm;
  }
}

// A build with the papers' algorithms may have made the profile of one without them.
TEST(Profiles, OfAlgorithmsThatAreNotBuiltAreAccepted) {
  const Profile profile = parse_profile("version: 3\nseconds: {sfs: {start: 100}, never-built: {start: 1}}\n", "text");
  const PriceList prices(profile);
  const kernels::SkylineShape shape{.n = 1000, .d = 3, .width = kernels::KeyWidth::bytes4, .general_order = false};
  EXPECT_NEAR(seconds_of(cost_of("sfs", shape, {.prices = &prices})), 100, 0.1);
}

TEST(Profiles, RefuseWhatIsNone) {
  for (const char* text : {"", "[]", "version: 2", "version: 3\nseconds: {sfs: {keys: fast}}",
                           "version: 3\nseconds: {sfs: {keys: -1}}", "version: 3\nrates: {a: .nan}", "{"}) {
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

// Every process parses it before it plans, which takes 0.1 us for each character.
TEST(Profiles, BuiltInOneIsSmall) { EXPECT_LT(to_yaml(built_in_profile()).size(), 10'000U); }

TEST(Profiles, ErrorsHaveTheirPlace) {
  try {
    parse_profile("version: 3\nseconds:\n  heap:\n    scan: 1\n    start: -1\n", "text");
    ADD_FAILURE();
  } catch (const BadProfile& error) {
    EXPECT_EQ(error.source, "text");
    EXPECT_THAT(error.reason, HasSubstr("line 5"));
  }
}

TEST(Profiles, NestAHundredLevelsAtMost) {
  const auto reason_of = [](std::size_t levels) -> std::string {
    const std::string lists = std::string(levels, '[') + std::string(levels, ']');
    try {
      parse_profile("version: 3\nnotes: " + lists + "\n", "text");
    } catch (const BadProfile& error) {
      return error.reason;
    }
    return "";
  };
  EXPECT_EQ(reason_of(99), "");
  EXPECT_THAT(reason_of(100), AllOf(HasSubstr("line 2, column 107"), HasSubstr("more than 100 levels deep")));
  EXPECT_THAT(reason_of(100'000), HasSubstr("more than 100 levels deep"));
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

TEST(CalibrationRuns, ThatTookWhatIsKnownChangeNothing) {
  CalibrationRun run{.algorithm = "heap", .data = "", .shape = {}, .statistics = {}};
  run.shape = kernels::TopKShape{.n = 10'000, .k = 20, .widths = {kernels::KeyWidth::bytes4}};
  const PriceList& known = built_in_prices();
  run.seconds = predict(run, known).value();
  const Profile::Seconds& before = known.profile().algorithms.at("heap");
  const Profile fitted = fit({run}, known);
  for (const auto& [term, seconds] : fitted.algorithms.at("heap")) EXPECT_NEAR(seconds, before.at(term), 1e-15) << term;

  run.seconds *= 2;
  const Profile slower = fit({run}, known);
  EXPECT_NEAR(predict(run, PriceList(slower)).value(), run.seconds, 0.1 * run.seconds);
}

}  // namespace
}  // namespace skyrank::planner

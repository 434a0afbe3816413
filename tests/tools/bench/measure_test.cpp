#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/cache_aligned_allocator.h>

#include <numeric>

#include "kernels/cuda/device/device.hpp"
#include "kernels/registry.hpp"
#include "tools/bench/cell_runner.hpp"
#include "tools/bench/csv.hpp"
#include "tools/bench/floor.hpp"
#include "tools/bench/measure.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/table.hpp"

namespace skyrank::bench {
namespace {

using kernels::KeyWidth;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Cell skyline_cell() {
  Cell cell;
  cell.op = Op::skyline;
  cell.distribution = "anticorrelated";
  cell.n = 500;
  cell.d = 3;
  cell.threads = 2;
  cell.repeats = 2;
  return cell;
}

Cell topk_cell() {
  Cell cell;
  cell.op = Op::topk;
  cell.distribution = "few-distinct";
  cell.n = 5000;
  cell.k = 10;
  cell.threads = 1;
  cell.repeats = 2;
  return cell;
}

TEST(Times, AreMedianMinimumAndMaximum) {
  EXPECT_EQ(times_of({5, 1, 9}).max_ms, 9);
  EXPECT_EQ(times_of({5, 1, 9}).median_ms, 5);
  EXPECT_EQ(times_of({5, 1, 9}).min_ms, 1);
  EXPECT_EQ(times_of({4, 1, 9, 2}).median_ms, 3);
  EXPECT_EQ(times_of({7}).median_ms, 7);
}

TEST(Floor, IsTheGreatestKeyOfAllColumns) {
  for (const std::size_t n : {1, 63, 64, 1000, 300'000}) {
    std::vector<std::uint32_t> words(n);
    std::iota(words.begin(), words.end(), 3U);
    std::vector<std::uint64_t> longs(n, 1);
    longs[n / 2] = ~std::uint64_t{0} - 5;
    std::vector<std::uint16_t> shorts(n, 7);
    shorts.back() = 0xFFF0;
    std::vector<std::uint8_t> bytes(n, 2);
    bytes.front() = 250;
    const auto maximum = [&](const void* keys, KeyWidth width) {
      return parallel_maximum(std::vector<kernels::KeyColumn>{{keys, width}}, n);
    };
    EXPECT_EQ(maximum(words.data(), KeyWidth::bytes4), n + 2);
    EXPECT_EQ(maximum(longs.data(), KeyWidth::bytes8), ~std::uint64_t{0} - 5);
    EXPECT_EQ(maximum(shorts.data(), KeyWidth::bytes2), 0xFFF0U);
    EXPECT_EQ(maximum(bytes.data(), KeyWidth::bytes1), 250U);
    const std::vector<kernels::KeyColumn> both = {{words.data(), KeyWidth::bytes4}, {longs.data(), KeyWidth::bytes8}};
    EXPECT_EQ(parallel_maximum(both, n), ~std::uint64_t{0} - 5);
  }
}

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

template <class Allocator>
std::optional<std::uint64_t> memory_of(std::size_t bytes) {
  return extra_memory([&] {
    std::vector<char, Allocator> memory(bytes, 1);
    [[maybe_unused]] const volatile char used = memory[bytes / 2];
  });
}

TEST(Memory, CountsWhatIsWrittenWhoeverAllocatedIt) {
  if (!extra_memory([] {})) GTEST_SKIP() << "this system does not tell the peak of a process's memory";
  for (int time = 0; time < 2; ++time) {
    EXPECT_GE(*memory_of<std::allocator<char>>(64 * kMegabyte), 60 * kMegabyte);
    EXPECT_GE(*memory_of<tbb::cache_aligned_allocator<char>>(64 * kMegabyte), 60 * kMegabyte);
    EXPECT_LE(*memory_of<std::allocator<char>>(100), 32 * kMegabyte);
  }
}

TEST(CellRunner, MeasuresEveryAlgorithmThatSupportsTheCell) {
  for (const Cell& cell : {skyline_cell(), topk_cell()}) {
    CellRunner runner({});
    std::vector<Skipped> skipped;
    const std::vector<std::string> names = runner.candidates(cell, skipped);
    const CellResult result = runner.run(cell);
    ASSERT_EQ(result.measured.size(), names.size());
    EXPECT_EQ(result.skipped.size(), skipped.size());
    EXPECT_EQ(result.key_bytes, static_cast<std::uint64_t>(4 * cell.n * cell.d));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Measurement& it = result.measured[i];
      EXPECT_EQ(it.algorithm, names[i]);
      EXPECT_EQ(it.fault, "") << it.algorithm;
      // On a GPU a skyline has a floor too: one read of its keys.
      EXPECT_EQ(it.floor.has_value(), cell.op == Op::topk || it.algorithm.starts_with("cuda-")) << it.algorithm;
      EXPECT_GT(it.times.min_ms, 0) << it.algorithm;
      EXPECT_EQ(it.runs, cell.repeats) << it.algorithm;
      EXPECT_GE(it.times.median_ms, it.times.min_ms) << it.algorithm;
      EXPECT_EQ(it.result_size, result.measured.front().result_size) << it.algorithm;
      EXPECT_GT(it.work.bytes_read + it.work.dominance_tests, 0U) << it.algorithm;
    }
  }
}

TEST(CellRunner, LeavesOutAlgorithmsWithoutTheParameters) {
  Cell cell = skyline_cell();
  cell.algorithms = {"sfs", "bnl"};
  cell.parameters = {{"block", 7}};
  const CellResult result = CellRunner({}).run(cell);
  ASSERT_EQ(result.measured.size(), 1U);
  EXPECT_EQ(result.measured[0].algorithm, "sfs");
  EXPECT_EQ(result.measured[0].fault, "");
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_EQ(result.skipped[0].algorithm, "bnl");
  EXPECT_EQ(result.skipped[0].reason, "there is no parameter 'block'");
}

TEST(CellRunner, TakesAllCoresForNoThreads) {
  Cell cell = topk_cell();
  cell.threads = 0;
  EXPECT_GE(CellRunner({}).run(cell).cell.threads, 1);
}

TEST(CellRunner, LeavesOutWhatTakesTooLongAndSaysSo) {
  Cell cell = skyline_cell();
  cell.n = 4000;
  cell.d = 6;
  cell.budget_s = 1e-9;
  cell.algorithms = {"bnl", "sfs", "skyalign"};
  CellRunner runner({});
  const CellResult first = runner.run(cell);
  EXPECT_THAT(first.measured, IsEmpty());
  ASSERT_EQ(first.skipped.size(), cell.algorithms.size());
  EXPECT_EQ(first.skipped.front().reason, "took more than 1e-09 s");
  EXPECT_THAT(table(first), HasSubstr(first.skipped.front().algorithm + " left out: took more than 1e-09 s\n"));
  // A cell that is no easier is not tried again; one that may be easier is.
  cell.d = 7;
  EXPECT_EQ(runner.run(cell).skipped.front().reason, "took more than 1e-09 s at n = 4000, d = 6");
  cell.d = 5;
  EXPECT_EQ(runner.run(cell).skipped.front().reason, "took more than 1e-09 s");
  cell.budget_s = 100;
  EXPECT_THAT(runner.run(cell).skipped, IsEmpty());
}

TEST(CellRunner, RepeatsNoLongerThanTheBudget) {
  Cell cell = topk_cell();
  cell.n = 20'000;
  cell.algorithms = {"sort"};
  cell.warmups = 0;
  cell.repeats = 10'000;
  cell.budget_s = 0.05;
  const CellResult result = CellRunner({}).run(cell);
  if (result.measured.empty()) GTEST_SKIP() << "this machine is too slow";
  EXPECT_LT(result.measured.front().runs, 10'000);
  cell.repeats = 3;
  cell.budget_s = 60;
  EXPECT_EQ(CellRunner({}).run(cell).measured.front().runs, 3);
}

TEST(CellRunner, AFirstRunThatIsLongEnoughIsTheOnlyOne) {
  Cell cell = skyline_cell();
  cell.algorithms = {"sfs"};
  cell.warmups = 1;
  cell.repeats = 3;
  cell.enough_s = 1e-9;
  EXPECT_EQ(CellRunner({}).run(cell).measured.front().runs, 1);
  cell.enough_s = 60;
  EXPECT_EQ(CellRunner({}).run(cell).measured.front().runs, 3);
}

TEST(CellRunner, OnlyMeasuresWhatWasAskedFor) {
  Cell cell = topk_cell();
  cell.algorithms = {"sort"};
  const CellResult result = CellRunner({}).run(cell);
  ASSERT_EQ(result.measured.size(), 1U);
  EXPECT_EQ(result.measured.front().algorithm, "sort");
  const CellResult on_gpu = CellRunner({.device = kernels::Device::cuda, .stop = {}}).run(skyline_cell());
  if (kernels::cuda::find_devices().devices.empty()) {
    EXPECT_THAT(on_gpu.measured, IsEmpty());
  }
  for (const Measurement& it : on_gpu.measured) EXPECT_THAT(it.algorithm, StartsWith("cuda-"));
}

TEST(CellRunner, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  Cell cell = skyline_cell();
  cell.n = 20'000;
  CellRunner runner({.device = {}, .stop = source.get_token()});
  EXPECT_THROW(runner.run(cell), kernels::Cancelled);
}

// Algorithms as no registry has them: wrong always, wrong in later runs.
using kernels::SkylineAlgorithm;
using kernels::SkylineProblem;
using kernels::SkylineSolution;

kernels::Support supports_all(const kernels::SkylineShape&) { return kernels::Support::yes(); }

SkylineSolution wrong_run(const SkylineProblem&, const kernels::ParameterValues&, const kernels::Context&) {
  return {{0, 1}, {}};
}

SkylineSolution later_wrong_run(const SkylineProblem& problem, const kernels::ParameterValues& values,
                                const kernels::Context& context) {
  static int runs = 0;
  return ++runs < 3 ? kernels::skyline_algorithms().front()->run(problem, values, context)
                    : wrong_run(problem, values, context);
}

SkylineAlgorithm algorithm(std::string_view name, decltype(SkylineAlgorithm::run) run) {
  SkylineAlgorithm algorithm;
  algorithm.name = name;
  algorithm.supports = supports_all;
  algorithm.run = run;
  return algorithm;
}

TEST(Measure, FindsAlgorithmsThatGiveWrongAnswers) {
  const std::vector<std::uint32_t> first = {1, 2, 3, 0};
  const std::vector<std::uint32_t> second = {1, 2, 0, 3};
  const std::vector<kernels::KeyColumn> keys = {{first.data(), KeyWidth::bytes4}, {second.data(), KeyWidth::bytes4}};
  SkylineProblem problem;
  problem.n = first.size();
  problem.keys = keys;
  const SkylineAlgorithm wrong = algorithm("wrong", wrong_run);
  const SkylineAlgorithm later_wrong = algorithm("later-wrong", later_wrong_run);
  const std::vector<const SkylineAlgorithm*> algorithms = {&wrong, kernels::skyline_algorithms().front(), &later_wrong};
  CellResult result;
  result.cell = skyline_cell();
  KeptData kept;
  EXPECT_THAT(measure(problem, algorithms, {}, result, kept), IsEmpty());
  ASSERT_EQ(result.measured.size(), 3U);
  EXPECT_EQ(result.measured[0].fault, "row 1 is dominated by row 0");
  EXPECT_EQ(result.measured[1].fault, "");
  EXPECT_EQ(result.measured[2].fault, "row 1 is dominated by row 0");
  EXPECT_THAT(csv_lines(result, {"g", "c", "m"}), ContainsRegex("g,wrong,.*,no,c,m\ng,.*,yes,c,m\n.*,no,c,m\n"));
}

CellResult sample_result() {
  CellResult result;
  result.cell = topk_cell();
  result.key_bytes = 20'000;
  Measurement good;
  good.algorithm = "sort";
  good.times = {5, 4.5, 6};
  good.floor = Times{2, 1};
  good.runs = 3;
  good.work.bytes_read = 20'000;
  good.work.candidates = 1234;
  good.extra_memory = 50'000;
  good.result_size = 10;
  Measurement bad = good;
  bad.algorithm = "heap";
  bad.times = {2.5, 2, 3};
  bad.predicted_ms = 3.25;
  bad.fault = "at place 0 row 1 instead of 4";
  result.measured = {good, bad};
  return result;
}

TEST(Csv, HasTheAgreedColumns) {
  EXPECT_EQ(
      csv_header(),
      "suite,algorithm,device,op,type,payload,dist,n,d,k,threads,parameters,median_ms,min_ms,max_ms,runs,floor_ms,x_"
      "floor,"
      "h2d_ms,d2h_ms,predicted_ms,"
      "bytes_read,bytes_written,dominance_tests,mask_tests,cell_tests,work,candidates,extra_bytes,stages,result_size,"
      "correct,commit,machine\n");
  EXPECT_EQ(csv_lines(sample_result(), {"grid", "abc", "Big, \"fast\" CPU"}),
            "grid,sort,cpu,top-k,float32,row "
            "id,few-distinct,5000,1,10,1,,5.0000,4.5000,6.0000,3,2.0000,2.500,0,0,,20000,0,0,0,0,,"
            "1234,50000,,10,"
            "yes,abc,\"Big, \"\"fast\"\" CPU\"\n"
            "grid,heap,cpu,top-k,float32,row "
            "id,few-distinct,5000,1,10,1,,2.5000,2.0000,3.0000,3,2.0000,1.250,0,0,3.2500,20000,0,0,0,0,,"
            "1234,50000,,10,"
            "no,abc,\"Big, \"\"fast\"\" CPU\"\n");
}

TEST(Csv, LeavesEmptyWhatASkylineHasNot) {
  CellResult result = sample_result();
  result.cell = skyline_cell();
  for (Measurement& it : result.measured) it.floor.reset();
  EXPECT_THAT(csv_lines(result, {"g", "c", "m"}),
              StartsWith("g,sort,cpu,skyline,float32,row id,anticorrelated,500,3,,2,,5.0000,4.5000,6.0000,3,,,0,0,,"));
}

TEST(Csv, SaysThatTheGreatestValuesAreTheBest) {
  CellResult result = sample_result();
  result.cell.high = true;
  EXPECT_THAT(csv_lines(result, {"g", "c", "m"}), HasSubstr(",few-distinct high,5000,"));
  result.cell.file = "scores.csv";
  EXPECT_THAT(csv_lines(result, {"g", "c", "m"}), HasSubstr(",few-distinct,5000,"));
}

TEST(Csv, HasParametersStagesAndTheWorkOfDefinition3) {
  CellResult result = sample_result();
  result.cell = skyline_cell();
  result.cell.parameters = {{"sync", 1}, {"live", 0}};
  result.measured.resize(1);
  result.measured[0].work.dominance_tests = 10;
  result.measured[0].work.mask_tests = 7;
  result.measured[0].cell_tests = 5;
  result.measured[0].stages = {{.name = "masks", .ms = 0.5, .rows = 9},
                               {.name = "phase 1", .ms = 2, .rows = 3, .dominance_tests = 10, .mask_tests = 7}};
  const std::string lines = csv_lines(result, {"g", "c", "m"});
  EXPECT_THAT(lines, HasSubstr(",3,,2,live=0 sync=1,"));
  EXPECT_THAT(lines, HasSubstr(",10,7,5,241,1234,50000,"));  // 3 * 7 + (6 * 3 + 4) * 10
  EXPECT_THAT(lines, HasSubstr(R"("[{""stage"": ""masks"", ""ms"": 0.5000, ""rows"": 9, ""dominance_tests"": 0, )"
                               R"(""mask_tests"": 0}, {""stage"": ""phase 1"", ""ms"": 2.0000, ""rows"": 3, )"
                               R"(""dominance_tests"": 10, ""mask_tests"": 7}]")"));
  EXPECT_EQ(title(result.cell), "skyline  anticorrelated  n 500  d 3  float32  2 threads  live=0 sync=1");
}

TEST(Csv, NotesATieRuleOtherThanFirst) {
  CellResult result = sample_result();
  result.cell.ties = kernels::TieRule::all;
  EXPECT_THAT(csv_lines(result, {"g", "c", "m"}), StartsWith("g,sort,cpu,top-k ties=all,float32,"));
}

TEST(ResultTable, IsAlignedFastestFirst) {
  CellResult result = sample_result();
  result.skipped = {{"bnl", "took more than 10 s"}};
  EXPECT_EQ(table(result),
            "  algorithm  runs  median ms  min ms  ratio  x floor  x keys  candidates  correct\n"
            "  heap          3       2.50    2.00   1.00     1.25    2.50      1.23 k       NO\n"
            "  sort          3       5.00    4.50   2.00     2.50    2.50      1.23 k      yes\n"
            "  heap is WRONG: at place 0 row 1 instead of 4\n"
            "  bnl left out: took more than 10 s\n");
  EXPECT_EQ(title(result.cell), "top-k  few-distinct  n 5,000  d 1  k 10  ties first  float32  1 thread");
  EXPECT_EQ(title(skyline_cell()), "skyline  anticorrelated  n 500  d 3  float32  2 threads");
}

TEST(ResultTable, SumsUpWithGeometricMeans) {
  const CellResult once = sample_result();
  CellResult again = once;
  again.measured[0].times = {1, 1};
  again.measured[1].times = {8, 8};
  EXPECT_EQ(summary({once, again}),
            "top-k: over all cells, geometric means\n"
            "  algorithm  cells  best in  mean ratio  worst ratio  mean x floor  worst x floor\n"
            "  sort           2        1        1.41         2.00          1.12           2.50\n"
            "  heap           2        1        2.83         8.00          2.24           4.00\n");
  EXPECT_EQ(summary({}), "");
}

}  // namespace
}  // namespace skyrank::bench

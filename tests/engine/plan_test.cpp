#include <gtest/gtest.h>

#include <skyrank/plan.hpp>

namespace skyrank {
namespace {

PlanNode example() {
  PlanNode scan;
  scan.op = "scan";
  scan.detail = "hotels";
  scan.predicted_rows = 1000;
  scan.predicted_ms = 0.0004;
  PlanNode skyline;
  skyline.op = "skyline";
  skyline.detail = "low: price, high: rating";
  skyline.algorithm = "sort-first";
  skyline.device = "cpu";
  skyline.reason = "cheapest of 2";
  skyline.fallback = "all pairs of rows";
  skyline.guard = "4 x the predicted 10 comparisons; then sfs; struck after 50 comparisons";
  skyline.predicted_rows = 12.4;
  skyline.predicted_ms = 1.234;
  skyline.parameters = {{"block", 64}, {"threads", 2}};
  skyline.alternatives = {{"block-nested-loops", 25.04, "slower"},
                          {"merge", 0, "needs two dimensions"},
                          {"divide", 0, "needs two dimensions"}};
  skyline.children = {scan};
  PlanNode gather;
  gather.op = "gather";
  gather.predicted_rows = 1;
  gather.predicted_ms = 123.4;
  gather.children = {skyline};
  return gather;
}

TEST(Plan, IsPrintedAsATree) {
  EXPECT_EQ(to_string(example()),
            "gather\n"
            "│   predicted 1 row in 123 ms\n"
            "└─ skyline  low: price, high: rating\n"
            "   │   sort-first on cpu with block=64, threads=2: cheapest of 2\n"
            "   │   otherwise: all pairs of rows\n"
            "   │   guard: 4 x the predicted 10 comparisons; then sfs; struck after 50 comparisons\n"
            "   │   predicted 12 rows in 1.23 ms\n"
            "   │   not block-nested-loops, 25.0 ms: slower\n"
            "   │   not merge, divide: needs two dimensions\n"
            "   └─ scan  hotels\n"
            "          predicted 1,000 rows in 0.000 ms\n");
}

TEST(Plan, ShowsWhatWasMeasuredBesideThePrediction) {
  PlanNode plan;
  plan.op = "top-k";
  plan.algorithm = "heap";
  plan.predicted_rows = 5;
  plan.predicted_ms = 0.5;
  plan.measured_rows = 7;
  plan.measured_ms = 0.25;
  plan.work = Work{1, 2, 3, 4, 5};
  plan.transferred = Transferred{80, 12'000};
  EXPECT_EQ(to_string(plan),
            "top-k\n"
            "    heap\n"
            "    predicted 5 rows in 0.500 ms; measured 7 rows in 0.250 ms\n"
            "    work: 1 dominance tests, 2 mask tests, 3 bytes read, 4 bytes written, 5 candidates\n"
            "    transferred: 80 B to the GPU, 12 kB from it\n");
}

TEST(Plan, BoundsAreShownWhereMoreMayComeButNotAll) {
  const auto line = [](double low, double expected, double high) {
    PlanNode plan = example();
    PlanNode& skyline = plan.children.front();
    skyline.predicted_rows_low = low;
    skyline.predicted_rows = expected;
    skyline.predicted_rows_high = high;
    skyline.children.front().predicted_rows_high = 1000;
    const std::string text = to_string(plan);
    const std::size_t begin = text.find("predicted", text.find("guard: 4 x the predicted") + 25);
    return text.substr(begin, text.find(" in ", begin) - begin);
  };
  EXPECT_EQ(line(10, 32, 80), "predicted 32 rows (10 to 80)");
  EXPECT_EQ(line(0, 32, 1000), "predicted 32 rows") << "all rows may come";
  EXPECT_EQ(line(0, 32, 32.3), "predicted 32 rows") << "no more may come";
  EXPECT_EQ(line(32, 32, 32), "predicted 32 rows");
}

TEST(Plan, CandidatesFollowTheRules) {
  PlanNode plan;
  plan.op = "gather";
  plan.decisions = {{"top-k", {{"heap", true, 0.5, 1}, {"nth-element", false, 2, 3}}},
                    {"fusion", {{"one pass", false, 30, 31}, {"keys first", true, 4, 5}}}};
  EXPECT_EQ(to_string(plan),
            "gather\n"
            "    predicted 0 rows in 0.000 ms\n"
            "candidates\n"
            "    top-k   heap         0.500 ms, at high 1.00 ms  taken\n"
            "            nth-element  2.00 ms, at high 3.00 ms\n"
            "    fusion  one pass     30.0 ms, at high 31.0 ms\n"
            "            keys first   4.00 ms, at high 5.00 ms  taken\n");
}

TEST(Plan, SiblingsAreJoined) {
  PlanNode leaf;
  leaf.op = "scan";
  PlanNode plan;
  plan.op = "union";
  plan.children = {leaf, leaf};
  EXPECT_EQ(to_string(plan),
            "union\n"
            "│   predicted 0 rows in 0.000 ms\n"
            "├─ scan\n"
            "│      predicted 0 rows in 0.000 ms\n"
            "└─ scan\n"
            "       predicted 0 rows in 0.000 ms\n");
}

TEST(Work, AddsUp) {
  Work work{1, 2, 3, 4, 5};
  work += Work{10, 20, 30, 40, 50};
  EXPECT_EQ(work, (Work{11, 22, 33, 44, 55}));
  EXPECT_EQ((Work{10, 7, 0, 0, 0}.instructions(3)), 3U * 7 + (6 * 3 + 4) * 10);
}

}  // namespace
}  // namespace skyrank

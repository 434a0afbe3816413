#include "tests/kernels/topk_conformance.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace skyrank::kernels::tests {
namespace {

TEST_P(TopKConformance, SameAnswerForAnyNumberOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 7);
  const std::size_t n = 100000;
  Turns turns(3);
  for (const auto& [distribution, widths] : many_rows()) {
    const TopKCase data(n, make_columns(distribution, n, widths.size(), k8, 2), widths);
    for (const auto& [k, ties] : some_ks(n)) {
      if (turns.skip()) continue;
      const TopKProblem problem = data.problem(k, ties);
      const std::vector<RowId>& expected = answer_to(problem);
      if (!GetParam()->supports(shape_of(problem))) continue;
      for (const int threads : kSlow ? std::vector{2, 7} : std::vector{1, 2, 7}) {
        tbb::task_arena arena(threads);
        EXPECT_EQ(arena.execute([&] { return run(problem).rows; }), expected)
            << name_of(distribution) << ", k = " << k << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, TopKConformance, testing::ValuesIn(on_cpu(topk_algorithms())), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests

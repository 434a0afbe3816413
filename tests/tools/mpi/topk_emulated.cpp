#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "tools/mpi/distributed_top_k.hpp"

// Distributed Dr. Top-k on the emulator: every answer is compared with all keys. Exits with 1 where one is wrong.
namespace skyrank::mpi {
namespace {

struct Case {
  VectorSpec vector;
  DistributedPlan plan;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool exchange : {false, true}) {
    for (const GatherShape shape : {GatherShape::flat, GatherShape::tree}) {
      for (const std::uint64_t distinct : {0, 7}) {
        // One sub-vector a rank; several, of which the last ones are cut short or empty; fewer keys than k.
        all.push_back({{40'000, distinct, 1}, {64, 1 << 20, exchange, shape}});
        all.push_back({{40'001, distinct, 2}, {128, 3000, exchange, shape, distinct != 0}});
        all.push_back({{5, distinct, 3}, {10, 2, exchange, shape}});
      }
    }
  }
  return all;
}

std::string told(const Case& one) {
  return "rows " + std::to_string(one.vector.rows) + ", distinct " + std::to_string(one.vector.distinct) + ", k " +
         std::to_string(one.plan.k) + ", sub-vectors of " + std::to_string(one.plan.sub_vector) +
         (one.plan.exchange_delegates ? ", exchanging" : "") +
         (one.plan.gather == GatherShape::tree ? ", tree" : ", flat") + (one.plan.overlap ? ", overlapping" : "");
}

int run(int argc, char** argv) {
  const Session session(&argc, &argv);
  const auto algorithms = kernels::topk_algorithms();
  const auto found = std::ranges::find(algorithms, "cuda-dr-topk", &kernels::TopKAlgorithm::name);
  int failures = 0;
  for (const Case& one : cases()) {
    DistributedTopK top_k(one.plan, session, **found, one.vector, {});
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Times times = top_k.run();
      const std::string wrong = top_k.wrong();
      const bool timed = times.total > 0 && (session.size() > 1) == (times.communication > 0) &&
                         (top_k.sub_vectors_of_rank() > 1 || times.reload == 0);
      if (wrong.empty() && (timed || session.rank() != 0)) continue;
      ++failures;
      if (session.rank() == 0) std::printf("%s: %s\n", told(one).c_str(), wrong.empty() ? "times" : wrong.c_str());
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace skyrank::mpi

int main(int argc, char** argv) {
  try {
    return skyrank::mpi::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    skyrank::mpi::end_all_ranks(1);
  }
}

// An experiment: one skyline on every algorithm of the CPU, with the work that each does.
#include <cstdio>
#include <optional>
#include <random>

#include <skyrank/skyrank.hpp>

namespace {

/// n points in the unit cube of d dimensions.
skyrank::Table cube(std::size_t n, int d) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<skyrank::Column> columns;
  for (int c = 0; c < d; ++c) {
    std::vector<float> values(n);
    for (float& value : values) value = uniform(random);
    columns.push_back(skyrank::Column::own("c" + std::to_string(c), std::move(values)));
  }
  return skyrank::Table(std::move(columns));
}

}  // namespace

int main() {
  using namespace skyrank;
  constexpr int kDims = 6;
  const Table points = cube(20'000, kDims);
  std::vector<Preference> terms;
  for (const Column& column : points.columns()) terms.push_back(low(Expression::column(column.name())));

  const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  std::printf("%-16s %12s %16s %14s\n", "algorithm", "ms", "dominance tests", "mask tests");
  std::optional<std::vector<RowId>> skyline;
  bool agree = true;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    if (algorithm.problem != "skyline" || algorithm.device != "cpu") continue;
    Query query = Query::from("points").prefer(terms).select({"row"});
    query.using_path({.algorithms = {algorithm.name}, .parameters = {}});
    Result result;
    try {
      result = engine.run(query, points, {.count_work = true, .stop = {}});
    } catch (const BindError& error) {  // an algorithm that does not take this many columns
      std::printf("%-16s %s\n", algorithm.name.c_str(), error.what());
      continue;
    }
    std::printf("%-16s %12.2f %16llu %14llu\n", algorithm.name.c_str(), result.timing.compute_ms,
                static_cast<unsigned long long>(result.work.dominance_tests),
                static_cast<unsigned long long>(result.work.mask_tests));
    if (!skyline) skyline = result.rows;
    agree = agree && result.rows == *skyline;
  }
  if (!skyline) return 1;  // no algorithm takes the query
  std::printf("%zu points in the skyline; %s\n", skyline->size(), agree ? "all answers agree" : "ANSWERS DIFFER");
  return agree ? 0 : 1;
}

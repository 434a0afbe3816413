// Uses a library that was built without the papers' algorithms, as an application does. Prints "lean" when all holds.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <skyrank/skyrank.hpp>

namespace {

using namespace skyrank;

constexpr std::string_view kBatch = R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - name: q
    from: points
    prefer: [{low: x}, {low: y}]
    using: {algorithm: cuda-gnl}
)";

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool says(const std::string& what, const std::string& expected) {
  if (what == expected) return true;
  std::printf("expected: %s\n     got: %s\n", expected.c_str(), what.c_str());
  return false;
}

std::string reason(const std::string& algorithm) {
  return "this build leaves out the algorithm '" + algorithm +
         "', which is one of the papers' algorithms; configure with -DSKYRANK_PAPERS=ON to have them";
}

}  // namespace

int main() {
  const Table points({Column::own("x", std::vector<float>{1, 2, 3}), Column::own("y", std::vector<float>{3, 2, 3})});
  const Engine engine;
  Query query = Query::from("points").prefer({low("x"), low("y")});
  if (engine.run(query, points).rows != std::vector<RowId>{0, 1}) return 1;

  query.using_path({.algorithms = {"salsa"}, .parameters = {}});
  bool lean = says(error_of([&] { engine.run(query, points); }), reason("salsa"));
  const Batch batch = parse_batch(kBatch, "lean.yaml");
  lean = says(error_of([&] { engine.run(batch.queries.front(), points); }), "lean.yaml:8:24: " + reason("cuda-gnl")) &&
         lean;

  for (const AlgorithmInfo& algorithm : algorithms()) {
    lean = lean && algorithm.name != "salsa" && algorithm.name != "stl-heap";
  }
  std::printf(lean ? "lean\n" : "not lean\n");
  return lean ? 0 : 1;
}

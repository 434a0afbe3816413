// A matrix as a table: each row a point, each column a criterion, nothing copied.
#include <cstdio>

#include <Eigen/Dense>
#include <skyrank/eigen.hpp>
#include <skyrank/skyrank.hpp>

int main() {
  using namespace skyrank;
  // Any strides would do: blocks, transposes and maps of other memory are viewed too.
  const Eigen::MatrixXd points = Eigen::MatrixXd::Random(1000, 3);
  const Table table = view_matrix(points, {"risk", "cost", "gain"});

  // The three best by a weighted score, among those that no other point dominates.
  const Query query = Query::from("points")
                          .prefer({low("risk"), low("cost"), high("gain")})
                          .rank_by({high("2 * gain - risk - cost")})
                          .limit(3)
                          .select({"row", "score"});
  const Result result = Engine().run(query, table);

  std::printf("%zu of %d points\n", result.rows.size(), static_cast<int>(points.rows()));
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const double score = std::get<double>(result.table.column("score").value(static_cast<std::int64_t>(i)));
    std::printf("row %3d: %6.3f\n", static_cast<int>(result.rows[i]), score);
  }
}

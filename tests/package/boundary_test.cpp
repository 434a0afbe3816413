#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/eigen.hpp>
#include <skyrank/skyrank.hpp>

// Links the shared library as an application does: what the public headers declare is there, and what the library
// throws is caught here by its type.
namespace skyrank {
namespace {

Table hotels() {
  return Table({Column::own("name", std::vector<std::string>{"Aurora", "Bristol", "Comfort"}),
                Column::own("price", std::vector<double>{120, 80, 95})});
}

void run(const Query& query, const RunOptions& options = {}) { Engine().run(query, hotels(), options); }

/// Expects `E` by its own type, as a skyrank::Error and as a std::exception.
template <class E>
void expect_thrown(const std::function<void()>& call) {
  EXPECT_THROW(call(), E);
  EXPECT_THROW(call(), Error);
  try {
    call();
  } catch (const std::exception& exception) {
    const auto* error = dynamic_cast<const E*>(&exception);
    ASSERT_NE(error, nullptr) << exception.what();
    EXPECT_FALSE(error->message().empty());
  }
}

TEST(Boundary, ErrorsAreCaughtByTheirType) {
  expect_thrown<QueryError>([] { const Expression expression("1 +"); });
  expect_thrown<BindError>([] { run(Query::from("hotels").rank_by({low("stars")})); });
  expect_thrown<DataError>([] { const Table table({hotels().column(0), hotels().column(0)}); });
  expect_thrown<ResourceError>([] { read_batch("there/is/no/such/file.yaml"); });
  expect_thrown<CancelledError>([] {
    std::stop_source stop;
    stop.request_stop();
    RunOptions options;
    options.stop = stop.get_token();
    run(Query::from("hotels").rank_by({low("price")}), options);
  });
}

TEST(Boundary, ErrorsThrownHereAndThereAreTheSame) {
  try {
    throw DeviceError("no device", Location{"here", 1, 2});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "here:1:2: no device");
  }
}

TEST(Boundary, AnswersQueries) {
  const Query query = Query::from("hotels").prefer({low("price")}).rank_by({low("price")}).select({"name"});
  const Result result = Engine().run(query, hotels());
  EXPECT_EQ(result.rows, std::vector<RowId>{1});
  EXPECT_EQ(to_string(result.table.column("name").value(0)), "Bristol");
  EXPECT_FALSE(to_string(result.plan).empty());
  EXPECT_FALSE(algorithms().empty());
  EXPECT_FALSE(rules().empty());
}

TEST(Boundary, ViewsMatrices) {
  const Eigen::MatrixXd matrix = Eigen::MatrixXd::Identity(3, 2);
  EXPECT_EQ(Engine().run(Query::from("m").rank_by({high("c1")}).limit(1), view_matrix(matrix)).rows,
            std::vector<RowId>{1});
}

TEST(Boundary, SelectsInArrays) {
  const std::vector<float> row = {3, 1, 2};
  float value = 0;
  std::int64_t position = 0;
  MatrixView matrix;
  matrix.values = row.data();
  matrix.rows = 1;
  matrix.columns = 3;
  matrix.column_stride = sizeof(float);
  select_k(matrix, 1, {&value, &position});
  EXPECT_EQ(value, 1);
  EXPECT_EQ(position, 1);
  expect_thrown<DataError>([&] { select_k(matrix, 4, {&value, &position}); });
}

TEST(Boundary, PassesTablesThroughArrow) {
  ArrowArray array;
  ArrowSchema schema;
  export_arrow(hotels(), &array, &schema);
  EXPECT_EQ(import_arrow(&array, &schema).num_rows(), 3);
}

}  // namespace
}  // namespace skyrank

#include <gtest/gtest.h>

#include <skyrank/eigen.hpp>

namespace skyrank {
namespace {

template <class Matrix>
void expect_views(const Matrix& matrix, const Table& table) {
  ASSERT_EQ(table.num_rows(), matrix.rows());
  ASSERT_EQ(table.num_columns(), matrix.cols());
  for (int j = 0; j < table.num_columns(); ++j) {
    const Column& column = table.column(j);
    EXPECT_EQ(column.name(), "c" + std::to_string(j));
    if (matrix.rows() > 0) {
      EXPECT_EQ(column.data().values, &matrix.coeffRef(0, j));
    }
    EXPECT_EQ(column.data().owner, nullptr);
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
      EXPECT_EQ(column.value(i), Value{static_cast<double>(matrix(i, j))}) << i << ", " << j;
    }
  }
}

template <class Matrix>
Matrix numbered(Eigen::Index rows, Eigen::Index cols) {
  Matrix matrix(rows, cols);
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < cols; ++j) matrix(i, j) = static_cast<typename Matrix::Scalar>(100 * i + j);
  }
  return matrix;
}

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST(ViewMatrix, ColumnMajor) {
  const auto matrix = numbered<Eigen::MatrixXd>(5, 3);
  const Table table = view_matrix(matrix);
  expect_views(matrix, table);
  EXPECT_EQ(table.column(1).type(), DataType(Type::float64));
  EXPECT_EQ(table.column(1).data().stride, 8);
}

TEST(ViewMatrix, RowMajor) {
  const auto matrix = numbered<RowMajor>(5, 3);
  const Table table = view_matrix(matrix);
  expect_views(matrix, table);
  EXPECT_EQ(table.column(1).type(), DataType(Type::float32));
  EXPECT_EQ(table.column(1).data().stride, 12);
}

TEST(ViewMatrix, SeesLaterChanges) {
  auto matrix = numbered<Eigen::MatrixXd>(2, 2);
  const Table table = view_matrix(matrix);
  matrix(1, 0) = -7;
  EXPECT_EQ(table.column("c0").value(1), Value{-7.0});
}

TEST(ViewMatrix, BlocksOfBiggerMatrices) {
  const auto columns = numbered<Eigen::MatrixXd>(6, 5);
  expect_views(columns.block(1, 2, 4, 3), view_matrix(columns.block(1, 2, 4, 3)));
  const auto rows = numbered<RowMajor>(6, 5);
  expect_views(rows.block(1, 2, 4, 3), view_matrix(rows.block(1, 2, 4, 3)));
  expect_views(rows.col(3), view_matrix(rows.col(3)));
  expect_views(columns.row(3), view_matrix(columns.row(3)));
  expect_views(columns.transpose(), view_matrix(columns.transpose()));
}

TEST(ViewMatrix, MapsWithStrides) {
  std::vector<double> memory(100);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::Map<const Eigen::MatrixXd, 0, Strides> map(memory.data() + 1, 4, 3, Strides(20, 3));
  const Table table = view_matrix(map);
  expect_views(map, table);
  EXPECT_EQ(table.column(2).data().stride, 3 * 8);
  EXPECT_EQ(table.column(2).value(3), Value{1.0 + 2 * 20 + 3 * 3});
}

TEST(ViewMatrix, FixedSizesVectorsAndIntegers) {
  const Eigen::Matrix2f fixed = Eigen::Matrix2f::Identity();
  expect_views(fixed, view_matrix(fixed));
  const Eigen::VectorXd vector = Eigen::VectorXd::LinSpaced(4, 0, 3);
  expect_views(vector, view_matrix(vector));
  const Eigen::Matrix<std::uint32_t, 2, 1> integers(7, 4294967295U);
  EXPECT_EQ(view_matrix(integers).column(0).value(1), Value{std::int64_t{4294967295}});
}

TEST(ViewMatrix, Names) {
  const auto matrix = numbered<Eigen::MatrixXd>(2, 2);
  EXPECT_EQ(view_matrix(matrix, {"x", "y"}).column("y").value(1), Value{101.0});
  try {
    view_matrix(matrix, {"x"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "a matrix of 2 columns got 1 names");
  }
  EXPECT_THROW(view_matrix(matrix, {"x", "x"}), DataError);
}

TEST(ViewMatrix, EmptyMatrices) {
  EXPECT_EQ(view_matrix(Eigen::MatrixXd(0, 3)).num_columns(), 3);
  const Eigen::MatrixXd without_columns(4, 0);
  EXPECT_EQ(view_matrix(without_columns).num_rows(), 4);
  EXPECT_EQ(view_matrix(without_columns).num_columns(), 0);
}

}  // namespace
}  // namespace skyrank

#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

// Views Eigen matrices as tables, without copying. It needs the headers of Eigen, so skyrank.hpp leaves it out.
namespace skyrank {
inline namespace v0 {

/// Views the columns of an n x d Eigen matrix or map (row- or column-major, with any strides) as table columns, without
/// copying; the caller keeps the matrix alive. `names` has d entries, or none for c0, c1, ...; DataError otherwise.
template <class Derived>
Table view_matrix(const Eigen::DenseBase<Derived>& matrix, std::vector<std::string> names = {}) {
  using Scalar = typename Derived::Scalar;
  static_assert((int(Derived::Flags) & Eigen::DirectAccessBit) != 0,
                "view_matrix needs a matrix or a map that lies in memory, not an expression");
  const auto& m = matrix.derived();
  if (!names.empty() && static_cast<Eigen::Index>(names.size()) != m.cols()) {
    throw DataError("a matrix of " + std::to_string(m.cols()) + " columns got " + std::to_string(names.size()) +
                    " names");
  }
  constexpr bool row_major = (int(Derived::Flags) & Eigen::RowMajorBit) != 0;
  const Eigen::Index down = row_major ? m.outerStride() : m.innerStride();
  const Eigen::Index across = row_major ? m.innerStride() : m.outerStride();
  std::vector<Column> columns;
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    std::string name = names.empty() ? "c" + std::to_string(j) : std::move(names[static_cast<std::size_t>(j)]);
    columns.push_back(Column::view_strided(std::move(name), type_of<Scalar>(), m.data() + j * across, m.rows(),
                                           static_cast<std::int64_t>(down) * std::int64_t{sizeof(Scalar)}));
  }
  return columns.empty() ? Table::with_rows(m.rows()) : Table(std::move(columns));
}

}  // namespace v0
}  // namespace skyrank

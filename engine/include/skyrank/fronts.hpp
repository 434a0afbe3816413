#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/types.hpp>

// Pareto fronts of arrays, without a table, a query or an engine: for callers that ask ten thousand times about a few
// hundred points, such as evolutionary algorithms. An engine answers the same about many points in less time.
namespace skyrank {
inline namespace v0 {

/// Points in the caller's memory: rows are points, columns are objectives, of which smaller values are better. NaN is
/// the worst value, and 0.0 and -0.0 are equal.
struct Points {
  const void* values = nullptr;    ///< value of the first row and column; any alignment
  Type type = Type::float64;       ///< float32, float64, or an integer type of 32 or 64 bits
  std::int64_t rows = 0;           ///< >= 0
  std::int64_t columns = 0;        ///< 1 to 64
  std::int64_t row_stride = 0;     ///< bytes from a row to the next
  std::int64_t column_stride = 0;  ///< bytes from a column to the next
};

/// Returns true if `pareto_ranks` and `nondominated_rows` take points of this type.
SKYRANK_EXPORT bool is_type_of_points(Type type);

/// Returns the Pareto rank of each row: 0 for rows that no other row dominates, 1 for those that only rows of rank 0
/// dominate, and so on. A row dominates another if it is nowhere greater and somewhere smaller.
///
/// Takes O(n log n) for up to three columns; up to O(n^2) for more, as explained in kernels/cpu/levels/insertion.cpp
/// (Zhang et al., IEEE TEVC 19(2), 2015). DataError for another type, for more than 2^31 - 1 rows, and for no column or
/// more than 64.
SKYRANK_EXPORT std::vector<std::int32_t> pareto_ranks(const Points& points);

/// Returns the rows that no other row dominates, ascending: those of rank 0, all of several equal ones. DataError as
/// for `pareto_ranks`.
SKYRANK_EXPORT std::vector<RowId> nondominated_rows(const Points& points);

/// Returns how far each row is from its neighbours of the same Pareto rank: the sum, over the columns, of the
/// difference between the next and the previous value, divided by that between the greatest and the least (Deb et al.,
/// IEEE TEVC 6(2), 2002). Rows that are equal in a column follow each other in the order of rows. The first and the
/// last row of a column are infinitely far; a column whose values are all equal adds 0 to all. Of infinite values the
/// difference of equal ones is 0, and the greatest and the least are finite.
///
/// DataError as for `pareto_ranks`, and for NaN.
SKYRANK_EXPORT std::vector<double> crowding_distances(const Points& points);

/// Returns the `count` rows that survive in NSGA-II, the best first: those of lower Pareto rank, then of larger
/// crowding distance, then the lower row. With a violation of constraints for each row, rows without any (0 or less)
/// come before all others, of which those with less violation come first (Deb et al. 2002, section VI).
///
/// DataError as for `crowding_distances`, for a count below 0 or above the number of rows, and for violations that are
/// NaN or not one for each row.
SKYRANK_EXPORT std::vector<RowId> nsga2_survivors(const Points& points, std::int64_t count,
                                                  std::span<const double> violations = {});

}  // namespace v0
}  // namespace skyrank

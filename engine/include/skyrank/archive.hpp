#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/fronts.hpp>
#include <skyrank/types.hpp>

// The archive of an optimiser: the best of all points that it has seen (engine/docs/indicators.md).
namespace skyrank {
inline namespace v0 {

/// Says how an archive compares points, and how many it keeps.
struct ArchiveOptions {
  /// Objectives of which larger values are better: one value for each, or one for all; empty: none.
  std::vector<bool> maximise = {};
  /// Boxes within which values are equal, as those of `step` of a preference: a number, a ratio such as "10%", or NULL
  /// for none. One for each objective, or one for all; empty: none.
  std::vector<Value> step = {};
  std::int64_t capacity = 0;  ///< points that are kept, >= 1; 0: as many as come
  /// Above the capacity the point of the least hypervolume contribution up to this reference point leaves; without one
  /// that of the least crowding distance. A value for each objective, or one for all.
  std::vector<double> reference = {};
};

/// Keeps the points that no other point dominates, as they come.
///
///     skyrank::Archive archive;
///     archive.add(std::vector<double>{1, 4});  // true
///     archive.add(std::vector<double>{2, 5});  // false: the first one dominates it
///     archive.add(std::vector<double>{0, 4});  // true, and the first one leaves
///
/// NaN is the worst value, and 0.0 and -0.0 are equal. Of equal points the first one stays. With a `step` points are
/// compared by their boxes, and each box has one point: the first one, unless one dominates it by its values. A point
/// is looked at in a tree of boxes (kernels/cpu/fronts/front_tree.hpp), in about a microsecond among 10,000 of three
/// objectives. One thread at a time may use an archive.
class SKYRANK_EXPORT Archive {
 public:
  /// Makes an archive without points. QueryError for a step that is none or a capacity below 0, and for a reference
  /// that is not finite or comes without a capacity.
  explicit Archive(const ArchiveOptions& options = {});
  /// Lets go of the points.
  ~Archive();
  /// Moves the points.
  Archive(Archive&&) noexcept;
  /// Moves the points.
  Archive& operator=(Archive&&) noexcept;

  /// Adds a point, which gets the next id. Returns true if it is kept. The first point says how many objectives there
  /// are. DataError for another number than that of the points before or of the options, and with a reference for
  /// values that are not finite. ResourceError where memory runs out; then the archive is as it was.
  bool add(std::span<const double> point);

  /// Adds points one after the other. Returns, for each, whether it is there after all of them. Errors as above: those
  /// about points add none, and where memory runs out some may have come.
  std::vector<bool> add(const Points& points);

  /// Returns the number of points that are kept.
  std::int64_t size() const;
  /// Returns the number of objectives; 0 before the first point.
  std::int64_t objectives() const;
  /// Returns the id that the next point gets: the number of points that were added.
  RowId next_id() const;
  /// Returns the ids of the points that are kept, ascending.
  std::vector<RowId> ids() const;
  /// Returns their values in the order of ids, row by row.
  std::vector<double> points() const;
  /// Returns the hypervolume of the points up to a reference point; errors as of `hypervolume`
  /// (skyrank/indicators.hpp).
  double hypervolume(std::span<const double> reference) const;

 private:
  struct SKYRANK_NO_EXPORT State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace skyrank

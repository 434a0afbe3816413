#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <skyrank/fronts.hpp>

namespace skyrank::exec {

/// A copy on the host of points in the memory of a GPU.
class FetchedPoints {
 public:
  /// Copies points once what is on `stream`, a cudaStream_t of their device, is done. DataError where they are none, as
  /// of `pareto_ranks`, or lie in the host's memory; `name` says which points they are. DeviceError.
  FetchedPoints(const Points& points, const char* name, void* stream);

  const Points& points() const { return points_; }
  /// The device that they lie on; none for no points.
  std::optional<int> device() const { return device_; }

 private:
  std::vector<std::byte> values_;
  Points points_;
  std::optional<int> device_;
};

}  // namespace skyrank::exec

#include "engine/indicators/fetched_points.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include <skyrank/error.hpp>

#include "engine/indicators/dense_points.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/values/borrowed.hpp"

namespace skyrank::exec {
namespace {

using kernels::cuda::BorrowedValues;

std::size_t width_of(Type type) {
  return type == Type::float64 || type == Type::int64 || type == Type::uint64 ? sizeof(double) : sizeof(float);
}

}  // namespace

FetchedPoints::FetchedPoints(const Points& points, const char* name, void* stream) : points_(points) {
  check_points(points, name);
  if (points.rows == 0) return;
  const std::size_t width = width_of(points.type);
  const auto rows = static_cast<std::size_t>(points.rows);
  const auto columns = static_cast<std::size_t>(points.columns);
  const auto bytes = static_cast<std::int64_t>(width);
  try {
    device_ = kernels::cuda::device_of(points.values);
    if (!device_) throw DataError(std::string(name) + " lie in the memory of the host, not of a GPU");
    kernels::cuda::ReadyPoint::after_stream(stream, *device_)->wait();
    values_.resize(width * rows * columns);
    points_.values = values_.data();
    if (points.column_stride == bytes && points.row_stride == points.columns * bytes) {
      kernels::cuda::fetch_borrowed(values_.data(), {points.values, width, bytes, rows * columns, *device_});
      return;
    }
    points_.row_stride = bytes;
    points_.column_stride = points.rows * bytes;
    for (std::size_t j = 0; j < columns; ++j) {
      const auto* const first =
          static_cast<const std::byte*>(points.values) + static_cast<std::int64_t>(j) * points.column_stride;
      kernels::cuda::fetch_borrowed(values_.data() + j * rows * width,
                                    BorrowedValues{first, width, points.row_stride, rows, *device_});
    }
  } catch (const kernels::cuda::OutOfMemory& failure) {
    throw ResourceError(failure.what());
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while points were copied from a GPU");
  }
}

}  // namespace skyrank::exec

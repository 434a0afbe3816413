#include "kernels/cuda/device/failure.hpp"

#include <utility>

namespace skyrank::kernels::cuda {
namespace {

std::string describe(const std::source_location& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line());
}

}  // namespace

Failure::Failure(std::string call, std::string reason, const std::source_location& place)
    : std::runtime_error(call + " at " + describe(place) + ": " + reason),
      call_(std::move(call)),
      reason_(std::move(reason)),
      place_(describe(place)) {}

}  // namespace skyrank::kernels::cuda

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/failure.hpp"
#include "kernels/cuda/registry.hpp"

// Stands for the rest of kernels/cuda in a build without CUDA.
namespace skyrank::kernels::cuda {

Devices find_devices() {
  Devices none;
  none.reason = "this build has no GPU kernels (built without CUDA)";
  return none;
}

std::span<const SkylineAlgorithm* const> skyline_algorithms() { return {}; }

std::span<const TopKAlgorithm* const> topk_algorithms() { return {}; }

void self_check(int /*ordinal*/) { throw Failure("self_check", find_devices().reason, __FILE__, __LINE__); }

}  // namespace skyrank::kernels::cuda

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/failure.hpp"
#include "kernels/cuda/device/residence.hpp"
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

struct Residence::State {};

Residence::Residence(std::span<const KeyColumn> /*columns*/, std::size_t /*n*/) {
  throw Failure("Residence", find_devices().reason, __FILE__, __LINE__);
}
Residence::~Residence() = default;
std::span<const KeyColumn> Residence::keys() const { return {}; }
std::size_t Residence::bytes() const { return 0; }
double Residence::read_ms() const { return 0; }
void Residence::evict() const {}

std::size_t peak_temporary_bytes() { return 0; }

}  // namespace skyrank::kernels::cuda

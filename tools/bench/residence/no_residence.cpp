#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "tools/bench/residence/residence.hpp"

// Stands for residence.cu in a build without CUDA.
namespace skyrank::bench {

struct Residence::State {};

Residence::Residence(std::span<const kernels::KeyColumn> /*columns*/, std::size_t /*n*/) {
  throw kernels::cuda::Failure("Residence", kernels::cuda::find_devices().reason, __FILE__, __LINE__);
}
Residence::~Residence() = default;
std::span<const kernels::KeyColumn> Residence::keys() const { return {}; }
std::size_t Residence::bytes() const { return 0; }
double Residence::read_ms() const { return 0; }
void Residence::evict() const {}

}  // namespace skyrank::bench

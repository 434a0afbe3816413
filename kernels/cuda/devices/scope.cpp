#include "kernels/cuda/devices/scope.hpp"

#include <utility>

namespace skyrank::kernels::cuda {
namespace {

thread_local const SelectedDevice* selected = nullptr;

}  // namespace

const SelectedDevice& selected_device() noexcept {
  static constexpr SelectedDevice kFirst;
  return selected != nullptr ? *selected : kFirst;
}

bool has_selected_device() noexcept { return selected != nullptr; }

DeviceScope::DeviceScope(const SelectedDevice& device) noexcept
    : device_(device), before_(std::exchange(selected, &device_)) {}
DeviceScope::~DeviceScope() { selected = before_; }

}  // namespace skyrank::kernels::cuda

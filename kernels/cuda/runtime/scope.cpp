#include "kernels/cuda/runtime/scope.hpp"

#include <utility>

#include "kernels/cuda/runtime/start.hpp"

namespace skyrank::kernels::cuda {
namespace {

thread_local const SelectedDevice* selected = nullptr;

}  // namespace

const SelectedDevice& selected_device() noexcept {
  thread_local SelectedDevice of_process;
  of_process.ordinal = process_device();
  return selected != nullptr ? *selected : of_process;
}

DeviceScope::DeviceScope(const SelectedDevice& device) noexcept
    : device_(device), before_(std::exchange(selected, &device_)) {}
DeviceScope::~DeviceScope() { selected = before_; }

}  // namespace skyrank::kernels::cuda

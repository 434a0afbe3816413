#include "engine/plan/devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"
#include "kernels/registry.hpp"

namespace skyrank::exec {
namespace {

bool has_cuda_algorithms() {
  const auto is_cuda = [](const auto* algorithm) { return algorithm->device == kernels::Device::cuda; };
  return std::ranges::any_of(kernels::skyline_algorithms(), is_cuda) ||
         std::ranges::any_of(kernels::topk_algorithms(), is_cuda);
}

}  // namespace

void require_cuda() {
  const kernels::cuda::Devices found = kernels::cuda::find_devices();
  if (found.devices.empty()) throw DeviceError("device cuda was asked for, but there is none: " + found.reason);
}

bool cuda_takes_part(DeviceChoice device) {
  if (device == DeviceChoice::cpu || !has_cuda_algorithms()) return false;
  return !kernels::cuda::find_devices().devices.empty();
}

std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda) {
  if (device == DeviceChoice::cuda) return kernels::Device::cuda;
  if (device == DeviceChoice::cpu || !cuda) return kernels::Device::cpu;
  return std::nullopt;
}

std::string device_note(DeviceChoice device, bool cuda) {
  if (device != DeviceChoice::automatic || cuda) return {};
  return has_cuda_algorithms()
             ? "device auto: the CPU, as there is no usable GPU (" + kernels::cuda::find_devices().reason + ")"
             : "device auto: the CPU, as no CUDA algorithm is registered in this version";
}

void note_device_choice(RuleLog& rules, DeviceChoice device, bool cuda) {
  if (device != DeviceChoice::automatic) {
    rules.left_out(Rule::device_choice, "the device was asked for");
  } else if (cuda) {
    rules.applied(Rule::device_choice, "paths of both are in the running");
  } else {
    rules.left_out(Rule::device_choice, "there is no usable GPU");
  }
}

double host_bytes() {
  static const double kBytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return kBytes > 0 ? kBytes : std::numeric_limits<double>::infinity();
}

double device_bytes() {
  static const double kBytes = static_cast<double>(kernels::cuda::find_devices().devices.front().memory_bytes);
  return kBytes;
}

}  // namespace skyrank::exec

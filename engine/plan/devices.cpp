#include "engine/plan/devices.hpp"

#include <algorithm>
#include <cmath>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/runtime/start.hpp"
#include "kernels/registry.hpp"

namespace skyrank::exec {
namespace {

bool has_cuda_algorithms() {
  const auto is_cuda = [](const auto* algorithm) { return algorithm->device == kernels::Device::cuda; };
  return std::ranges::any_of(kernels::skyline_algorithms(), is_cuda) ||
         std::ranges::any_of(kernels::topk_algorithms(), is_cuda);
}

/// The answer of the driver to the first question.
const kernels::cuda::Devices& gpus() {
  static const kernels::cuda::Devices kFound = kernels::cuda::find_devices();
  return kFound;
}

std::string does_not_pay(double gpu_start) {
  return "the start of a GPU, " + std::to_string(std::lround(gpu_start * 1e3)) + " ms, does not pay for this query";
}

}  // namespace

void require_cuda(const std::vector<int>& ordinals) {
  if (!has_usable_gpu()) throw DeviceError("device cuda was asked for, but there is none: " + gpus().reason);
  require_known(ordinals);
}

void check_gpus(const std::vector<int>& ordinals) {
  for (auto one = ordinals.begin(); one != ordinals.end(); ++one) {
    if (*one < 0) throw ResourceError("GPUs are numbered from 0; there is no GPU " + std::to_string(*one));
    if (std::find(ordinals.begin(), one, *one) != one) {
      throw ResourceError("GPU " + std::to_string(*one) + " is named twice");
    }
  }
}

void require_known(const std::vector<int>& ordinals) {
  const std::size_t count = gpus().devices.size();
  for (const int ordinal : ordinals) {
    if (static_cast<std::size_t>(ordinal) < count) continue;
    throw DeviceError("GPU " + std::to_string(ordinal) + " was asked for, but there " +
                      (count == 1 ? "is only GPU 0" : "are only GPUs 0 to " + std::to_string(count - 1)));
  }
}

bool may_use_gpu(DeviceChoice device) {
  if (device == DeviceChoice::cpu || !has_cuda_algorithms()) return false;
  return kernels::cuda::shows_gpu() || has_usable_gpu();
}

bool has_usable_gpu() { return !gpus().devices.empty(); }

bool has_asked_driver() { return kernels::cuda::started() != kernels::cuda::Started::nothing; }

std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda) {
  if (device == DeviceChoice::cuda) return kernels::Device::cuda;
  if (device == DeviceChoice::cpu || !cuda) return kernels::Device::cpu;
  return std::nullopt;
}

std::string device_note(DeviceChoice device, GpuUse gpu, double gpu_start) {
  if (device != DeviceChoice::automatic || gpu == GpuUse::possible || gpu == GpuUse::excluded) return {};
  if (gpu == GpuUse::postponed) return "device auto: the CPU, as " + does_not_pay(gpu_start);
  return has_cuda_algorithms() ? "device auto: the CPU, as there is no usable GPU (" + gpus().reason + ")"
                               : "device auto: the CPU, as this build has no GPU kernels";
}

void note_device_choice(RuleLog& rules, DeviceChoice device, GpuUse gpu, double gpu_start) {
  if (device != DeviceChoice::automatic || gpu == GpuUse::excluded) {
    rules.left_out(Rule::device_choice, "the device was asked for");
  } else if (gpu == GpuUse::possible) {
    rules.applied(Rule::device_choice, "paths of both are compared");
  } else {
    rules.left_out(Rule::device_choice, gpu == GpuUse::postponed ? does_not_pay(gpu_start) : "there is no usable GPU");
  }
}

double device_bytes(int ordinal) {
  return static_cast<double>(gpus().devices.at(static_cast<std::size_t>(ordinal)).memory_bytes);
}

}  // namespace skyrank::exec

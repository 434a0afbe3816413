#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/plan/rules.hpp"
#include "kernels/common/problem.hpp"

// The devices that a query may run on. Asking a driver for its GPUs starts it, which takes longer than most queries. So
// `device: auto` asks only when a plan has shown that a GPU would pay.
namespace skyrank::exec {

/// The role of a GPU in planning a query.
enum class GpuUse : std::uint8_t {
  none,       ///< there is no usable GPU
  excluded,   ///< the query may use the CPU alone
  postponed,  ///< to start a GPU would take longer than it could save
  possible,   ///< CUDA paths are considered
};

/// Throws DeviceError without a usable GPU, and where one of `ordinals` is none.
void require_cuda(const std::vector<int>& ordinals = {0});

/// Throws ResourceError for numbers that no GPU can have, or that come twice.
void check_gpus(const std::vector<int>& ordinals);

/// Throws DeviceError where one of `ordinals` is none of the GPUs that the driver found.
void require_known(const std::vector<int>& ordinals);

/// Returns true if queries of an engine may use a GPU. Asks no driver where the system lists a GPU.
bool may_use_gpu(DeviceChoice device);

/// Asks the driver, and returns true if there is a usable GPU.
bool has_usable_gpu();

/// Returns true if the process has asked the driver before, so that to ask again costs nothing.
bool has_asked_driver();

/// Returns the only device that paths may use, or nothing if they may use all.
std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda);

/// Says why `device: auto` takes the CPU; empty where it compares both. `gpu_start`: seconds until a GPU could begin.
std::string device_note(DeviceChoice device, GpuUse gpu, double gpu_start);

/// Notes the outcome of the rule `device-choice`.
void note_device_choice(RuleLog& rules, DeviceChoice device, GpuUse gpu, double gpu_start);

/// Returns the bytes of memory of a GPU that exists. Asks the driver.
double device_bytes(int ordinal);

}  // namespace skyrank::exec

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <skyrank/engine.hpp>

#include "engine/plan/rules.hpp"
#include "kernels/common/problem.hpp"

// The devices that a query may run on. To ask a driver for its GPUs starts it, which takes longer than most queries, so
// that `device: auto` asks once a plan has shown that a GPU would pay.
namespace skyrank::exec {

/// How far a GPU is in the running for a query.
enum class GpuUse : std::uint8_t {
  none,       ///< there is no usable GPU
  excluded,   ///< the query may use the CPU alone
  postponed,  ///< to start a GPU would take longer than it could save
  possible,   ///< CUDA paths are considered
};

/// Throws DeviceError without a usable GPU.
void require_cuda();

/// Returns true if a GPU may take part in queries of an engine. Where the system shows a GPU, no driver is asked.
bool gpu_may_take_part(DeviceChoice device);

/// Asks the driver, and returns true if there is a usable GPU.
bool has_usable_gpu();

/// Returns true if the process has asked the driver before, so that to ask again costs nothing.
bool has_asked_driver();

/// Returns the only device that paths may use, or nothing if they may use all.
std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda);

/// Says why `device: auto` takes the CPU; empty where it compares both. `gpu_start`: seconds until a GPU could begin.
std::string device_note(DeviceChoice device, GpuUse gpu, double gpu_start);

/// Notes what became of the rule that compares devices.
void note_device_choice(RuleLog& rules, DeviceChoice device, GpuUse gpu, double gpu_start);

/// Bytes of the memory of the first GPU, which exists. Asks the driver.
double device_bytes();

}  // namespace skyrank::exec

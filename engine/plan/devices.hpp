#pragma once

#include <optional>
#include <string>

#include <skyrank/engine.hpp>

#include "engine/plan/rules.hpp"
#include "kernels/common/problem.hpp"

// The devices that a query may run on.
namespace skyrank::exec {

/// Throws DeviceError without a usable GPU.
void require_cuda();

/// Returns true if CUDA paths are considered. Drivers are asked only where there is something to run on a device.
bool cuda_takes_part(DeviceChoice device);

/// Returns the only device that paths may use, or nothing if they may use all.
std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda);

/// Says why `device: auto` fell back to the CPU; empty where it did not.
std::string device_note(DeviceChoice device, bool cuda);

/// Notes what became of the rule that compares devices.
void note_device_choice(RuleLog& rules, DeviceChoice device, bool cuda);

/// Bytes of the host's memory; infinite where they are not known.
double host_bytes();

/// Bytes of the memory of the first GPU, which exists.
double device_bytes();

}  // namespace skyrank::exec

#pragma once

#include <cstddef>
#include <string>
#include <vector>

// The machine's GPUs. Plain C++: in a build without CUDA there are none, and the reason says so.
namespace skyrank::kernels::cuda {

struct DeviceInfo {
  int ordinal = 0;  ///< number of the device in the CUDA runtime, from 0
  std::string name;
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
};

struct Devices {
  std::vector<DeviceInfo> devices;
  std::string reason;       ///< why `devices` is empty, in the driver's words; empty when it is not
  int driver_version = 0;   ///< 1000 * major + 10 * minor of the newest CUDA that the driver serves; 0: no driver
  int runtime_version = 0;  ///< likewise of the CUDA that the kernels were built with; 0: built without
};

/// Asks the driver. Never throws for want of a driver or a device.
Devices find_devices();

/// Runs a kernel on a device and compares what it wrote with the host's answer, so that a device that is seen but
/// cannot run this build's kernels is found before a query is sent there. Throws Failure.
void self_check(int ordinal);

}  // namespace skyrank::kernels::cuda

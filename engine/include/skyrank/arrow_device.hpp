#pragma once

#include <skyrank/arrow.hpp>
#include <skyrank/export.hpp>
#include <skyrank/table.hpp>

// The Arrow C device data interface: a struct that says on which device the buffers of an ArrowArray lie, under the
// guard that the interface prescribes.
#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;  // NOLINT: C

#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_OPENCL 4
#define ARROW_DEVICE_VULKAN 7
#define ARROW_DEVICE_METAL 8
#define ARROW_DEVICE_VPI 9
#define ARROW_DEVICE_ROCM 10
#define ARROW_DEVICE_ROCM_HOST 11
#define ARROW_DEVICE_EXT_DEV 12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI 14
#define ARROW_DEVICE_WEBGPU 15
#define ARROW_DEVICE_HEXAGON 16

extern "C" {
struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void* sync_event;
  int64_t reserved[3];
};
}

#endif  // ARROW_C_DEVICE_DATA_INTERFACE

namespace skyrank {
inline namespace v0 {

/// Takes over a struct array (a record batch) whose buffers lie in the memory of a CUDA device, of CUDA's host
/// allocator or of the CPU; both structs are moved from (their `release` is null afterwards), also when this throws.
///
/// Buffers on a GPU stay there, and queries that run on that GPU read them there, after `sync_event` (a cudaEvent_t*,
/// or null). What the host has to read comes to it when a query first needs it: the rows of an answer, or, once, whole
/// columns. A bitmap of NULLs comes at once, one bit a row. The buffers must not change as long as the table, or a copy
/// of it, lives.
///
/// Types on a GPU: bool, int8..64, uint8..64, float16/32/64, decimals of up to 18 digits stored in 64 bits, date32 and
/// timestamps. Columns of other types are listed in Table::unsupported(), so that only a query that names one is
/// refused. In the host's memory all types of import_arrow are read.
///
/// DataError names the column and what is wrong with a struct; DeviceError where the GPU is not there.
SKYRANK_EXPORT Table import_arrow_device(ArrowDeviceArray* array, ArrowSchema* schema);

}  // namespace v0
}  // namespace skyrank

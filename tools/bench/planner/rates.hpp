#pragma once

#include <map>
#include <string>

namespace skyrank::bench {

/// Measures the rates of this machine's cores, in a few tenths of a second in all:
///   memory_bandwidth           bytes read a second, all threads
///   sorted_keys                integers of 64 bits a second, one thread, a million at once
///   dominance_tests            of rows of 8 keys of 4 bytes a second, one thread
///   mask_tests                 of 64 bits a second, one thread
///   l1_bytes, l2_bytes, l3_bytes   caches, where the system tells
std::map<std::string, double, std::less<>> measure_rates();

/// Measures what a process pays once for its first use of a GPU, which must not have been used before:
///   driver_start               seconds until the driver has named its devices
///   context_start              seconds until a first kernel has read keys in the memory of a device
/// Empty without a GPU.
std::map<std::string, double, std::less<>> measure_gpu_start();

}  // namespace skyrank::bench

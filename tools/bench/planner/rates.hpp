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

/// Measures the first GPU, which the process must not have used before; empty without one:
///   driver_start               seconds until the driver has named its devices, once in a process
///   context_start              seconds from there until a first kernel has read keys on the device, once in a process
///   transfer_bandwidth         bytes a second from ordinary memory to the device
///   device_bandwidth           bytes that the device reads of its own memory in a second
std::map<std::string, double, std::less<>> measure_gpu();

}  // namespace skyrank::bench

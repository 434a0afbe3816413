#include "tools/bench/memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(SKYRANK_HAS_TBBMALLOC)
#include <tbb/scalable_allocator.h>
#endif

namespace skyrank::bench {
namespace {

void return_free_memory() {
#if defined(SKYRANK_HAS_TBBMALLOC)
  scalable_free(scalable_malloc(1));  // the command expects an allocator in use
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
#endif
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

/// Linux: makes the present size of the process its peak.
bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

/// Linux: a line "VmHWM:   1234 kB" of /proc/self/status, in bytes.
std::optional<std::uint64_t> status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return 1024 * std::stoull(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> extra_memory(const std::function<void()>& work) {
  return_free_memory();
  const bool known = reset_peak();
  const std::optional<std::uint64_t> before = status_bytes("VmRSS");
  work();
  const std::optional<std::uint64_t> peak = status_bytes("VmHWM");
  if (!known || !before || !peak) return std::nullopt;
  return std::max(*before, *peak) - *before;
}

}  // namespace skyrank::bench

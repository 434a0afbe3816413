#include "engine/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

// Finds how much memory the process may use: that of the machine, or less by its control groups and its own limits.
namespace skyrank::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// The number in a file; no limit where there is none, as in "max".
std::size_t limit_in(const fs::path& file) {
  std::size_t bytes = kNoLimit;
  std::ifstream stream(file);
  return stream >> bytes ? bytes : kNoLimit;
}

/// The least limit of a group below `root` and of those around it, by the names of both versions of control groups.
std::size_t limit_up_from(const fs::path& root, fs::path group) {
  std::size_t least = kNoLimit;
  while (true) {
    for (const char* name : {"memory.max", "memory.limit_in_bytes"})
      least = std::min(least, limit_in(root / group / name));
    if (group.empty()) return least;
    group = group.parent_path();
  }
}

std::size_t address_space() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? static_cast<std::size_t>(limit.rlim_cur) : kNoLimit;
}

std::size_t installed() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : kNoLimit;
}

}  // namespace

// Lines are `number:controllers:/path`; version 2 has one without controllers, version 1 one for `memory`.
std::size_t control_group_limit(const fs::path& membership, const fs::path& root) {
  std::size_t least = kNoLimit;
  std::ifstream stream(membership);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) least = std::min(least, limit_up_from(root, group));
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, limit_up_from(root / "memory", group));
    }
  }
  return least;
}

std::size_t machine_memory() {
  static const std::size_t kBytes =
      std::min({installed(), address_space(), control_group_limit("/proc/self/cgroup", "/sys/fs/cgroup")});
  return kBytes;
}

}  // namespace skyrank::exec

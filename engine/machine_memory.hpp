#pragma once

#include <cstddef>
#include <filesystem>

namespace skyrank::exec {

/// Returns the bytes of memory that this process may use: the machine's, or fewer where its control groups or its limit
/// of address space (`ulimit -v`) say so. Asked for once.
std::size_t machine_memory();

/// Returns the least limit of memory of the control groups that `membership`, a file such as /proc/self/cgroup, names,
/// and of the groups around them; `root` is where groups are folders. The largest number where there is none.
std::size_t control_group_limit(const std::filesystem::path& membership, const std::filesystem::path& root);

}  // namespace skyrank::exec

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace skyrank::bench {

/// The most bytes of memory that the process held while `work` ran, beyond what it held before; nothing where the
/// system does not tell. Memory counts when it is first written, page by page, whatever allocated it: operator new,
/// aligned allocation, oneTBB, the system. Free memory that allocators keep is given back before, so that using it
/// again counts too; `work` therefore runs slower than usual. Exact to some 100 KB a thread.
std::optional<std::uint64_t> extra_memory(const std::function<void()>& work);

}  // namespace skyrank::bench

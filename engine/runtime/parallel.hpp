#pragma once

#include <cstdint>
#include <functional>

// Loops over rows on the threads of the engine. They take over the state of the calling thread, and hear its stop.

namespace skyrank::exec {

/// Rows that one thread takes at a time: whole blocks, and whole bytes of validity bits.
inline constexpr std::int64_t kChunkRows = std::int64_t{64} * 2048;

/// Calls `work(chunk, begin, end)` for the chunks of [0, n), in parallel. Rethrows the exception of the lowest chunk
/// that threw, whatever the number of threads.
void for_chunks(std::int64_t n, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work);

constexpr std::int64_t num_chunks(std::int64_t n) { return (n + kChunkRows - 1) / kChunkRows; }

/// Calls body(begin, end) for consecutive ranges of at most `grain` that cover [0, n), in parallel inside the caller's
/// TBB arena. The ranges depend on n and grain alone: what is computed per range is the same for any number of threads.
void for_each_range(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Rows a range of a simple loop covers: enough work to be worth a task.
inline constexpr std::int64_t kGrain = std::int64_t{1} << 15;

}  // namespace skyrank::exec

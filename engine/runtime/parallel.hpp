#pragma once

#include <cstdint>

#include <functional>

namespace skyrank::exec {

/// Rows that one thread takes at a time: whole blocks, and whole bytes of validity bits.
inline constexpr std::int64_t kChunkRows = std::int64_t{64} * 2048;

/// Calls `work(chunk, begin, end)` for the chunks of [0, n), in parallel. Rethrows the exception of the lowest chunk
/// that threw, whatever the number of threads.
void for_chunks(std::int64_t n, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work);

constexpr std::int64_t num_chunks(std::int64_t n) { return (n + kChunkRows - 1) / kChunkRows; }

}  // namespace skyrank::exec

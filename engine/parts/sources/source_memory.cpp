#include "engine/parts/sources/source_memory.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <skyrank/error.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/memory_limit.hpp"

namespace skyrank::exec {

std::size_t saturated_bytes(UInt128 bytes) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::size_t>::max() / 16;
  return bytes < kMaxBytes ? static_cast<std::size_t>(bytes) : kMaxBytes;
}

std::size_t bytes_of_rows(const Source& source, std::span<const int> columns, std::int64_t rows) {
  constexpr UInt128 kOffset = 4;
  constexpr UInt128 kRowsOfByte = 8;  // of validity
  const auto count = static_cast<UInt128>(rows);
  const UInt128 stored = count * source.bytes() / static_cast<UInt128>(std::max<std::int64_t>(1, num_rows(source)));
  UInt128 bytes = 0;
  for (const int column : columns) {
    const Type type = source.schema().column(column).type().type;
    const auto width = static_cast<UInt128>(std::max(1, width_in_bytes(type)));
    bytes += count / kRowsOfByte + (type == Type::string ? count * kOffset + stored : count * width);
  }
  return saturated_bytes(bytes);
}

SourceCharge::SourceCharge(const EngineState& engine, const Query& query, std::size_t bytes) {
  const kernels::AccountScope counted(engine.memory.get());
  try {
    rows_ = kernels::Charge(bytes);
    storage_ = kernels::Charge(bytes);
  } catch (const kernels::OverLimit& over) {
    throw ResourceError("the query reads about " + words_of_bytes(static_cast<double>(bytes)) +
                            " of its table at a time, which take twice as much while they are read, and the engine's "
                            "limit of memory is " +
                            words_of_bytes(static_cast<double>(over.limit)) + ", of which " +
                            words_of_bytes(static_cast<double>(over.used)) + " are in use",
                        query.location());
  }
}

// Beside the rows there are what they are decoded from, and the keys and lists of the query over them.
std::size_t threads_within_limit(const EngineState& engine, std::size_t bytes, std::size_t most, std::size_t room) {
  constexpr std::size_t kTimes = 4;
  if (bytes == 0) return most;
  room = std::min(room, engine.memory->left());
  return std::clamp<std::size_t>(room / (kTimes * bytes), 1, std::max<std::size_t>(most, 1));
}

}  // namespace skyrank::exec

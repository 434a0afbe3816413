#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/runtime/query_memory.hpp"
#include "kernels/cpu/scratch.hpp"

namespace skyrank::exec {

/// Memory of a column that is being made: values side by side, or strings. Charged by the column, which may outlive the
/// engine, rather than by its vectors.
struct ColumnBuffers {
  ColumnCharge charge;
  /// Numbers, or characters. Answers are read and dropped: their memory serves the next one.
  kernels::Scratch<std::byte> values{kernels::Scratch<std::byte>::allocator_type(nullptr)};
  std::vector<std::int32_t> offsets32;  ///< offsets of strings, instead of the others where these fit
  std::vector<std::int64_t> offsets64;
  std::vector<std::uint8_t> valid;  ///< bits; none where all rows have values

  /// Makes room for values of so many bytes. Throws kernels::OverLimit.
  std::span<std::byte> allocate(std::size_t bytes) {
    charge.add(bytes);
    values.resize(bytes);
    return values;
  }
  /// Makes room for the offsets of so many strings, all 0. Throws kernels::OverLimit.
  void allocate_offsets(std::size_t strings) {
    charge.add((strings + 1) * (sizeof(std::int64_t) + sizeof(std::int32_t)));
    offsets64.resize(strings + 1);
  }
  /// Makes the shortest offsets that fit, once the last one is known.
  void shorten_offsets() {
    if (offsets64.back() > std::numeric_limits<std::int32_t>::max()) return;
    offsets32.reserve(offsets64.size());
    for (const std::int64_t offset : offsets64) offsets32.push_back(static_cast<std::int32_t>(offset));
    offsets64.clear();
  }
};

/// Returns a column of `length` rows, which keeps its memory.
inline Column column_of(std::string name, DataType type, std::int64_t length,
                        std::shared_ptr<const ColumnBuffers> buffers) {
  ColumnData data;
  data.type = type;
  data.length = length;
  data.values = buffers->values.data();
  data.stride = width_in_bytes(type.type);
  if (type.type == Type::string) {
    data.layout = buffers->offsets32.empty() ? Layout::large_utf8 : Layout::utf8;
    data.offsets32 = buffers->offsets32.empty() ? nullptr : buffers->offsets32.data();
    data.offsets64 = buffers->offsets64.empty() ? nullptr : buffers->offsets64.data();
  }
  if (!buffers->valid.empty()) data.validity = {buffers->valid.data(), 0};
  data.owner = std::move(buffers);
  return {std::move(name), std::move(data)};
}

}  // namespace skyrank::exec

#include "engine/parts/memory/source_memory.hpp"

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

namespace {

constexpr int kBitsOfByte = 8;

/// The share of `rows` of `all` rows.
UInt128 share(UInt128 bytes, std::int64_t rows, std::int64_t all) {
  return static_cast<UInt128>(rows) * bytes / static_cast<UInt128>(std::max<std::int64_t>(1, all));
}

}  // namespace

ColumnSizes::ColumnSizes(const Source& source, std::span<const int> columns)
    : source_(source), all_rows_(num_rows(source)) {
  constexpr int kOffset = 4;    // bytes
  constexpr int kValidity = 1;  // bits
  for (const int column : columns) {
    const Type type = source.schema().column(column).type().type;
    const int width = type == Type::string ? kOffset : std::max(1, width_in_bytes(type));
    bits_of_row_ += kBitsOfByte * width + kValidity;
    has_texts_ = has_texts_ || type == Type::string;
  }
  for (const SourceUnit& unit : source.units()) all_texts_ += texts_of(unit);
}

UInt128 ColumnSizes::texts_of(const SourceUnit& unit) const {
  if (!has_texts_) return 0;
  return unit.text_bytes > 0 ? unit.text_bytes : share(source_.bytes(), unit.rows, all_rows_);
}

std::size_t ColumnSizes::of_units(std::span<const std::size_t> units) const {
  UInt128 bytes = 0;
  for (const std::size_t u : units) {
    const SourceUnit& unit = source_.units()[u];
    bytes += share(static_cast<UInt128>(bits_of_row_), unit.rows, kBitsOfByte) + texts_of(unit);
  }
  return saturated_bytes(bytes);
}

std::size_t ColumnSizes::of_rows(std::int64_t rows) const {
  return saturated_bytes(share(static_cast<UInt128>(bits_of_row_), rows, kBitsOfByte) +
                         share(all_texts_, rows, all_rows_));
}

bool take_much_memory(const EngineState& engine, const Source& source, std::span<const std::size_t> units,
                      std::span<const int> columns) {
  constexpr std::size_t kShare = 8;
  return ColumnSizes(source, columns).of_units(units) >= engine.memory->left() / kShare;
}

SourceCharge::SourceCharge(const EngineState& engine, const Location& query_location, std::size_t bytes) {
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
                        query_location);
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

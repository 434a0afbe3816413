#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <skyrank/query.hpp>
#include <skyrank/source.hpp>

#include "engine/decimal.hpp"
#include "kernels/common/memory.hpp"

// Columns that are read of a source count on the engine's account, unlike tables that an application keeps: the engine
// decides how many of their rows are in memory at a time.
namespace skyrank::exec {

struct EngineState;

/// Returns a number of bytes as a size that may be doubled some times without an overflow: more than any machine has,
/// where the number is greater.
std::size_t saturated_bytes(UInt128 bytes);

/// About how many bytes columns of a source take in memory. Where a unit does not tell the bytes of its texts, they are
/// taken to be those of its rows in storage.
class ColumnSizes {
 public:
  ColumnSizes(const Source& source, std::span<const int> columns);

  /// Returns the bytes of all rows of these units.
  std::size_t of_units(std::span<const std::size_t> units) const;
  /// Returns the bytes of so many rows, wherever they are.
  std::size_t of_rows(std::int64_t rows) const;

 private:
  UInt128 texts_of(const SourceUnit& unit) const;

  const Source& source_;
  std::int64_t all_rows_;
  std::int64_t bits_of_row_ = 0;  // but for texts
  bool has_texts_ = false;
  UInt128 all_texts_ = 0;
};

/// Returns true if whole columns of these units take a large part of what is left of the engine's memory.
bool take_much_memory(const EngineState& engine, const Source& source, std::span<const std::size_t> units,
                      std::span<const int> columns);

/// Counts rows that are read, for as long as it lives; while they are being read they count twice, as what is stored
/// and what is made of it are both there.
class SourceCharge {
 public:
  /// Throws ResourceError where the rows exceed what is left of the engine's limit.
  SourceCharge(const EngineState& engine, const Location& query_location, std::size_t bytes);

  /// Says that they are in memory.
  void finish_reading() { storage_ = {}; }

 private:
  kernels::Charge rows_;
  kernels::Charge storage_;
};

/// Returns how many threads may read and answer units of so many bytes each side by side within `room` bytes, or what
/// is left of the limit: at most `most`, and at least one, whose reading may then be refused.
std::size_t threads_within_limit(const EngineState& engine, std::size_t bytes, std::size_t most,
                                 std::size_t room = std::numeric_limits<std::size_t>::max());

}  // namespace skyrank::exec

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <skyrank/partial.hpp>

// Partial answers as bytes: Arrow streams of one record batch, as Python's Partial.to_bytes makes them.
namespace skyrank::datasets {

/// Returns a partial answer as bytes. ResourceError where Arrow finds no memory for them.
std::vector<std::byte> partial_to_bytes(const Partial& partial);

/// Reads a partial answer from bytes of anybody. All buffers are validated against the bytes before a value is used:
/// offsets, indices, validity, digits of decimals and UTF-8. DataError for what is no partial answer.
Partial partial_from_bytes(std::span<const std::byte> bytes);

}  // namespace skyrank::datasets

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skyrank::kernels::skyline {

/// Finds the rows that may be in a skyline beside a few rows that are known: those that no known row is less than in
/// every column. `columns` has an array of `rows` floats for each column, of which less is better, and `known` the
/// values of one known row after the other. NaN is neither less nor greater. Writes their positions, ascending, to
/// `positions`, which has room for `rows`; returns how many there are.
std::size_t find_not_dominated(std::span<const float* const> columns, std::size_t rows, std::span<const float> known,
                               std::uint32_t* positions);

}  // namespace skyrank::kernels::skyline

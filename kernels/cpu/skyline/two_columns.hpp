#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::skyline {

/// Flags those of `rows` that are in the skyline of them, for a problem of two columns of `Key`s: a sort and a sweep
/// (Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, JACM 22(4), 1975, section 2), however many
/// stay. Throws Cancelled.
template <class Key>
Vector<std::uint8_t> sweep_two_columns(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                                       const Context& context);

extern template Vector<std::uint8_t> sweep_two_columns<std::uint32_t>(const SkylineProblem&,
                                                                      std::span<const std::uint32_t>, const Context&);
extern template Vector<std::uint8_t> sweep_two_columns<std::uint64_t>(const SkylineProblem&,
                                                                      std::span<const std::uint32_t>, const Context&);

}  // namespace skyrank::kernels::skyline

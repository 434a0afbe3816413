#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::skyline {

/// Flags those of `rows`, which ascend, that are in the skyline of them, for a problem of one to three
/// columns of `Key`s. Takes O(n log n) however many stay. Throws Cancelled.
template <class Key>
Vector<std::uint8_t> sweep_rows(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                                const Context& context);

extern template Vector<std::uint8_t> sweep_rows<std::uint32_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                               const Context&);
extern template Vector<std::uint8_t> sweep_rows<std::uint64_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                               const Context&);

}  // namespace skyrank::kernels::skyline

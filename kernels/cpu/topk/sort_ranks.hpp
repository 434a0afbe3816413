#pragma once

#include <span>

#include "kernels/cpu/topk/ranks.hpp"

namespace skyrank::kernels::topk {

/// Sorts ranks on all threads of the arena. Throws Cancelled soon after the context asks for it.
void sort_ranks(const IntegerRanks<std::uint64_t>& order, std::span<std::uint64_t> ranks, const Context& context);
void sort_ranks(const IntegerRanks<uint128>& order, std::span<uint128> ranks, const Context& context);
void sort_ranks(const WideRanks& order, std::span<WideRanks::Rank> ranks, const Context& context);

}  // namespace skyrank::kernels::topk

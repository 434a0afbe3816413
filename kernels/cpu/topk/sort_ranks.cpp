#include "kernels/cpu/topk/sort_ranks.hpp"

#include "kernels/cpu/parallel_sort.hpp"

namespace skyrank::kernels::topk {
namespace {

template <class Ranks>
void sort(const Ranks& order, std::span<typename Ranks::Rank> ranks, const Context& context) {
  parallel_sort(ranks.begin(), ranks.end(), order.order(), context);
}

}  // namespace

void sort_ranks(const IntegerRanks<std::uint64_t>& order, std::span<std::uint64_t> ranks, const Context& context) {
  sort(order, ranks, context);
}

void sort_ranks(const IntegerRanks<uint128>& order, std::span<uint128> ranks, const Context& context) {
  sort(order, ranks, context);
}

void sort_ranks(const WideRanks& order, std::span<WideRanks::Rank> ranks, const Context& context) {
  sort(order, ranks, context);
}

}  // namespace skyrank::kernels::topk

#include "kernels/common/algorithm.hpp"
#include "kernels/cpu/topk/heap_per_thread.hpp"

// A hand-written heap per thread. The new rank takes the root's place and sinks, one walk where the standard library's
// pop and push make two, and nodes have four children, half the depth.
namespace skyrank::kernels::topk {
namespace {

template <class Ranks>
class BoundedHeap {
 public:
  using Rank = typename Ranks::Rank;

  BoundedHeap(const Ranks& ranks, Vector<Rank> first) : order_(ranks), heap_(std::move(first)) {
    for (std::size_t node = (heap_.size() + kChildren - 2) / kChildren; node-- > 0;) sink(node, heap_[node]);
  }

  Rank worst() const { return heap_.front(); }
  void replace_worst(Rank rank) { sink(0, rank); }
  Vector<Rank> ranks() && { return std::move(heap_); }

 private:
  static constexpr std::size_t kChildren = 4;

  /// Puts `rank` at `node` or below it, so that no node is less than its children.
  void sink(std::size_t node, Rank rank) {
    for (std::size_t child = kChildren * node + 1; child < heap_.size(); child = kChildren * node + 1) {
      const std::size_t end = std::min(child + kChildren, heap_.size());
      std::size_t largest = child;
      for (++child; child < end; ++child) {
        if (order_.less(heap_[largest], heap_[child])) largest = child;
      }
      if (!order_.less(rank, heap_[largest])) break;
      heap_[node] = heap_[largest];
      node = largest;
    }
    heap_[node] = rank;
  }

  const Ranks& order_;
  Vector<Rank> heap_;
};

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  return run_heaps<BoundedHeap>(problem, context);
}

}  // namespace

extern const TopKAlgorithm heap{
    .name = "heap",
    .summary = "a hand-written four-way heap of the k best per thread, merged",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, section "
        "6.7 (Hand PQ)",
    .device = Device::cpu,
    .parameters = {},
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk

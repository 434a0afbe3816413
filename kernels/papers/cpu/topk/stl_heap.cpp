#include <queue>

#include "kernels/common/algorithm.hpp"
#include "kernels/cpu/topk/heap_per_thread.hpp"

// A std::priority_queue per thread.
namespace skyrank::kernels::topk {
namespace {

template <class Ranks>
class StlHeap {
 public:
  using Rank = typename Ranks::Rank;

  StlHeap(const Ranks& ranks, Vector<Rank> first) : queue_(ranks.order(), std::move(first)) {}

  Rank worst() const { return queue_.top(); }
  void replace_worst(Rank rank) {
    queue_.pop();
    queue_.push(rank);
  }
  Vector<Rank> ranks() && {
    Vector<Rank> all;
    all.reserve(queue_.size());
    for (; !queue_.empty(); queue_.pop()) all.push_back(queue_.top());
    return all;
  }

 private:
  std::priority_queue<Rank, Vector<Rank>, typename Ranks::Order> queue_;
};

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  return run_heaps<StlHeap>(problem, context);
}

}  // namespace

extern const TopKAlgorithm stl_heap{
    .name = "stl-heap",
    .summary = "a std::priority_queue of the k best per thread, merged",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, section "
        "6.7 (STL PQ)",
    .device = Device::cpu,
    .parameters = {},
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk

#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/papers/cuda/topk/bitonic/sources.cuh"

// SortReducer and BitonicReducer (Shanbhag, Pirk, Madden, SIGMOD 2018, section 4.3, "merging operators"): kernels that
// do several operators on a tile in shared memory, and their sequence down to the k least elements.
namespace skyrank::kernels::cuda::topk::network {

/// Most threads of a block whose threads have `kCount` elements each.
template <int kCount, class Element>
constexpr unsigned launch_bound() {
  return most_threads(sizeof(Element), std::countr_zero(static_cast<unsigned>(kCount)));
}

/// Launches a plan's kernel, for elements of a thread as a power of two; at most `room` elements are written.
/// Defined for each source of sources.cuh (reduce.cuh), whose kernels take long to compile.
template <class Source>
void launch_reduce(const char* name, cudaStream_t stream, const Source& source, const Plan& plan, int element_bits,
                   typename Source::Element* out, std::size_t room);

/// Launches of reducers for one kind of element, one k and one number of elements of a thread.
template <class Element>
class Reducers {
 public:
  Reducers(DeviceContext& device, const Sizes& sizes, const Switches& switches, std::size_t k)
      : device_(device), sizes_(sizes), switches_(switches), k_(k) {}

  /// Launches a plan's kernel; at most `room` elements are written.
  template <class Source>
  void reduce_tiles(const char* name, const Source& source, const Operators& operators, Element* out,
                    std::size_t room) const {
    const Plan plan = make_plan(sizes_, operators, switches_);
    launch_reduce(name, device_.stream(), source, plan, sizes_.element_bits, out, room);
  }

  /// The k least of unsorted elements, ascending: a SortReducer, then BitonicReducers.
  template <class Source>
  Work least(const Source& rows, Element* chosen) const {
    // A tile's merges, and whether they leave one run; runs of padding alone are not kept.
    const auto merges_for = [&](std::size_t n) {
      const int needed = bits_to_count(blocks_for(n, run_size()));
      return std::min(needed, merges_of(sizes_));
    };
    const auto left_of = [&](std::size_t n, int merges) { return blocks_for(n, run_size() << merges) * run_size(); };
    const auto is_last = [&](std::size_t n, int merges) { return n <= (run_size() << merges); };

    int merges = merges_for(rows.n);
    if (is_last(rows.n, merges)) {
      reduce_tiles("SortReducer", rows, {.sort = true, .merges = merges, .rebuild = true}, chosen, k_);
      return work_of(rows, rows.n, k_);
    }
    std::size_t left = left_of(rows.n, merges);
    std::size_t written = left;
    auto from = device_.allocate<Element>(left);
    reduce_tiles("SortReducer", rows, {.sort = true, .merges = merges}, from.data(), left);
    const std::size_t candidates = std::min(rows.n, left);
    for (;;) {
      const Sequences<Element> sequences{from.data(), left};
      merges = merges_for(left);
      if (is_last(left, merges)) {
        reduce_tiles("BitonicReducer", sequences, {.merges = merges, .rebuild = true}, chosen, k_);
        return work_of(rows, candidates, written + k_);
      }
      left = left_of(left, merges);
      written += left;
      auto to = device_.allocate<Element>(left);
      reduce_tiles("BitonicReducer", sequences, {.merges = merges}, to.data(), left);
      from = std::move(to);
    }
  }

  /// Returns the work of one kernel. The next kernel reads what it writes.
  template <class Source>
  static Work work_of(const Source& rows, std::size_t candidates, std::size_t written) {
    // Field by field, as in Run::count.
    Work work;
    work.bytes_read = rows.n * Source::kBytes + written * sizeof(Element);
    work.bytes_written = written * sizeof(Element);
    work.candidates = candidates;
    return work;
  }

 private:
  std::size_t run_size() const { return std::size_t{1} << sizes_.run_bits; }

  DeviceContext& device_;
  Sizes sizes_;
  Switches switches_;
  std::size_t k_;
};

}  // namespace skyrank::kernels::cuda::topk::network

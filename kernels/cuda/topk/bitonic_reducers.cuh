#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/bitonic_network.cuh"

// SortReducer and BitonicReducer (Shanbhag, Pirk, Madden, SIGMOD 2018, section 4.3, "merging operators"): kernels that
// do several operators on a tile in shared memory, and their sequence down to the k least elements.
namespace skyrank::kernels::cuda::bitonic {

/// Elements of which every 2^run_bits are a run or a bitonic sequence.
template <class ElementT>
struct Sequences {
  using Element = ElementT;
  static constexpr std::size_t kBytes = sizeof(Element);

  const Element* elements;
  std::size_t n;

  __device__ Element at(std::size_t i) const { return i < n ? elements[i] : kNoElement<Element>; }

  template <int kCount>
  __device__ __forceinline__ void load(std::size_t first, const Plan& /*plan*/, const Group& group, unsigned /*number*/,
                                       Element (&v)[kCount]) const {
    group.template for_each<kCount>(kNoPadding, [&](int j, unsigned index) { v[j] = at(first + index); });
  }
};

template <int kCount, class Element>
constexpr unsigned launch_bound() {
  return most_threads(sizeof(Element), std::countr_zero(static_cast<unsigned>(kCount)));
}

/// Each block does a plan on its tile: SortReducer and BitonicReducer (section 4.3, "merging operators") and, one by
/// one, the operators that they are made of.
template <int kCount, class Source>
__global__ void __launch_bounds__(launch_bound<kCount, typename Source::Element>())
    reduce(Source source, const __grid_constant__ Plan plan, typename Source::Element* out, std::size_t out_size) {
  using Element = typename Source::Element;
  auto* const shared = dynamic_shared<Element>();
  const std::size_t first = std::size_t{blockIdx.x} << plan.tile_bits;
  int pass = 0;
  if (plan.work_before_writing) {
    run_first<kCount>(plan, shared, [&](const Group& group, unsigned number, Element(&v)[kCount]) {
      source.load(first, plan, group, number, v);
    });
    pass = 1;
  } else {
    const unsigned tile = 1u << plan.tile_bits;
    for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) {
      shared[padded(i, plan.padding_shift)] = source.at(first + i);
    }
  }
  __syncthreads();
  for (; pass < plan.pass_count; ++pass) {
    run_pass<kCount>(plan, plan.passes[pass], shared);
    __syncthreads();
  }
  const std::size_t place = std::size_t{blockIdx.x} << __popc(plan.live);
  if (place < out_size) write_kept(plan, shared, out + place, out_size - place);
}

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
    switch (sizes_.element_bits) {
      case 3: return reduce_with<8>(name, source, operators, out, room);
      case 4: return reduce_with<16>(name, source, operators, out, room);
      case 5: return reduce_with<32>(name, source, operators, out, room);
      default: return reduce_with<64>(name, source, operators, out, room);
    }
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

  /// What one kernel writes the next one reads.
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
  std::size_t tile_size() const { return std::size_t{1} << sizes_.tile_bits; }

  template <int kCount, class Source>
  void reduce_with(const char* name, const Source& source, const Operators& operators, Element* out,
                   std::size_t room) const {
    const Plan plan = make_plan(sizes_, operators, switches_);
    launch(name, reduce<kCount, Source>,
           {.blocks = blocks_for(source.n, tile_size()),
            .threads = static_cast<unsigned>(tile_size() / kCount),
            .shared_bytes = shared_elements(plan) * sizeof(Element)},
           device_.stream(), source, plan, out, room);
  }

  DeviceContext& device_;
  Sizes sizes_;
  Switches switches_;
  std::size_t k_;
};

}  // namespace skyrank::kernels::cuda::bitonic

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/block_select.cuh"
#include "tests/kernels/cuda/device_copies.hpp"

// Selection by one block: every rank's element, of few and of many, whichever bits tell them apart.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::Uint128;

constexpr unsigned kThreads = 256;

template <class Element>
__global__ void select(const Element* elements, unsigned count, const unsigned* ranks, unsigned asked, Element* found) {
  __shared__ cuda::topk::BlockSelect<Element, kThreads> select;
  cuda::topk::SetBits<Element> bits;
  for (unsigned i = threadIdx.x; i < count; i += kThreads) bits.add(elements[i]);
  for (unsigned i = 0; i < asked; ++i) {
    const Element element = select.kth(elements, count, ranks[i], bits);
    if (threadIdx.x == 0) found[i] = element;
    __syncthreads();
  }
}

template <class Element>
void expect_selected(std::vector<Element> elements) {
  std::vector<Element> sorted = elements;
  std::ranges::sort(sorted);
  const auto count = static_cast<unsigned>(elements.size());
  std::vector<unsigned> ranks = {1, count};
  for (unsigned rank = 2; rank < count; rank += 1 + count / 20) ranks.push_back(rank);
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(elements, device);
  const auto asked = on_device(ranks, device);
  const auto found = device.allocate<Element>(ranks.size());
  cuda::launch("select", select<Element>, cuda::Grid{.blocks = 1, .threads = kThreads}, device.stream(), there.data(),
               count, asked.data(), static_cast<unsigned>(ranks.size()), found.data());
  const std::vector<Element> selected = on_host(found, device);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_TRUE(selected[i] == sorted[ranks[i] - 1]) << "rank " << ranks[i] << " of " << count;
  }
}

/// Elements of rows that `row` gives, of different ones different, and keys that `key` gives.
template <class Element, class Key, class Row>
void expect_selected_of(Key key, Row row) {
  constexpr int kRowBits = sizeof(Element) * 4;
  std::mt19937_64 engine(5);
  for (const unsigned count : {1u, 2u, 127u, 128u, 129u, kThreads - 1, kThreads, kThreads + 1, 1000u}) {
    std::vector<Element> elements(count);
    for (unsigned i = 0; i < count; ++i) {
      const Element of_key = static_cast<Element>(static_cast<Element>(key(i)) << kRowBits);
      elements[i] = of_key | static_cast<Element>(row(i));
    }
    std::ranges::shuffle(elements, engine);
    expect_selected(elements);
  }
}

template <class Element>
void expect_selected_of_all_kinds() {
  std::mt19937_64 engine(7);
  const auto random = [&](unsigned) { return engine() >> (64 - sizeof(Element) * 4); };
  const auto own = [](unsigned i) { return i; };
  const auto far_apart = [](unsigned i) { return i << 20; };
  expect_selected_of<Element>(random, own);
  expect_selected_of<Element>(own, own);
  expect_selected_of<Element>([](unsigned) { return 42; }, own);
  expect_selected_of<Element>([](unsigned) { return 42; }, far_apart);
  expect_selected_of<Element>([&](unsigned) { return engine() % 2; }, far_apart);
  expect_selected_of<Element>([&](unsigned) { return engine() % 16; }, own);
  // One key of most, with others on both sides of it.
  expect_selected_of<Element>([&](unsigned) { return 0x424242 + (engine() % 10 == 0 ? engine() % 200 : 100); }, own);
  expect_selected_of<Element>(
      [&](unsigned i) { return i == 0 ? 1 : 0x424242 + (engine() % 4 == 0 ? engine() % 200 : 100); }, own);
  expect_selected_of<Element>([&](unsigned i) { return i % 50 == 0 ? random(i) : 0x424242; }, far_apart);
}

TEST(BlockSelect, FindsEveryRank) {
  expect_selected_of_all_kinds<std::uint64_t>();
  expect_selected_of_all_kinds<Uint128>();
}

}  // namespace
}  // namespace skyrank::kernels::tests

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/memory.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"
#include "tests/kernels/cuda/device_copies.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Tests parts of the sampled-threshold path that the conformance suite does not reach: lists of every length that are
// put in order, and guesses that fail.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::Guess;
using cuda::topk::Uint128;

/// Different ones, whose keys are few and whose low bits are a row id.
template <class Element>
std::vector<Element> some_elements(std::size_t count, std::uint64_t keys = 1000) {
  std::mt19937_64 engine(count);
  std::vector<Element> elements(count);
  constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;
  for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<Element>(engine() % keys) << kRowBits | i;
  std::ranges::shuffle(elements, engine);
  return elements;
}

template <class Element>
struct Ordered {
  std::vector<RowId> rows;
  std::vector<Element> elements;
  bool failed;
};

/// The k least of `list`, of which `likely` elements were expected and `capacity` the most that there is room for.
template <class Element>
Ordered<Element> order(const std::vector<Element>& list, std::size_t k, std::size_t likely, std::size_t capacity) {
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(list, device);
  const auto guess =
      on_device(std::vector<Guess<Element>>{{.failed = 0, .candidates = list.size(), .threshold = 0}}, device);
  const auto rows = on_device(std::vector<RowId>(k, -1), device);
  const auto elements = device.allocate<Element>(k);
  device.synchronize();
  cuda::topk::least_in_order<Element>(
      {.elements = there.data(), .size = likely, .guess = guess.data(), .capacity = capacity},
      {.elements = elements.data(), .rows = rows.data(), .k = k}, device);
  return {on_host(rows, device), on_host(elements, device), on_host(guess, device).front().failed != 0};
}

template <class Element>
void expect_order(std::size_t count, std::size_t k, std::size_t likely, std::uint64_t keys = 1000) {
  SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(count) + ", likely " + std::to_string(likely));
  std::vector<Element> list = some_elements<Element>(count, keys);
  const Ordered<Element> found = order(list, k, likely, count);
  std::ranges::sort(list);
  list.resize(k);
  EXPECT_FALSE(found.failed);
  EXPECT_TRUE(found.elements == list);
  for (std::size_t i = 0; i < k; ++i) {
    ASSERT_EQ(found.rows[i], static_cast<RowId>(list[i] & (sizeof(Element) == 8 ? 0xffffffff : ~std::uint64_t{0})));
  }
}

TEST(LeastInOrder, OfListsThatAreCounted) {
  for (const std::size_t count : {1, 2, 31, 32, 33, 300, 1024, 1025}) {
    expect_order<std::uint64_t>(count, 1, count);
    expect_order<std::uint64_t>(count, count, count);
    expect_order<Uint128>(count, (count + 1) / 2, count);
  }
  expect_order<std::uint64_t>(700, 700, 32);  // many more than were likely
}

TEST(LeastInOrder, OfListsThatAreDistributed) {
  for (const std::size_t count : {8193, 20'000}) {
    for (const std::size_t k : {1, 300, 1000, 2048, 2049}) expect_order<std::uint64_t>(count, k, count);
    expect_order<std::uint64_t>(count, count, count);
    expect_order<Uint128>(count, 1024, count);
    expect_order<Uint128>(count, 5000, count);
  }
  expect_order<std::uint64_t>(500, 500, 9000);
  expect_order<std::uint64_t>(30'000, 20'000, 9000);
}

// A guess that has failed, and one that goes well.
TEST(LeastInOrder, AtLast) {
  DeviceContext device;
  const cuda::Lease lease(device);
  for (const unsigned failed : {0, 1}) {
    std::vector<std::uint64_t> list = some_elements<std::uint64_t>(5000);
    constexpr std::size_t kWanted = 3000;
    const auto there = on_device(list, device);
    const auto guess = on_device(
        std::vector<Guess<std::uint64_t>>{{.failed = failed, .candidates = list.size(), .threshold = 0}}, device);
    const auto elements = device.allocate<std::uint64_t>(kWanted);
    cuda::topk::least_in_order_at_last<std::uint64_t>(
        {.elements = there.data(), .size = list.size(), .guess = guess.data(), .capacity = list.size()},
        {.elements = elements.data(), .rows = nullptr, .k = kWanted}, device, device.memory(), true);
    std::ranges::sort(list);
    list.resize(kWanted);
    EXPECT_TRUE(on_host(elements, device) == list) << failed;
  }
}

// Elements that are far from evenly spread in their buckets, and such as are.
TEST(LeastInOrder, OfFewAndOfManyKeys) {
  for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{1} << 30}) {
    expect_order<std::uint64_t>(20'000, 20'000, 20'000, keys);
    expect_order<std::uint64_t>(60'000, 60'000, 60'000, keys);
    expect_order<Uint128>(20'000, 20'000, 20'000, keys);
  }
}

// The splitters of many buckets come from a sample that is distributed itself. As many buckets are made as elements are
// likely, however few there are.
TEST(LeastInOrder, OfAListWhoseSampleIsDistributed) {
  for (const std::size_t likely : {900'000, 1'400'000}) {  // those of more than 512 buckets are distributed twice
    expect_order<std::uint64_t>(30'000, 20'000, likely);
    expect_order<std::uint64_t>(60'000, 60'000, likely, 1);
    expect_order<Uint128>(30'000, 30'000, likely);
  }
}

TEST(LeastInOrder, TellsWhenTheGuessWasWrong) {
  for (const std::size_t likely : {100, 9000}) {
    const std::size_t count = 2 * likely;
    const std::vector<std::uint64_t> list = some_elements<std::uint64_t>(count);
    const auto few = order(list, count + 1, likely, 2 * count);
    EXPECT_TRUE(few.failed);
    EXPECT_EQ(few.rows, std::vector<RowId>(count + 1, -1));
    const auto many = order(list, likely, likely, count - 1);
    EXPECT_TRUE(many.failed);
    EXPECT_EQ(many.rows, std::vector<RowId>(likely, -1));
    EXPECT_FALSE(order(list, likely, likely, count).failed);
  }
}

// Buckets have no room for twenty times as many elements as were likely.
TEST(LeastInOrder, TellsWhenABucketOverflows) {
  const std::vector<std::uint64_t> list = some_elements<std::uint64_t>(100'000);
  EXPECT_TRUE(order(list, 5000, 5000, list.size()).failed);
}

// All of the best lie in few of the groups whose minima bound them, so that more are within the bound than there is
// room for.
TEST(LeastInOrder, OfAListWhoseBestShareGroups) {
  constexpr std::size_t kWanted = 1000;
  constexpr std::size_t kGroups = 4096;
  std::vector<std::uint64_t> list(8 * kGroups);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = (i % kGroups < kWanted ? 0 : std::uint64_t{1} << 40) + i;
  const Ordered<std::uint64_t> found = order(list, kWanted, list.size(), list.size());
  std::ranges::sort(list);
  list.resize(kWanted);
  EXPECT_FALSE(found.failed);
  EXPECT_TRUE(found.elements == list);
}

TEST(SampledPlaces, AreDifferentAndAllOver) {
  for (const std::size_t n : {4096, 5000, 8191, 1'000'000}) {
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < 4096; ++i) {
      const std::size_t place = cuda::topk::sampled_place(i, 4096, n);
      EXPECT_LT(place, n);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), 4096u);
    // No stretch of the rows is without one, the last one neither.
    std::size_t previous = 0;
    for (const std::size_t place : places) {
      EXPECT_LE(place - previous, 2 * (n / 4096 + 1));
      previous = place;
    }
    EXPECT_GE(previous + 2 * (n / 4096 + 1), n);
  }
}

const TopKAlgorithm& sampled_threshold() {
  for (const TopKAlgorithm* const entry : cuda::topk_algorithms()) {
    if (entry->name == "cuda-sampled-threshold") return *entry;
  }
  throw std::logic_error("no cuda-sampled-threshold");
}

// Only the sampled rows are good ones: the threshold lets too few through. Then all are good but those.
TEST(SampledThreshold, AnswersWhenItsGuessFails) {
  constexpr std::size_t kRows = 20'000;
  constexpr std::size_t kWanted = 200;
  const std::size_t sampled = cuda::topk::plan_threshold(kRows, kWanted).sample();
  const TopKAlgorithm& algorithm = sampled_threshold();
  for (const bool sampled_are_good : {true, false}) {
    Values keys(kRows, sampled_are_good ? 1 : 0);
    for (std::size_t i = 0; i < sampled; ++i) {
      keys[cuda::topk::sampled_place(i, sampled, kRows)] = sampled_are_good ? 0 : 1;
    }
    const TopKCase data(kRows, {keys}, {KeyWidth::bytes4});
    for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
      const TopKProblem problem = data.problem(kWanted, ties);
      const Context context{.count_work = true, .stop = {}};
      const TopKSolution solution = algorithm.run(problem, ParameterValues(algorithm.parameters, {}), context);
      EXPECT_EQ(solution.rows, oracle::topk(problem));
      // The keys were read again.
      constexpr std::size_t kSector = 32;
      EXPECT_GE(solution.work.bytes_read, 2 * kRows * sizeof(std::uint32_t) + sampled * kSector);
    }
  }
}

// Host memory's keys, what candidates are kept in, row ids; and no more than what the pool rounds these up to.
TEST(SampledThreshold, TakesTheMemoryThatItsPlanTells) {
  constexpr std::size_t kRows = 100'000;
  constexpr std::size_t kSmallest = 16 * 256;  // what kernels tell each other
  const TopKAlgorithm& algorithm = sampled_threshold();
  auto& pool = dynamic_cast<cuda::PoolResource&>(cuda::DeviceContext::of_process().memory());
  std::mt19937_64 engine(1);
  Values values(kRows);
  for (auto& value : values) value = engine();
  for (const KeyWidth width : kWidths) {
    const std::size_t bytes = static_cast<std::size_t>(width);
    const std::size_t element = bytes == 8 ? 16 : 8;
    const TopKCase data(kRows, {values}, {width});
    for (const std::size_t k : {1, 700, 3000, 20'000}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, k = " + std::to_string(k));
      const cuda::topk::ThresholdPlan plan = cuda::topk::plan_threshold(kRows, k);
      const cuda::topk::KeptPlan kept = cuda::topk::plan_kept(plan);
      pool.give_back_kept();
      pool.forget_peak();
      const auto solution =
          algorithm.run(data.problem(k, TieRule::first), ParameterValues(algorithm.parameters, {}), {});
      EXPECT_EQ(solution.rows.size(), k);
      const std::size_t told = cuda::topk::bytes_kept(plan, kept, element) + kRows * bytes + k * sizeof(RowId);
      EXPECT_GE(pool.peak(), told);
      EXPECT_LE(pool.peak(), 2 * told + kSmallest);
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests

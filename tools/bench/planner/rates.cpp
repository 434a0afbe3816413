#include "tools/bench/planner/rates.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/common/dominance.hpp"
#include "kernels/cuda/device/device.hpp"
#include "tools/bench/floor.hpp"
#include "tools/bench/residence/residence.hpp"

namespace skyrank::bench {
namespace {

/// Least seconds of five calls, which is what the machine can do; `f` returns something, so that it is not left out.
template <class F>
double least_seconds(const F& f) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  volatile std::uint64_t sink = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    sink = sink + static_cast<std::uint64_t>(f());
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least;
}

template <class Word>
std::vector<Word> random_words(std::size_t n) {
  std::mt19937_64 random(1);
  std::vector<Word> words(n);
  for (Word& word : words) word = static_cast<Word>(random());
  return words;
}

double memory_bandwidth() {
  constexpr std::size_t kKeys = std::size_t{1} << 26;
  const std::vector<std::uint32_t> keys(kKeys, 1);
  const kernels::KeyColumn column{keys.data(), kernels::KeyWidth::bytes4};
  return 4.0 * kKeys / least_seconds([&] { return parallel_maximum(std::span(&column, 1), kKeys); });
}

double sorted_keys() {
  constexpr std::size_t kKeys = 1'000'000;
  const auto keys = random_words<std::uint64_t>(kKeys);
  return kKeys / least_seconds([&] {
           std::vector<std::uint64_t> copy = keys;
           std::ranges::sort(copy);
           return copy.front();
         });
}

double dominance_tests() {
  constexpr std::size_t kRows = 1024;
  constexpr std::size_t kDims = 8;
  const auto keys = random_words<std::uint32_t>(kRows * kDims);
  return static_cast<double>(kRows * kRows) / least_seconds([&] {
           std::size_t dominated = 0;
           for (std::size_t a = 0; a < kRows; ++a) {
             for (std::size_t b = 0; b < kRows; ++b) {
               dominated += kernels::dominates(keys.data() + a * kDims, keys.data() + b * kDims, kDims) ? 1 : 0;
             }
           }
           return dominated;
         });
}

double mask_tests() {
  constexpr std::size_t kMasks = 4096;
  const auto masks = random_words<std::uint64_t>(kMasks);
  return static_cast<double>(kMasks * kMasks) / least_seconds([&] {
           std::size_t clear = 0;
           for (const std::uint64_t a : masks) {
             for (const std::uint64_t b : masks) clear += (a & b) == 0 ? 1 : 0;
           }
           return clear;
         });
}

}  // namespace

std::map<std::string, double, std::less<>> measure_rates() {
  std::map<std::string, double, std::less<>> rates = {{"memory_bandwidth", memory_bandwidth()},
                                                      {"sorted_keys", sorted_keys()},
                                                      {"dominance_tests", dominance_tests()},
                                                      {"mask_tests", mask_tests()}};
#ifdef _SC_LEVEL1_DCACHE_SIZE
  const auto add_cache = [&](const char* name, int which) {
    const long bytes = sysconf(which);
    if (bytes > 0) rates.emplace(name, static_cast<double>(bytes));
  };
  add_cache("l1_bytes", _SC_LEVEL1_DCACHE_SIZE);
  add_cache("l2_bytes", _SC_LEVEL2_CACHE_SIZE);
  add_cache("l3_bytes", _SC_LEVEL3_CACHE_SIZE);
#endif
  return rates;
}

std::map<std::string, double, std::less<>> measure_gpu() {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto begin = Clock::now();
  if (kernels::cuda::find_devices().devices.empty()) return {};
  const double driver = since(begin);

  constexpr std::size_t kRows = std::size_t{1} << 26;
  const std::vector<std::uint32_t> values(kRows, 1);
  const auto residence = [&](std::size_t n) {
    const kernels::KeyColumn column{values.data(), kernels::KeyWidth::bytes4};
    return std::make_unique<const Residence>(std::span(&column, 1), n);
  };
  const auto has_driver = Clock::now();
  residence(1024)->read_ms();
  const double context = since(has_driver);
  const auto before_copy = Clock::now();
  const auto keys = residence(kRows);
  const double copy = since(before_copy);
  const double bytes = kRows * sizeof(std::uint32_t);
  return {{"driver_start", driver},
          {"context_start", context},
          {"transfer_bandwidth", bytes / copy},
          {"device_bandwidth", bytes / (keys->read_ms() / 1e3)}};
}

}  // namespace skyrank::bench

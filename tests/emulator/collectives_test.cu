#include <cstdint>
#include <vector>

#include "tests/emulator/support.hpp"

// Tests only behaviour that CUDA defines: with nvcc and a GPU these tests pass as well.
namespace skyrank::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffU;

/// One value for each of 32 lanes.
template <class T, class Make>
std::vector<T> lanes(Make make) {
  std::vector<T> values;
  for (int lane = 0; lane < 32; ++lane) values.push_back(static_cast<T>(make(lane)));
  return values;
}

__global__ void shuffle_index(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(kAll, 100 + lane, 31 - lane);
}

TEST(Shuffle, ReadsTheLaneThatEachAsksFor) {
  EXPECT_EQ(run_block(32, shuffle_index), lanes<int>([](int lane) { return 131 - lane; }));
}

__global__ void shuffle_segments(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int index = __shfl_sync(kAll, lane, 9, 8);
  const int up = __shfl_up_sync(kAll, lane, 3, 8);
  const int down = __shfl_down_sync(kAll, lane, 3, 8);
  const int across = __shfl_xor_sync(kAll, lane, 5, 8);
  out[lane] = ((index * 32 + up) * 32 + down) * 32 + across;
}

TEST(Shuffle, StaysWithinItsSegment) {
  EXPECT_EQ(run_block(32, shuffle_segments), lanes<int>([](int lane) {
              const int first = lane & ~7;
              const int up = lane - 3 < first ? lane : lane - 3;
              const int down = lane + 3 > first + 7 ? lane : lane + 3;
              return (((first + 1) * 32 + up) * 32 + down) * 32 + (lane ^ 5);
            }));
}

__global__ void shuffle_xor_beyond(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_xor_sync(kAll, lane, 8, 8);
}

TEST(Shuffle, XorReachesEarlierSegmentsButNotLaterOnes) {
  EXPECT_EQ(run_block(32, shuffle_xor_beyond), lanes<int>([](int lane) { return (lane & 8) != 0 ? lane ^ 8 : lane; }));
}

template <class T>
__global__ void reverse(T* out) {
  const T value = static_cast<T>(threadIdx.x) * static_cast<T>(3) - static_cast<T>(7);
  out[threadIdx.x] = __shfl_xor_sync(kAll, value, 31);
}

template <class T>
class ShuffledType : public testing::Test {};
using ShuffledTypes = testing::Types<int, unsigned, long, unsigned long, long long, unsigned long long, float, double>;
TYPED_TEST_SUITE(ShuffledType, ShuffledTypes);

TYPED_TEST(ShuffledType, KeepsItsBits) {
  using T = TypeParam;
  EXPECT_EQ(run_block(32, &reverse<T>), lanes<T>([](int lane) {
              return static_cast<T>(static_cast<T>(31 - lane) * static_cast<T>(3) - static_cast<T>(7));
            }));
}

__global__ void diverge(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int total = lane;
  if (lane < 8) {
    for (int distance = 4; distance > 0; distance /= 2) total += __shfl_down_sync(0xffU, total, distance, 8);
    total = __shfl_sync(0xffU, total, 0);
  } else if (lane % 2 == 0) {
    total = static_cast<int>(__ballot_sync(0x55555500U, lane >= 16));
    __syncwarp(0x55555500U);
  } else {
    total = __any_sync(0xaaaaaa00U, lane == 31);
  }
  __syncwarp();
  out[lane] = total;
}

TEST(WarpCollective, MeetsOnlyTheLanesOfItsMask) {
  EXPECT_EQ(run_block(32, diverge), lanes<int>([](int lane) {
              if (lane < 8) return 28;
              return lane % 2 == 0 ? 0x55550000 : 1;
            }));
}

/// Pairs meet in the order in which they come, while other lanes are elsewhere.
__global__ void meet_neighbours(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned value = 1U << lane;
  for (unsigned i = 0; i < 31; ++i) {
    if (lane == i || lane == i + 1) value |= __shfl_xor_sync(3U << i, value, static_cast<int>(i ^ (i + 1)));
  }
  out[lane] = value;
}

TEST(WarpCollective, OverlappingMasksMeetInTurn) {
  // Lane i has what lanes 0 to i brought, and what lane i + 1 had when they met: its own bit.
  EXPECT_EQ(run_block(32, meet_neighbours),
            lanes<unsigned>([](int lane) { return lane >= 30 ? kAll : (4U << lane) - 1; }));
}

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned some = __any_sync(kAll, lane == 5) != 0 ? 1 : 0;
  const unsigned none = __any_sync(kAll, lane > 40) != 0 ? 1 : 0;
  const unsigned every = __all_sync(kAll, lane < 32) != 0 ? 1 : 0;
  const unsigned not_every = __all_sync(kAll, lane != 5) != 0 ? 1 : 0;
  const unsigned thirds = __ballot_sync(kAll, lane % 3 == 0);
  out[lane] = thirds ^ (some << 31 | none << 30 | every << 29 | not_every << 28);
}

TEST(Vote, CountsTheLanesOfTheWarp) {
  EXPECT_EQ(run_block(32, votes), lanes<unsigned>([](int) { return 0x49249249U ^ 0xa0000000U; }));
}

__global__ void matches(unsigned* out) {
  out[threadIdx.x] = __match_any_sync(kAll, static_cast<unsigned long long>(threadIdx.x % 4) << 40);
}

TEST(Match, FindsTheLanesWithTheSameValue) {
  EXPECT_EQ(run_block(32, matches), lanes<unsigned>([](int lane) { return 0x11111111U << (lane % 4); }));
}

__global__ void reductions(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int sum = __reduce_add_sync(kAll, lane - 16);
  const int least = __reduce_min_sync(kAll, lane - 16);
  const int most = __reduce_max_sync(kAll, lane - 16);
  const unsigned unsigned_least = __reduce_min_sync(kAll, static_cast<unsigned>(lane - 16));
  const unsigned unsigned_most = __reduce_max_sync(kAll, static_cast<unsigned>(lane - 16));
  const unsigned both = __reduce_and_sync(kAll, 0xf0U | static_cast<unsigned>(lane));
  const unsigned either = __reduce_or_sync(kAll, static_cast<unsigned>(lane) << 2);
  const unsigned odd = __reduce_xor_sync(kAll, lane == 3 ? 6U : 0U);
  const bool right = sum == -16 && least == -16 && most == 15 && unsigned_least == 0 && unsigned_most == kAll &&
                     both == 0xe0U + 0x10U && either == 0x7cU && odd == 6;
  out[lane] = right ? 1 : 0;
}

TEST(Reduce, GivesAllLanesTheSame) { EXPECT_EQ(run_block(32, reductions), std::vector<int>(32, 1)); }

__global__ void partial_warp(unsigned* out) {
  const unsigned mask = threadIdx.x < 32 ? kAll : 0xffU;
  out[threadIdx.x] = __ballot_sync(mask, threadIdx.x % 2);
}

TEST(WarpCollective, LastWarpMayBePartial) {
  std::vector<unsigned> expected(40, 0xaaaaaaaaU);
  std::fill(expected.begin() + 32, expected.end(), 0xaaU);
  EXPECT_EQ(run_block(40, partial_warp), expected);
}

__global__ void warps_of_a_cube(unsigned* out) {
  const unsigned linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[linear] = __shfl_sync(kAll, linear, 0);
}

TEST(WarpCollective, WarpsAreCutFromTheLinearIndex) {
  DeviceArray<unsigned> out(96);
  launch(1, dim3(3, 4, 8), warps_of_a_cube, out.data());
  std::vector<unsigned> expected;
  for (unsigned i = 0; i < 96; ++i) expected.push_back(i / 32 * 32);
  EXPECT_EQ(out.to_host(), expected);
}

/// Every thread reads what another one wrote a moment ago, again and again.
__global__ void rotate(unsigned* out) {
  __shared__ unsigned values[96];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int round = 0; round < 100; ++round) {
    const unsigned next = values[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    values[threadIdx.x] = next;
    __syncthreads();
  }
  out[threadIdx.x] = values[threadIdx.x];
}

TEST(Barrier, SeparatesWritesFromReadsInALoop) {
  std::vector<unsigned> expected;
  for (unsigned i = 0; i < 96; ++i) expected.push_back((i + 100) % 96);
  EXPECT_EQ(run_block(96, rotate), expected);
}

__global__ void leave_early(unsigned* out) {
  out[threadIdx.x] = 0;
  if (threadIdx.x % 2 == 1) return;
  __syncthreads();
  out[threadIdx.x] = static_cast<unsigned>(__syncthreads_count(1));
}

TEST(Barrier, DoesNotWaitForThreadsThatEnded) {
  std::vector<unsigned> expected;
  for (unsigned i = 0; i < 64; ++i) expected.push_back(i % 2 == 0 ? 32 : 0);
  EXPECT_EQ(run_block(64, leave_early), expected);
}

__global__ void barrier_votes(int* out) {
  const int index = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(index % 3 == 0);
  const bool right = count == 34 && __syncthreads_or(index == 77) != 0 && __syncthreads_or(index == 100) == 0 &&
                     __syncthreads_and(index < 100) != 0 && __syncthreads_and(index != 77) == 0;
  out[index] = right ? 1 : 0;
}

TEST(Barrier, CountsPredicates) { EXPECT_EQ(run_block(100, barrier_votes), std::vector<int>(100, 1)); }

/// A thread of the last warp sets a flag that all others wait for.
__global__ void spin(unsigned* out) {
  __shared__ volatile unsigned flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 95) {
    flag = 7;
  } else {
    while (flag == 0) __nanosleep(20);
  }
  out[threadIdx.x] = flag;
}

TEST(Nanosleep, LetsOthersGoOn) { EXPECT_EQ(run_block(96, spin), std::vector<unsigned>(96, 7)); }

}  // namespace
}  // namespace skyrank::emulator

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/emulator/support.hpp"

namespace skyrank::emulator {
namespace {

// Functions without a thread's state are plain functions of the host too.

TEST(Bits, AreCountedAndFound) {
  EXPECT_EQ(__popc(0xf00fU), 8);
  EXPECT_EQ(__popcll(0xf00f00000000f00fULL), 16);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(-1), 0);
  EXPECT_EQ(__clzll(0), 64);
  EXPECT_EQ(__clzll(1LL << 40), 23);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__ffsll(0), 0);
  EXPECT_EQ(__ffsll(1LL << 40), 41);
}

TEST(Bits, AreReversed) {
  EXPECT_EQ(__brev(0x00000001U), 0x80000000U);
  EXPECT_EQ(__brev(0x12345678U), 0x1e6a2c48U);
  EXPECT_EQ(__brevll(0x0000000000000003ULL), 0xc000000000000000ULL);
}

TEST(Bits, BytesArePermuted) {
  EXPECT_EQ(__byte_perm(0x33221100U, 0x77665544U, 0x0123U), 0x00112233U);
  EXPECT_EQ(__byte_perm(0x33221100U, 0x77665544U, 0x7531U), 0x77553311U);
  EXPECT_EQ(__byte_perm(0x00008000U, 0, 0x9898U), 0xff00ff00U);
}

TEST(Bits, FunnelShiftsJoinTwoWords) {
  EXPECT_EQ(__funnelshift_l(0x89abcdefU, 0x01234567U, 8), 0x23456789U);
  EXPECT_EQ(__funnelshift_l(0x89abcdefU, 0x01234567U, 32), 0x01234567U);
  EXPECT_EQ(__funnelshift_lc(0x89abcdefU, 0x01234567U, 32), 0x89abcdefU);
  EXPECT_EQ(__funnelshift_r(0x89abcdefU, 0x01234567U, 8), 0x6789abcdU);
  EXPECT_EQ(__funnelshift_r(0x89abcdefU, 0x01234567U, 32), 0x89abcdefU);
  EXPECT_EQ(__funnelshift_rc(0x89abcdefU, 0x01234567U, 40), 0x01234567U);
}

TEST(Arithmetic, HighHalvesOfProducts) {
  EXPECT_EQ(__umulhi(0xffffffffU, 0xffffffffU), 0xfffffffeU);
  EXPECT_EQ(__umul64hi(0xffffffffffffffffULL, 0xffffffffffffffffULL), 0xfffffffffffffffeULL);
  EXPECT_EQ(__umul64hi(1ULL << 63, 6), 3U);
}

TEST(Arithmetic, BitsOfFloats) {
  EXPECT_EQ(__float_as_uint(1.0F), 0x3f800000U);
  EXPECT_EQ(__float_as_int(-0.0F), std::numeric_limits<int>::min());
  EXPECT_EQ(__uint_as_float(0x40000000U), 2.0F);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0F);
  EXPECT_EQ(__double_as_longlong(1.0), 0x3ff0000000000000LL);
  EXPECT_EQ(__longlong_as_double(0x4000000000000000LL), 2.0);
}

TEST(Arithmetic, FloatsThatAreCutOffAndDivided) {
  EXPECT_EQ(__saturatef(-0.5F), 0.0F);
  EXPECT_EQ(__saturatef(0.25F), 0.25F);
  EXPECT_EQ(__saturatef(1.5F), 1.0F);
  EXPECT_EQ(__saturatef(std::numeric_limits<float>::quiet_NaN()), 0.0F);
  EXPECT_EQ(__fdividef(3.0F, 4.0F), 0.75F);
}

TEST(Arithmetic, RoundsEveryOperation) {
  const double third = __ddiv_rn(1.0, 3.0);
  EXPECT_EQ(__dsub_rn(__dmul_rn(third, 3.0), 1.0), 0.0);
  EXPECT_NE(__fma_rn(third, 3.0, -1.0), 0.0);
  EXPECT_EQ(__dadd_rn(1e17, 1.0), 1e17);
  EXPECT_EQ(__dsqrt_rn(2.25), 1.5);
  EXPECT_EQ(__fsub_rn(__fadd_rn(16777216.0F, 1.0F), 16777216.0F), 0.0F);
  EXPECT_EQ(__fmaf_rn(__fmul_rn(3.0F, 0.5F), 2.0F, __fdiv_rn(1.0F, __fsqrt_rn(4.0F))), 3.5F);
}

TEST(MinMax, ConvertsAsInCuda) {
  static_assert(std::is_same_v<decltype(min(1, 1U)), unsigned>);
  static_assert(std::is_same_v<decltype(max(1ULL, 1LL)), unsigned long long>);
  static_assert(std::is_same_v<decltype(max(1L, 1L)), long>);
  EXPECT_EQ(min(-1, 1), -1);
  EXPECT_EQ(min(-1, 1U), 1U);
  EXPECT_EQ(max(-1LL, 1ULL), ~0ULL);
  EXPECT_EQ(min(2.0F, std::nanf("")), 2.0F);
  EXPECT_EQ(max(std::nan(""), 3.0), 3.0);
}

TEST(Vectors, HaveTheSizesAndAlignmentsOfTheHardware) {
  static_assert(sizeof(uint4) == 16 && alignof(uint4) == 16);
  static_assert(sizeof(uint3) == 12 && alignof(uint3) == 4);
  static_assert(sizeof(ulonglong2) == 16 && alignof(ulonglong2) == 16);
  static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4);
  static_assert(sizeof(ushort4) == 8 && alignof(ushort4) == 8);
  static_assert(sizeof(float2) == 8 && alignof(float2) == 8);
  const ushort4 four = make_ushort4(1, 2, 3, 4);
  EXPECT_EQ(four.x + 10 * four.y + 100 * four.z + 1000 * four.w, 4321);
  const dim3 two(5, 6);
  EXPECT_EQ(two.x * 100 + two.y * 10 + two.z, 561U);
  EXPECT_EQ(dim3(make_uint3(1, 2, 3)).z, 3U);
}

TEST(Memory, HintsChangeNothing) {
  ulonglong2 value = make_ulonglong2(3, 4);
  EXPECT_EQ(__ldg(&value).x + __ldca(&value).x + __ldcg(&value).x + __ldcs(&value).y + __ldcv(&value).y, 17U);
  EXPECT_EQ(__ldlu(&value.x), 3U);
  __stcs(&value, make_ulonglong2(5, 6));
  EXPECT_EQ(value.y, 6U);
  __stcg(&value.x, 7);
  __stwb(&value.y, 8);
  EXPECT_EQ(value.x, 7U);
  __stwt(&value.y, 9);
  EXPECT_EQ(value.y, 9U);
}

template <class T>
class AtomicType : public testing::Test {};
using AtomicTypes = testing::Types<int, unsigned, unsigned long long>;
TYPED_TEST_SUITE(AtomicType, AtomicTypes);

TYPED_TEST(AtomicType, GivesTheOldValueAndKeepsTheNewOne) {
  TypeParam value = 12;
  const auto expect_change = [&](TypeParam old, TypeParam old_expected, TypeParam expected) {
    EXPECT_EQ(old, old_expected);
    EXPECT_EQ(value, expected);
  };
  expect_change(atomicAdd(&value, TypeParam{3}), 12, 15);
  expect_change(atomicMin(&value, TypeParam{20}), 15, 15);
  expect_change(atomicMin(&value, TypeParam{10}), 15, 10);
  expect_change(atomicMax(&value, TypeParam{7}), 10, 10);
  expect_change(atomicMax(&value, TypeParam{13}), 10, 13);
  expect_change(atomicAnd(&value, TypeParam{9}), 13, 9);
  expect_change(atomicOr(&value, TypeParam{6}), 9, 15);
  expect_change(atomicXor(&value, TypeParam{5}), 15, 10);
  expect_change(atomicExch(&value, TypeParam{77}), 10, 77);
  expect_change(atomicCAS(&value, TypeParam{76}, TypeParam{1}), 77, 77);
  expect_change(atomicCAS(&value, TypeParam{77}, TypeParam{1}), 77, 1);
  expect_change(atomicCAS_block(&value, TypeParam{1}, TypeParam{2}), 1, 2);
  expect_change(atomicAdd_block(&value, TypeParam{40}), 2, 42);
  expect_change(atomicMax_block(&value, TypeParam{50}), 42, 50);
}

TEST(Atomic, OthersOfCudasTypes) {
  unsigned count = 3;
  EXPECT_EQ(atomicSub(&count, 1U), 3U);
  EXPECT_EQ(atomicInc(&count, 2U), 2U);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(atomicDec(&count, 5U), 0U);
  EXPECT_EQ(count, 5U);
  int negative = std::numeric_limits<int>::min();
  EXPECT_EQ(atomicSub(&negative, 1), std::numeric_limits<int>::min());
  EXPECT_EQ(negative, std::numeric_limits<int>::max());
  float sum = 0.5F;
  EXPECT_EQ(atomicAdd(&sum, 0.25F), 0.5F);
  EXPECT_EQ(atomicExch(&sum, 2.0F), 0.75F);
  double wide = 1.0;
  EXPECT_EQ(atomicAdd(&wide, 0.5), 1.0);
  long long least = 4;
  EXPECT_EQ(atomicMin(&least, -4LL), 4);
  EXPECT_EQ(atomicMax(&least, 6LL), -4);
  EXPECT_EQ(least, 6);
}

__global__ void count_all(unsigned long long* total, unsigned* least) {
  atomicAdd(total, 1ULL);
  atomicMin(least, 1000 - blockIdx.x);
}

TEST(Atomic, ReachAcrossBlocks) {
  DeviceArray<unsigned long long> total(std::vector{0ULL});
  DeviceArray<unsigned> least(std::vector{5000U});
  launch(dim3(7, 2, 3), dim3(5, 4), count_all, total.data(), least.data());
  EXPECT_EQ(total.to_host()[0], 7U * 2 * 3 * 20);
  EXPECT_EQ(least.to_host()[0], 994U);
}

__global__ void clock_values(long long* out) {
  out[0] = clock64();
  __syncthreads();
  out[1] = clock64();
}

TEST(Clock, NeverGoesBack) {
  DeviceArray<long long> times(2);
  launch(1, 1, clock_values, times.data());
  EXPECT_LE(times.to_host()[0], times.to_host()[1]);
}

__global__ void places(uint3* threads, uint3* blocks, unsigned* sizes) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  threads[i] = threadIdx;
  blocks[i] = blockIdx;
  sizes[i] = blockDim.x + 10 * blockDim.y + 100 * blockDim.z + 1000 * gridDim.x + 10000 * gridDim.y + warpSize;
}

TEST(Index, EveryThreadKnowsItsPlace) {
  constexpr std::size_t kThreads = 2 * 3 * 4 * 5;
  DeviceArray<uint3> threads(kThreads);
  DeviceArray<uint3> blocks(kThreads);
  DeviceArray<unsigned> sizes(kThreads);
  launch(dim3(4, 5), dim3(1, 3, 2), places, threads.data(), blocks.data(), sizes.data());
  EXPECT_EQ(sizes.to_host(), std::vector<unsigned>(kThreads, 1 + 30 + 200 + 4000 + 50000 + 32));
  const uint3 last_thread = threads.to_host().back();
  EXPECT_EQ(last_thread.x * 100 + last_thread.y * 10 + last_thread.z, 21U);
  const uint3 block = blocks.to_host()[6 * (4 * 3 + 2)];
  EXPECT_EQ(block.x * 100 + block.y * 10 + block.z, 230U);
}

}  // namespace
}  // namespace skyrank::emulator

#include <string>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "tests/emulator/support.hpp"

// Tests that mistakes which hang, or have undefined results, on hardware end the program with a message that says
// where.
namespace skyrank::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffU;

__global__ void different_barriers() {
  if (threadIdx.x < 40) {
    __syncthreads();
  } else {
    __syncthreads_count(1);
  }
}

TEST(DeadlockDeathTest, BarriersThatDiffer) {
  EXPECT_DEATH(launch(dim3(2, 3), 64, different_barriers),
               "block \\(0,0,0\\): deadlock: the threads of a block wait at different barriers\n"
               "  thread \\(0,0,0\\) to \\(39,0,0\\): waits in __syncthreads at .*deadlock_test.cu:[0-9]+\n"
               "  thread \\(40,0,0\\) to \\(63,0,0\\): waits in __syncthreads_count at .*deadlock_test.cu:[0-9]+");
}

__global__ void same_barrier_in_two_places() {
  if (threadIdx.x < 40) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(DeadlockDeathTest, OneBarrierInTwoPlaces) {
  EXPECT_DEATH(launch(1, 64, same_barrier_in_two_places), "different barriers");
}

__global__ void barrier_against_shuffle() {
  if (blockIdx.x == 1 && threadIdx.y == 1 && threadIdx.x == 3) {
    __shfl_sync(kAll, 1, 0);
  } else {
    __syncthreads();
  }
}

TEST(DeadlockDeathTest, OneThreadWaitsForAWarpThatWaitsForIt) {
  EXPECT_DEATH(launch(2, dim3(16, 4), barrier_against_shuffle),
               "block \\(1,0,0\\): deadlock: every thread waits\n"
               "  thread \\(0,0,0\\) to \\(2,1,0\\): waits in __syncthreads at .*\n"
               "  thread \\(3,1,0\\): waits in __shfl_sync with mask 0xffffffff at .*deadlock_test.cu:[0-9]+\n"
               "  thread \\(4,1,0\\) to \\(15,3,0\\): waits in __syncthreads");
}

__global__ void masks_that_never_meet() { __syncwarp(threadIdx.x == 0 ? 0x3U : 0x7U); }

TEST(DeadlockDeathTest, MasksThatCannotBeMet) {
  EXPECT_DEATH(launch(1, 3, masks_that_never_meet),
               "every thread waits\n.*\\(0,0,0\\): waits in __syncwarp with mask 0x00000003 at .*\n"
               ".*\\(1,0,0\\) to \\(2,0,0\\): waits in __syncwarp with mask 0x00000007");
}

__global__ void different_shuffles() {
  if (threadIdx.x % 2 == 0) {
    __shfl_up_sync(kAll, 1, 1);
  } else {
    __shfl_down_sync(kAll, 1, 1);
  }
}

TEST(DeadlockDeathTest, DifferentShufflesDoNotMeet) {
  EXPECT_DEATH(launch(1, 32, different_shuffles), "every thread waits");
}

__global__ void end_before_ballot() {
  if (threadIdx.x == 7) return;
  __syncwarp(0xffffff7fU);
  __ballot_sync(kAll, 1);
}

TEST(DeadlockDeathTest, AMaskNamesAThreadThatHasEnded) {
  EXPECT_DEATH(
      launch(1, 32, end_before_ballot),
      "thread \\(31,0,0\\) at .*deadlock_test.cu:[0-9]+ gives mask 0xffffffff, but of its warp only 0xffffff7f have "
      "not ended");
}

__global__ void end_while_others_wait() {
  if (threadIdx.x < 31) __ballot_sync(kAll, 1);
}

TEST(DeadlockDeathTest, AThreadEndsThatOthersWaitFor) {
  EXPECT_DEATH(launch(1, 32, end_while_others_wait),
               "thread \\(31,0,0\\) ends while others of its warp wait for it in __ballot_sync with mask 0xffffffff\n"
               "  thread \\(0,0,0\\) to \\(30,0,0\\): waits");
}

__global__ void foreign_mask() { __syncwarp(0xfffffffeU); }

TEST(DeadlockDeathTest, AThreadIsNotInItsOwnMask) {
  EXPECT_DEATH(launch(1, 32, foreign_mask), "thread \\(0,0,0\\) at .* is not in its own mask 0xfffffffe");
}

__global__ void wait_for_nobody() {
  __shared__ volatile int flag;
  flag = 0;
  while (flag == 0) __nanosleep(100);
}

TEST(DeadlockDeathTest, AllThreadsSleep) {
  EXPECT_DEATH(
      launch(1, 64, wait_for_nobody),
      "nothing but __nanosleep goes on\n  thread \\(0,0,0\\) to \\(63,0,0\\): sleeps at .*deadlock_test.cu:[0-9]+");
}

__global__ void odd_width() { __shfl_sync(kAll, 1, 0, 12); }

TEST(DeathTest, AWidthThatIsNoPowerOfTwo) {
  EXPECT_DEATH(launch(1, 32, odd_width), "shuffles with width 12 at .*deadlock_test.cu:[0-9]+: must be a power of 2");
}

__global__ void give_up() {
  if (threadIdx.x == 2) __trap();
}
constexpr int kLineOfTrap = __LINE__ - 2;

TEST(DeathTest, Trap) {
  EXPECT_DEATH(launch(dim3(1, 2), 32, give_up),
               std::string("block \\(0,0,0\\): __trap by thread \\(2,0,0\\) at .*deadlock_test.cu:") +
                   std::to_string(kLineOfTrap));
}

__global__ void take_shared(int* out) { *out = *kernels::cuda::dynamic_shared<int>(); }

TEST(DeathTest, DynamicSharedMemoryThatTheLaunchDidNotGive) {
  int out = 0;
  EXPECT_DEATH(launch(1, 1, take_shared, &out), "asks for dynamic shared memory, but the launch gave none");
}

TEST(DeathTest, ADeviceFunctionOnTheHost) {
  EXPECT_DEATH(__syncthreads(), "the host calls a function of the device at .*deadlock_test.cu:");
}

}  // namespace
}  // namespace skyrank::emulator

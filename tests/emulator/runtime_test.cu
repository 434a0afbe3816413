#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "emulator/testing.hpp"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "tests/emulator/poison.hpp"
#include "tests/emulator/support.hpp"

namespace skyrank::emulator {
namespace {

__global__ void nothing() {}

template <class... Parameters, class... Arguments>
cudaError_t try_launch(cudaLaunchConfig_t config, void (*kernel)(Parameters...), Arguments... arguments) {
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
  EXPECT_EQ(cudaGetLastError(), status);
  return status;
}

TEST(Launch, SizesBeyondTheHardwareFail) {
  EXPECT_EQ(try_launch(shape(1, 1024), nothing), cudaSuccess);
  EXPECT_EQ(try_launch(shape(1, dim3(4, 4, 64)), nothing), cudaSuccess);
  EXPECT_EQ(try_launch(shape(1, 1025), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(1, dim3(33, 32)), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(1, dim3(1, 1, 65)), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(1, 0), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(0, 1), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(dim3(1, 65536), 1), nothing), cudaErrorInvalidConfiguration);
  EXPECT_EQ(try_launch(shape(dim3(0x80000000U), 1), nothing), cudaErrorInvalidConfiguration);
}

TEST(Launch, OfBlocksThatMustRunTogetherIsNotSupported) {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config = shape(2, 32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  EXPECT_EQ(try_launch(config, nothing), cudaErrorNotSupported);
  attribute.val.cooperative = 0;
  EXPECT_EQ(try_launch(config, nothing), cudaSuccess);
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  EXPECT_EQ(try_launch(config, nothing), cudaErrorNotSupported);
  attribute.id = cudaLaunchAttributePriority;
  EXPECT_EQ(try_launch(config, nothing), cudaSuccess);
}

__global__ void fill_shared(unsigned bytes) {
  auto* const shared = kernels::cuda::dynamic_shared<unsigned char>();
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) shared[i] = 1;
}

TEST(Launch, MuchSharedMemoryHasToBeAllowedFirst) {
  constexpr unsigned kUsual = 48 << 10;
  constexpr unsigned kMost = 227 << 10;
  const cudaLaunchConfig_t much = shape(2, 64, kUsual + 1);
  EXPECT_EQ(try_launch(shape(2, 64, kUsual), fill_shared, kUsual), cudaSuccess);
  EXPECT_EQ(try_launch(much, fill_shared, kUsual + 1), cudaErrorInvalidValue);
  const auto allow = [](int bytes) {
    return cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  EXPECT_EQ(allow(kMost + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(allow(kMost), cudaSuccess);
  EXPECT_EQ(try_launch(shape(2, 64, kMost), fill_shared, kMost), cudaSuccess);
  cudaFuncAttributes attributes{};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, fill_shared), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, static_cast<int>(kMost));
  EXPECT_EQ(cudaFuncSetAttribute(reinterpret_cast<const void*>(fill_shared),
                                 cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
            cudaSuccess);
  EXPECT_EQ(allow(kUsual), cudaSuccess);
  EXPECT_EQ(try_launch(much, fill_shared, kUsual + 1), cudaErrorInvalidValue);
}

__global__ void read_shared(unsigned* out) {
  out[threadIdx.x] = kernels::cuda::dynamic_shared<unsigned>()[threadIdx.x]++;
}

TEST(Launch, DynamicSharedMemoryIsUnwrittenInEveryBlock) {
  DeviceArray<unsigned> out(8);
  EXPECT_EQ(try_launch(shape(3, 8, 8 * sizeof(unsigned)), read_shared, out.data()), cudaSuccess);
  EXPECT_EQ(out.to_host(), std::vector<unsigned>(8, static_cast<unsigned>(kPoisonWord)));
}

__global__ void take_by_value(__grid_constant__ const uint4 four, const unsigned long long wide, unsigned* out) {
  out[threadIdx.x] = four.x + four.w + static_cast<unsigned>(wide >> 32);
}

TEST(Launch, ArgumentsConvertToTheKernelsTypes) {
  DeviceArray<unsigned> out(3);
  EXPECT_EQ(try_launch(shape(1, 3), take_by_value, make_uint4(1, 2, 3, 4), -1, out.data()), cudaSuccess);
  EXPECT_EQ(out.to_host(), std::vector<unsigned>(3, 4));  // 5 + (2^32 - 1)
}

TEST(Occupancy, IsLimitedByThreadsAndSharedMemory) {
  const auto blocks = [](int threads, std::size_t shared) {
    int count = -1;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, nothing, threads, shared), cudaSuccess);
    return count;
  };
  EXPECT_EQ(blocks(256, 0), 8);
  EXPECT_EQ(blocks(33, 0), 32);
  EXPECT_EQ(blocks(1024, 47 << 10), 2);
  EXPECT_EQ(blocks(128, 47 << 10), 4);
  EXPECT_EQ(blocks(128, 49 << 10), 0);
  EXPECT_EQ(blocks(1025, 0), 0);
  int grid = 0;
  int block = 0;
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing), cudaSuccess);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 8);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 300), cudaSuccess);
  EXPECT_EQ(block, 256);  // 8 blocks of 256 fill the multiprocessor, 7 of 288 do not
}

TEST(Device, IsASmallEmulatedOne) {
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_NE(std::string(properties.name).find("emulation"), std::string::npos);
  EXPECT_EQ(properties.major, 9);
  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess);
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10);
  EXPECT_EQ(attribute(cudaDevAttrCooperativeLaunch), 0);
  EXPECT_EQ(attribute(cudaDevAttrMaxGridDimX), std::numeric_limits<int>::max());
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  int version = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 13000);
}

TEST(Device, ThereIsNoOther) {
  int value = 0;
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, HaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(1000)), "unrecognized error code");
}

TEST(Memory, UnwrittenBytesAreRecognised) {
  EXPECT_EQ(DeviceArray<std::uint64_t>(5).to_host(), std::vector<std::uint64_t>(5, kPoisonWord));
}

TEST(Memory, OfNoBytesIsNull) {
  void* data = &data;
  EXPECT_EQ(cudaMalloc(&data, 0), cudaSuccess);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

TEST(Memory, IsLimited) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  DeviceArray<int> some(1000);
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  EXPECT_EQ(total_bytes - free_bytes, live().device_bytes);
  EXPECT_GE(live().device_bytes, some.bytes());
  int* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, free_bytes + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocAsync(&data, std::size_t{1} << 60, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

TEST(Memory, IsFreedOnceAndAsItWasMade) {
  int* data = nullptr;
  int on_host = 0;
  const auto stream = cudaStreamPerThread;
  EXPECT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(data + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(data, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&on_host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocHost(&data, 64), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(data), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Memory, LeaksAreCounted) {
  const Live before = live();
  int* device = nullptr;
  int* pooled = nullptr;
  int* host = nullptr;
  cudaStream_t stream{};
  cudaEvent_t event{};
  EXPECT_EQ(cudaMalloc(&device, 100), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&pooled, 23, nullptr), cudaSuccess);
  EXPECT_EQ(cudaHostAlloc(&host, 10, cudaHostAllocPortable), cudaSuccess);
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  Live expected = before;
  expected.device_allocations += 2;
  expected.device_bytes += 123;
  expected.host_allocations += 1;
  expected.streams += 1;
  expected.events += 1;
  EXPECT_EQ(live(), expected);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(pooled), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(live(), before);
}

TEST(Copy, GoesWhereItsKindSays) {
  const std::vector<int> values{1, 2, 3, 4};
  DeviceArray<int> a(values);
  DeviceArray<int> b(4);
  EXPECT_EQ(cudaMemcpy(b.data() + 1, a.data(), 12, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(b.data(), a.data() + 3, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(b.to_host(), (std::vector<int>{4, 1, 2, 3}));
  int on_host = 0;
  EXPECT_EQ(cudaMemcpy(&on_host, a.data() + 2, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(on_host, 3);
}

TEST(Copy, OutsideOfWhatWasAllocatedFails) {
  DeviceArray<int> a(4);
  std::vector<int> host(8);
  EXPECT_EQ(cudaMemcpy(host.data(), a.data(), 20, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a.data() + 1, host.data(), 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data() + 4, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a.data(), a.data(), 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a.data(), host.data(), 16, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(a.data(), 0, 17), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), nullptr, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Copy, InTwoDimensions) {
  std::vector<std::uint8_t> host(12);
  std::iota(host.begin(), host.end(), std::uint8_t{0});
  DeviceArray<std::uint8_t> device(std::vector<std::uint8_t>(8, 99));
  EXPECT_EQ(cudaMemcpy2DAsync(device.data(), 3, host.data() + 1, 4, 2, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(device.to_host(), (std::vector<std::uint8_t>{1, 2, 99, 5, 6, 99, 9, 10}));
  EXPECT_EQ(cudaMemcpy2D(device.data(), 3, host.data(), 4, 3, 3, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device.data(), 1, host.data(), 4, 2, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
}

TEST(Pointers, AreKnownByTheirOrigin) {
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  DeviceArray<int> device(4);
  std::vector<int> host(4);
  EXPECT_EQ(type_of(device.data() + 3), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(device.data() + 4), cudaMemoryTypeUnregistered);
  EXPECT_EQ(type_of(host.data()), cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 16, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data() + 1, 4, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(type_of(host.data() + 1), cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
}

class Pool : public testing::Test {
 protected:
  void make(std::size_t limit) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    properties.maxSize = limit;
    ASSERT_EQ(cudaMemPoolCreate(&pool_, &properties), cudaSuccess);
  }
  void TearDown() override { EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess); }

  std::byte* allocate(std::size_t bytes) {
    std::byte* data = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&data, bytes, pool_, nullptr), cudaSuccess);
    return data;
  }
  std::uint64_t figure(cudaMemPoolAttr attribute) {
    std::uint64_t value = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool_, attribute, &value), cudaSuccess);
    return value;
  }
  void set(cudaMemPoolAttr attribute, std::uint64_t value) {
    EXPECT_EQ(cudaMemPoolSetAttribute(pool_, attribute, &value), cudaSuccess);
  }

  cudaMemPool_t pool_ = nullptr;
};

TEST_F(Pool, CountsWhatIsUsedAndHeld) {
  make(0);
  set(cudaMemPoolAttrReleaseThreshold, std::numeric_limits<std::uint64_t>::max());
  std::byte* const first = allocate(1000);
  std::byte* const second = allocate(5 << 20);
  EXPECT_EQ(figure(cudaMemPoolAttrUsedMemCurrent), 1000U + (5 << 20));
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemCurrent), 6U << 20);
  EXPECT_EQ(cudaFreeAsync(second, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(figure(cudaMemPoolAttrUsedMemCurrent), 1000U);
  EXPECT_EQ(figure(cudaMemPoolAttrUsedMemHigh), 1000U + (5 << 20));
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemCurrent), 6U << 20);
  EXPECT_EQ(cudaMemPoolTrimTo(pool_, 0), cudaSuccess);
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemCurrent), 2U << 20);
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemHigh), 6U << 20);
  set(cudaMemPoolAttrReservedMemHigh, 0);
  set(cudaMemPoolAttrUsedMemHigh, 0);
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemHigh), 2U << 20);
  EXPECT_EQ(figure(cudaMemPoolAttrUsedMemHigh), 1000U);
  EXPECT_EQ(cudaFreeAsync(first, nullptr), cudaSuccess);
}

TEST_F(Pool, GivesBackBeyondItsThresholdWhenWaitedFor) {
  make(0);
  EXPECT_EQ(cudaFreeAsync(allocate(1), nullptr), cudaSuccess);
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemCurrent), 2U << 20);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(figure(cudaMemPoolAttrReservedMemCurrent), 0U);
}

TEST_F(Pool, KeepsItsLimit) {
  make(1000);
  std::byte* const data = allocate(600);
  void* more = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&more, 401, pool_, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFreeAsync(allocate(400), nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaSuccess);
}

TEST_F(Pool, RefusesWhatItIsNot) {
  make(0);
  std::uint64_t one = 1;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &one), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &one), cudaErrorInvalidValue);
  int reuse = 0;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowOpportunistic, &reuse), cudaSuccess);
  reuse = 1;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool_, cudaMemPoolReuseAllowOpportunistic, &reuse), cudaSuccess);
  EXPECT_EQ(reuse, 0);
  cudaMemPoolProps properties{};
  cudaMemPool_t other = nullptr;
  EXPECT_EQ(cudaMemPoolCreate(&other, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&other, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(other), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Streams, ThatWereDestroyedAreNotTaken) {
  cudaStream_t stream{};
  int least = 0;
  int greatest = 0;
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
  int priority = 0;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  cudaLaunchConfig_t config = shape(1, 1);
  config.stream = stream;
  EXPECT_EQ(try_launch(config, nothing), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(try_launch(config, nothing), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(nullptr, 0, 0, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST(Streams, CallHostFunctions) {
  int called = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, count, &called), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(called, 1);
}

TEST(Events, MeasureTimeWhereTheyAreAskedTo) {
  cudaEvent_t start{};
  cudaEvent_t end{};
  cudaEvent_t untimed{};
  float milliseconds = -1;
  EXPECT_EQ(cudaEventCreate(&start), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&end, cudaEventBlockingSync), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(start), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(end, cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(untimed), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(cudaStreamPerThread, end), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  for (const cudaEvent_t event : {start, end, untimed}) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(start), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace skyrank::emulator

#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/eval/columns.hpp"

// The evaluator of expressions: a thread runs the program for its row, with its stack in shared memory, one word of
// each thread beside the next. A warp's rows are neighbours, so that it writes their truths and NULLs as one word of
// bits.
//
// Of the rows that pass a filter only their bits are written at first, n / 8 bytes; how many pass before each word says
// where their ids go.
namespace skyrank::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kAll = 0xffffffffu;

__device__ std::int64_t row_at(const RowId* ids, std::size_t place) {
  return ids == nullptr ? static_cast<std::int64_t>(place) : ids[place];
}

/// Runs the program for every row, in rounds that all threads of a warp take part in; `store(place, value)` is called
/// by all of them, for places beyond n too, with a value that is NULL.
template <class Store>
__device__ void for_rows(const Expression& expression, std::size_t n, const RowId* ids, unsigned* failed, Store store) {
  StackMachine machine(dynamic_shared<std::uint64_t>() + threadIdx.x, blockDim.x);
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t rounded = (n + 31) / 32 * 32;
  for (std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; place < rounded; place += stride) {
    RowValue value{0, false, false};
    if (place < n) value = machine.run(expression, row_at(ids, place));
    if (value.failed) *failed = 1;
    store(place, value);
  }
}

__device__ void store_votes(unsigned* words, std::size_t place, bool vote) {
  const unsigned votes = __ballot_sync(kAll, vote);
  if (threadIdx.x % 32 == 0) words[place / 32] = votes;
}

template <class T>
__global__ void __launch_bounds__(kThreads) evaluate_rows(Expression expression, std::size_t n, const RowId* ids,
                                                          T* values, unsigned* validity, unsigned* failed) {
  for_rows(expression, n, ids, failed, [=](std::size_t place, const RowValue& value) {
    if (place < n) values[place] = static_cast<T>(value.bits);
    store_votes(validity, place, value.valid);
  });
}

__global__ void __launch_bounds__(kThreads)
    find_passing(Expression expression, std::size_t n, const RowId* ids, unsigned* passing, unsigned* failed) {
  for_rows(expression, n, ids, failed, [=](std::size_t place, const RowValue& value) {
    store_votes(passing, place, value.valid && value.bits != 0);
  });
}

__global__ void count_bits(const unsigned* words, std::size_t count, unsigned long long* bits) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i <= count) bits[i] = i < count ? static_cast<unsigned long long>(__popc(words[i])) : 0;
}

/// A thread a row, so that a warp writes next to each other what passes of a word.
__global__ void list_passing(const unsigned* words, const unsigned long long* before, std::size_t n, const RowId* ids,
                             RowId* passing) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place >= n) return;
  const unsigned word = words[place / 32];
  const unsigned bit = 1u << (place % 32);
  if ((word & bit) == 0) return;
  passing[before[place / 32] + static_cast<unsigned>(__popc(word & (bit - 1)))] = row_at(ids, place);
}

/// A program and its columns in device memory, and the word that says whether a row failed.
struct Loaded {
  Buffer<std::byte> memory;
  Expression expression;
  unsigned* failed = nullptr;
};

template <class T>
void copy_in(void* to, const std::vector<T>& from, cudaStream_t stream) {
  if (from.empty()) return;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
}

Loaded load(const DeviceExpression& expression, DeviceContext& device) {
  static_assert(alignof(Instruction) == 8 && alignof(StoredColumn) == 8);
  const std::size_t instruction_bytes = expression.instructions.size() * sizeof(Instruction);
  const std::size_t column_bytes = expression.columns.size() * sizeof(StoredColumn);
  Loaded loaded{device.allocate<std::byte>(instruction_bytes + column_bytes + sizeof(unsigned)), {}, nullptr};
  std::byte* const columns = loaded.memory.data() + instruction_bytes;
  loaded.failed = reinterpret_cast<unsigned*>(columns + column_bytes);
  copy_in(loaded.memory.data(), expression.instructions, device.stream());
  copy_in(columns, expression.columns, device.stream());
  SKYRANK_CUDA_CALL(cudaMemsetAsync(loaded.failed, 0, sizeof(unsigned), device.stream()));
  loaded.expression = {reinterpret_cast<const Instruction*>(loaded.memory.data()),
                       reinterpret_cast<const StoredColumn*>(columns),
                       static_cast<std::uint32_t>(expression.instructions.size())};
  return loaded;
}

bool any_failed(const Loaded& loaded, DeviceContext& device) {
  unsigned failed = 0;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&failed, loaded.failed, sizeof(failed), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return failed != 0;
}

/// Values that the program has on its stack at most.
unsigned depth_of(const DeviceExpression& expression) {
  int depth = 0;
  int deepest = 1;
  for (const Instruction& how : expression.instructions) {
    depth += 1 - operands_of(how);
    deepest = std::max(deepest, depth);
  }
  return static_cast<unsigned>(deepest);
}

template <class... Parameters, class... Arguments>
void run(const char* name, void (*kernel)(Parameters...), const DeviceExpression& expression, std::size_t n,
         DeviceContext& device, Arguments... arguments) {
  const std::size_t shared_bytes = depth_of(expression) * kThreads * sizeof(std::uint64_t);
  const std::size_t resident =
      resident_blocks(kernel, kThreads, shared_bytes) * static_cast<std::size_t>(device.properties().multiprocessors);
  launch(name, kernel,
         {.blocks = std::min(blocks_for(n, kThreads), resident), .threads = kThreads, .shared_bytes = shared_bytes},
         device.stream(), arguments...);
}

}  // namespace

Computed evaluate(const DeviceExpression& expression, const DeviceRows& rows) {
  const std::size_t words = (rows.n + 31) / 32;
  Computed computed{
      {}, DeviceArray(rows.n * bytes_of(expression.result)), DeviceArray(words * sizeof(unsigned)), false};
  computed.column = {computed.values.data(), static_cast<const std::uint8_t*>(computed.validity.data()), 0, 0,
                     expression.result};
  if (rows.n == 0) return computed;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const Loaded loaded = load(expression, device);
  auto* const validity = static_cast<unsigned*>(computed.validity.data());
  if (expression.result == Stored::truth_bytes) {
    run("evaluate_rows", evaluate_rows<std::uint8_t>, expression, rows.n, device, loaded.expression, rows.n, rows.ids,
        static_cast<std::uint8_t*>(computed.values.data()), validity, loaded.failed);
  } else {
    run("evaluate_rows", evaluate_rows<std::uint64_t>, expression, rows.n, device, loaded.expression, rows.n, rows.ids,
        static_cast<std::uint64_t*>(computed.values.data()), validity, loaded.failed);
  }
  computed.failed = any_failed(loaded, device);
  return computed;
}

Passing filter(const DeviceExpression& condition, const DeviceRows& rows) {
  Passing passing;
  if (rows.n == 0) return passing;
  DeviceContext& device = DeviceContext::of_process();
  const std::size_t words = (rows.n + 31) / 32;
  unsigned long long total = 0;
  Buffer<unsigned> bits;
  Buffer<unsigned long long> before;
  {
    const Lease lease(device);
    const Loaded loaded = load(condition, device);
    bits = device.allocate<unsigned>(words);
    before = device.allocate<unsigned long long>(words + 1);
    run("find_passing", find_passing, condition, rows.n, device, loaded.expression, rows.n, rows.ids, bits.data(),
        loaded.failed);
    launch("count_bits", count_bits, {.blocks = blocks_for(words + 1, 256), .threads = 256}, device.stream(),
           bits.data(), words, before.data());
    std::size_t bytes = 0;
    SKYRANK_CUDA_CALL(
        cub::DeviceScan::ExclusiveSum(nullptr, bytes, before.data(), before.data(), words + 1, device.stream()));
    const auto temporary = device.allocate<std::byte>(bytes);
    SKYRANK_CUDA_CALL(cub::DeviceScan::ExclusiveSum(temporary.data(), bytes, before.data(), before.data(), words + 1,
                                                    device.stream()));
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(&total, before.data() + words, sizeof(total), cudaMemcpyDeviceToHost, device.stream()));
    passing.failed = any_failed(loaded, device);
  }
  passing.n = static_cast<std::size_t>(total);
  if (passing.failed || passing.n == 0) return passing;
  passing.ids = DeviceArray(passing.n * sizeof(RowId));
  const Lease lease(device);
  launch("list_passing", list_passing, {.blocks = blocks_for(rows.n, 256), .threads = 256}, device.stream(),
         bits.data(), before.data(), rows.n, rows.ids, static_cast<RowId*>(passing.ids.data()));
  return passing;
}

}  // namespace skyrank::kernels::cuda

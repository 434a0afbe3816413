#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/loaded.hpp"
#include "kernels/cuda/expression/machine_rows.cuh"

// The evaluator of expressions. A thread runs the program for four neighbouring rows (row_machine.cuh); the few
// programs that are too long for that, for one row, with its stack in shared memory, one word of each thread beside the
// next. A warp's rows are neighbours, so that it writes their truths and NULLs as words of bits.
//
// A filter first writes a bit for each row, n / 8 bytes, and then lists the ids of the rows that pass from these bits.
namespace skyrank::kernels::cuda::expression {
namespace {

constexpr unsigned kStackThreads = StackPolicy::kThreads;

/// Runs the program for every row, in rounds that all threads of a warp take part in; `store(place, value)` is called
/// by all of them, for places beyond n too, with a value that is NULL.
template <class Store>
__device__ void for_rows(const Expression& expression, const DeviceRows& rows, unsigned* failed, Store store) {
  StackMachine machine(dynamic_shared<std::uint64_t>() + threadIdx.x, blockDim.x);
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t rounded = (rows.n + 31) / 32 * 32;
  for (std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; place < rounded; place += stride) {
    RowValue value{0, false, false};
    if (place < rows.n) value = machine.run(expression, rows.at(place));
    if (value.failed) *failed = 1;
    store(place, value);
  }
}

__device__ void store_votes(unsigned* words, std::size_t place, bool vote) {
  const unsigned votes = __ballot_sync(kAllLanes, vote);
  if (threadIdx.x % 32 == 0) words[place / 32] = votes;
}

template <class T>
__global__ void __launch_bounds__(kStackThreads)
    evaluate_rows(Expression expression, DeviceRows rows, T* values, unsigned* validity, unsigned* failed) {
  for_rows(expression, rows, failed, [=](std::size_t place, const RowValue& value) {
    if (place < rows.n) values[place] = static_cast<T>(value.bits);
    store_votes(validity, place, value.valid);
  });
}

__global__ void __launch_bounds__(kStackThreads)
    find_passing(Expression expression, DeviceRows rows, unsigned* passing, unsigned* failed) {
  for_rows(expression, rows, failed, [=](std::size_t place, const RowValue& value) {
    store_votes(passing, place, value.valid && value.bits != 0);
  });
}

/// Four values of a thread, of which those beyond n are not there.
template <class T>
__device__ void store_values(T* values, std::size_t place, std::size_t n, const double* four) {
  T narrow[kPartRows];
#pragma unroll
  for (unsigned i = 0; i < kPartRows; ++i) narrow[i] = static_cast<T>(with_bits_of<std::uint64_t>(four[i]));
  if (place + kPartRows > n) {
    for (unsigned i = 0; place + i < n; ++i) values[place + i] = static_cast<T>(narrow[i]);
  } else if constexpr (sizeof(T) == 1) {
    memcpy(__builtin_assume_aligned(values + place, kPartRows), narrow, sizeof(narrow));
  } else {
    uint4 words[2];
    memcpy(words, narrow, sizeof(words));
    reinterpret_cast<uint4*>(values + place)[0] = words[0];
    reinterpret_cast<uint4*>(values + place)[1] = words[1];
  }
}

/// A bit for each of a thread's rows, to where those of its parts belong.
template <class Form>
__device__ void store_rows(unsigned* words, std::size_t place, std::size_t n, unsigned rows) {
#pragma unroll
  for (unsigned p = 0; p < Form::kParts; ++p) {
    store_bits(words, place + p * Form::kPartStride, n, rows >> p * kPartRows & 0xf);
  }
}

template <class Form, class T>
__global__ void __launch_bounds__(kMachineThreads, kMachineBlocks)
    evaluate_steps(const __grid_constant__ StepProgram program, const __grid_constant__ MachineLayout layout,
                   DeviceRows rows, T* values, unsigned* validity, unsigned* failed) {
  for_rows_together<Form>(
      program, layout, rows, [&](const RowMachine<Form>& machine, std::size_t, std::size_t place, unsigned present) {
        const Numbers<Form>& number = machine.number();
        unsigned valid = present;
        if constexpr (Form::kNulls) valid &= number.valid;
        if constexpr (Form::kFails) {
          if ((number.failed & present) != 0) *failed = 1;
        }
#pragma unroll
        for (unsigned p = 0; p < Form::kParts; ++p) {
          store_values(values, place + p * Form::kPartStride, rows.n, number.values + p * kPartRows);
        }
        store_rows<Form>(validity, place, rows.n, valid);
      });
}

template <class Form>
__global__ void __launch_bounds__(kMachineThreads, kMachineBlocks)
    find_passing_steps(const __grid_constant__ StepProgram program, const __grid_constant__ MachineLayout layout,
                       DeviceRows rows, unsigned* passing, unsigned* failed) {
  for_rows_together<Form>(program, layout, rows,
                          [&](const RowMachine<Form>& machine, std::size_t, std::size_t place, unsigned present) {
                            const Truths& truth = machine.truth();
                            unsigned passes = truth.bits & present;
                            if constexpr (Form::kNulls) passes &= truth.valid;
                            if constexpr (Form::kFails) {
                              if ((truth.failed & present) != 0) *failed = 1;
                            }
                            store_rows<Form>(passing, place, rows.n, passes);
                          });
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
  const std::size_t shared_bytes = depth_of(expression) * kStackThreads * sizeof(std::uint64_t);
  const std::size_t resident =
      resident_blocks(kernel, kStackThreads, shared_bytes) * device.properties().multiprocessors;
  launch(name, kernel,
         {.blocks = std::min(blocks_for(n, kStackThreads), resident),
          .threads = kStackThreads,
          .shared_bytes = shared_bytes},
         device.stream(), arguments...);
}

template <class Form, class... Parameters, class... Arguments>
void run_steps(const char* name, void (*kernel)(Parameters...), StepProgram program, std::size_t n,
               DeviceContext& device, Arguments... arguments) {
  const MachineLayout layout = lay_out<Form>(program);
  const std::size_t shared_bytes = layout.bytes;
  const std::size_t resident =
      resident_blocks(kernel, kMachineThreads, shared_bytes) * device.properties().multiprocessors;
  launch(name, kernel,
         {.blocks = std::min(blocks_for(n, Form::kTile), resident),
          .threads = kMachineThreads,
          .shared_bytes = shared_bytes},
         device.stream(), program, layout, arguments...);
}

/// The values and NULLs of all rows.
template <class T>
void evaluate_into(T* values, unsigned* validity, const DeviceExpression& expression, const DeviceRows& rows,
                   const LoadedExpression& loaded, DeviceContext& device) {
  if (auto program = expression.steps) {
    program->source = loaded.expression();
    with_form(*program, [&]<class Form>(Form) {
      run_steps<Form>("evaluate_steps", evaluate_steps<Form, T>, *program, rows.n, device, rows, values, validity,
                      loaded.failed());
    });
  } else {
    run("evaluate_rows", evaluate_rows<T>, expression, rows.n, device, loaded.expression(), rows, values, validity,
        loaded.failed());
  }
}

/// A bit for each row for which a condition is true.
void find_passing_rows(unsigned* passing, const DeviceExpression& condition, const DeviceRows& rows,
                       const LoadedExpression& loaded, DeviceContext& device) {
  if (auto program = condition.steps) {
    program->source = loaded.expression();
    with_form(*program, [&]<class Form>(Form) {
      run_steps<Form>("find_passing_steps", find_passing_steps<Form>, *program, rows.n, device, rows, passing,
                      loaded.failed());
    });
  } else {
    run("find_passing", find_passing, condition, rows.n, device, loaded.expression(), rows, passing, loaded.failed());
  }
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
  const LoadedExpression loaded(expression, device);
  auto* const validity = static_cast<unsigned*>(computed.validity.data());
  if (expression.result == Stored::truth_bytes) {
    evaluate_into(static_cast<std::uint8_t*>(computed.values.data()), validity, expression, rows, loaded, device);
  } else {
    evaluate_into(static_cast<std::uint64_t*>(computed.values.data()), validity, expression, rows, loaded, device);
  }
  computed.failed = loaded.any_failed();
  return computed;
}

Passing filter(const DeviceExpression& condition, const DeviceRows& rows) {
  Passing passing;
  if (rows.n == 0) return passing;
  DeviceContext& device = DeviceContext::of_process();
  Buffer<unsigned> bits;
  std::optional<Selection<BitIs>> selected;
  {
    const Lease lease(device);
    const LoadedExpression loaded(condition, device);
    bits = device.allocate<unsigned>((rows.n + 31) / 32);
    find_passing_rows(bits.data(), condition, rows, loaded, device);
    selected.emplace(BitIs{bits.data()}, rows.n, device);
    passing.n = selected->count();
    passing.failed = loaded.any_failed();
  }
  if (passing.failed || passing.n == 0) return passing;
  passing.ids = DeviceArray(passing.n * sizeof(RowId));
  const Lease lease(device);
  selected->list(IdAt{rows.ids}, static_cast<RowId*>(passing.ids.data()));
  return passing;
}

}  // namespace skyrank::kernels::cuda::expression

#include "kernels/cuda/groups/best_groups.hpp"

#include <algorithm>

#include "kernels/common/host_device.hpp"
#include "kernels/common/keys/key_recipe.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/groups/policy.hpp"

// The values of groups become keys, which are sorted for the k-th of them: groups are few beside the rows.
namespace skyrank::kernels::cuda::groups {
namespace {

constexpr std::uint64_t kWorst = ~std::uint64_t{0};

/// Groups in device memory.
struct Groups {
  const std::uint32_t* starts;
  std::size_t rows;
  std::size_t count;

  __device__ std::uint64_t size(std::uint32_t group) const {
    const std::size_t end = group + 1 < count ? starts[group + 1] : rows;
    return end - starts[group];
  }
};

Groups groups_of(const SortedRows& rows) {
  return {static_cast<const std::uint32_t*>(rows.starts.data()), rows.n, rows.count};
}

/// NULL shares its key with values at the ends, so that a few more groups may stay.
__device__ std::uint64_t key_of(const Groups& groups, const GroupValue& value, std::uint32_t group) {
  std::uint64_t key = 0;
  if (value.kind == GroupValue::Kind::rows) {
    key = groups.size(group);
  } else {
    const IntegerTotal& total = value.totals[group];
    if (value.kind != GroupValue::Kind::count && total.count == 0) return value.nulls_first ? 0 : kWorst;
    switch (value.kind) {
      case GroupValue::Kind::sum: key = ordered(total.sum_low, value.with_sign); break;
      case GroupValue::Kind::lowest: key = total.lowest; break;
      case GroupValue::Kind::highest: key = total.highest; break;
      default: key = total.count; break;
    }
  }
  return value.high ? ~key : key;
}

/// Keys of groups in the order of a list.
__global__ void __launch_bounds__(kMapThreads)
    make_group_keys(const Groups groups, const GroupValue value, const std::uint32_t* list, std::uint64_t* keys) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < groups.count) keys[i] = key_of(groups, value, list[i]);
}

/// Holds for the places of keys up to one.
struct IsUpTo {
  const std::uint64_t* keys;
  std::uint64_t last;

  SKYRANK_HD bool operator()(std::size_t i) const { return keys[i] <= last; }
};

/// taken[i] = value(list[i])
template <class T, class Value>
__global__ void __launch_bounds__(kMapThreads)
    take_values(const Value value, const std::uint32_t* list, std::size_t n, T* taken) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < n) taken[i] = value(list[i]);
}

struct FirstPlace {
  const std::uint32_t* first;
  __device__ std::int64_t operator()(std::uint32_t group) const { return first[group]; }
};
struct Size {
  Groups groups;
  __device__ std::int64_t operator()(std::uint32_t group) const {
    return static_cast<std::int64_t>(groups.size(group));
  }
};
struct Total {
  const IntegerTotal* totals;
  __device__ IntegerTotal operator()(std::uint32_t group) const { return totals[group]; }
};

__global__ void __launch_bounds__(kMapThreads)
    find_wide_sums(const IntegerTotal* totals, std::size_t count, bool with_sign, unsigned* any) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const IntegerTotal& total = totals[i];
  const bool negative = with_sign && total.sum_low >> 63 != 0;
  if (total.sum_high != (negative ? kWorst : 0)) *any = 1;
}

const std::uint32_t* numbers(const DeviceArray& array) { return static_cast<const std::uint32_t*>(array.data()); }

/// The values of listed groups on the host.
template <class T, class Value>
Vector<T> values_on_host(const Value& value, const GroupList& list) {
  Vector<T> values(list.count);
  if (list.count == 0) return values;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto there = device.allocate<T>(list.count);
  launch("take_values", take_values<T, Value>, one_each(list.count), device.stream(), value, numbers(list.groups),
         list.count, there.data());
  device.synchronize();
  device.transfer().download(values.data(), there.data(), there.bytes());
  return values;
}

}  // namespace

GroupList all_groups(const SortedRows& rows) { return {rows.by_first, rows.count}; }

GroupList best_groups(const SortedRows& rows, const GroupValue& value, std::size_t k) {
  if (k >= rows.count) return all_groups(rows);
  const Range range("best groups");
  DeviceArray listed(rows.count * sizeof(std::uint32_t));
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto keys = device.allocate<std::uint64_t>(rows.count);
  launch("make_group_keys", make_group_keys, one_each(rows.count), device.stream(), groups_of(rows), value,
         numbers(rows.by_first), keys.data());
  const auto sorted = device.allocate<std::uint64_t>(rows.count);
  sort_keys(keys.data(), sorted.data(), rows.count, device);
  const Selection best(IsUpTo{keys.data(), value_at(sorted.data() + (k - 1), device)}, rows.count, device);
  best.list(ItemAt<std::uint32_t>{numbers(rows.by_first)}, static_cast<std::uint32_t*>(listed.data()));
  return {std::move(listed), best.count()};
}

bool sums_fit(const DeviceArray& totals, bool with_sign) {
  const std::size_t count = totals.bytes() / sizeof(IntegerTotal);
  if (count == 0) return true;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto any = device.allocate<unsigned>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(any.data(), 0, any.bytes(), device.stream()));
  launch("find_wide_sums", find_wide_sums, one_each(count), device.stream(),
         static_cast<const IntegerTotal*>(totals.data()), count, with_sign, any.data());
  return value_at(any.data(), device) == 0;
}

Vector<std::int64_t> first_places(const SortedRows& rows, const GroupList& list) {
  return values_on_host<std::int64_t>(FirstPlace{numbers(rows.first)}, list);
}

Vector<std::int64_t> sizes(const SortedRows& rows, const GroupList& list) {
  return values_on_host<std::int64_t>(Size{groups_of(rows)}, list);
}

Vector<IntegerTotal> totals_of(const DeviceArray& totals, const GroupList& list) {
  return values_on_host<IntegerTotal>(Total{static_cast<const IntegerTotal*>(totals.data())}, list);
}

}  // namespace skyrank::kernels::cuda::groups

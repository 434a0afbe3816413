#include "engine/keys/key_columns.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/keys/device_keys.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {
namespace {

/// Calls f with a value of the unsigned type of the width.
template <class F>
auto with_key_type(kernels::KeyWidth width, const F& f) {
  switch (width) {
    case kernels::KeyWidth::bytes1: return f(std::uint8_t{});
    case kernels::KeyWidth::bytes2: return f(std::uint16_t{});
    case kernels::KeyWidth::bytes4: return f(std::uint32_t{});
    case kernels::KeyWidth::bytes8: break;
  }
  return f(std::uint64_t{});
}

/// The keys at some positions, on the host.
std::vector<Keys> brought(const std::vector<Keys>& columns, std::span<const std::int64_t> positions) {
  std::vector<Keys> near;
  for (const Keys& keys : columns) {
    near.push_back(to_host(take(keys, positions), static_cast<std::int64_t>(positions.size())));
  }
  return near;
}

}  // namespace

Keys take(const Keys& keys, std::span<const std::int64_t> positions) {
  if (keys.memory == kernels::Memory::device) return take_on_device(keys, positions);
  return with_key_type(keys.column.width, [&]<class Key>(Key) {
    auto taken = std::make_shared<Vector<Key>>(positions.size());
    const Key* from = keys.column.as<Key>();
    for_each_range(static_cast<std::int64_t>(positions.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) (*taken)[i] = from[positions[i]];
    });
    return Keys{{taken->data(), keys.column.width}, taken};
  });
}

Keys slice(const Keys& keys, std::int64_t begin) {
  const auto* data = static_cast<const std::byte*>(keys.column.data);
  return {{data + begin * static_cast<std::int64_t>(keys.column.width), keys.column.width}, nullptr, keys.memory};
}

std::uint64_t key_at(const Keys& keys, std::int64_t row) {
  return with_key_type(keys.column.width,
                       [&]<class Key>(Key) { return static_cast<std::uint64_t>(keys.column.as<Key>()[row]); });
}

Runs runs_of_equal(const std::vector<Keys>& columns, Vector<std::int64_t> positions) {
  if (!columns.empty() && columns.front().memory == kernels::Memory::device) {
    Vector<std::int64_t> places(positions.size());
    std::iota(places.begin(), places.end(), 0);
    Runs runs = runs_of_equal(brought(columns, positions), std::move(places));
    for (std::int64_t& position : runs.positions) position = positions[position];
    return runs;
  }
  const auto equal = [&](std::int64_t a, std::int64_t b) {
    return std::all_of(columns.begin(), columns.end(),
                       [&](const Keys& keys) { return key_at(keys, a) == key_at(keys, b); });
  };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    for (const Keys& keys : columns) {
      const std::uint64_t x = key_at(keys, a);
      const std::uint64_t y = key_at(keys, b);
      if (x != y) return x < y;
    }
    return a < b;
  };
  const bool one_run = std::all_of(positions.begin(), positions.end(),
                                   [&](std::int64_t position) { return equal(positions.front(), position); });
  if (!one_run) std::sort(positions.begin(), positions.end(), before);
  Runs runs{std::move(positions), {}};
  for (std::size_t i = 0; i < runs.positions.size(); ++i) {
    if (i == 0 || !equal(runs.positions[i - 1], runs.positions[i])) runs.bounds.push_back(static_cast<std::int64_t>(i));
  }
  runs.bounds.push_back(static_cast<std::int64_t>(runs.positions.size()));
  return runs;
}

}  // namespace skyrank::exec

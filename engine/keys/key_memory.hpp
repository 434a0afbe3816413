#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/keys/keys.hpp"

// Parts that all makers of keys share: memory, widths, and the codes of NULL.
namespace skyrank::exec {

/// Room for n keys, uninitialised.
template <class Key>
class KeyMemory {
 public:
  explicit KeyMemory(std::int64_t n)
      : memory_(std::make_shared<kernels::Array<Key>>(static_cast<std::size_t>(n))), data_(memory_->get()) {}

  Key* data() { return data_; }
  Key& operator[](std::int64_t i) { return data_[i]; }
  Keys keys() && { return {{data_, static_cast<kernels::KeyWidth>(sizeof(Key))}, std::move(memory_)}; }

 private:
  std::shared_ptr<kernels::Array<Key>> memory_;
  Key* data_;
};

/// The narrowest keys that hold `max_key`.
constexpr kernels::KeyWidth width_for(std::uint64_t max_key) {
  const auto bits = std::bit_width(max_key);
  if (bits <= 8) return kernels::KeyWidth::bytes1;
  if (bits <= 16) return kernels::KeyWidth::bytes2;
  return bits <= 32 ? kernels::KeyWidth::bytes4 : kernels::KeyWidth::bytes8;
}

/// The order of a term's values, or of their distances: low or high ones first, and NULL before or behind them.
struct ValueOrder {
  bool high = false;
  bool nulls_first = false;
};

/// The codes of keys where NULL needs one of its own, before or behind those of values.
struct NullableCodes {
  std::uint64_t first = 0;  ///< added to the codes of values
  std::uint64_t null = 0;   ///< code of NULL
  std::uint64_t last = 0;   ///< the greatest of all

  /// Makes room for NULL, if there is any, beside codes of values from 0 to `max_code`.
  constexpr NullableCodes(std::uint64_t max_code, bool any_null, bool nulls_first)
      : first(any_null && nulls_first ? 1 : 0),
        null(nulls_first ? 0 : max_code + 1),
        last(any_null ? max_code + 1 : max_code) {}
};

/// Gives the NULL rows of a block their key; `valid` as load_validity gives it.
template <class Key>
void write_null(const std::uint8_t* valid, std::int64_t size, Key null, Key* out) {
  if (valid == nullptr) return;
  for (std::int64_t i = 0; i < size; ++i) out[i] = valid[i] != 0 ? out[i] : null;
}

/// Calls `f(Key{})` with the key type of a width.
template <class F>
decltype(auto) with_width(kernels::KeyWidth width, F&& f) {
  switch (width) {
    case kernels::KeyWidth::bytes1: return f(std::uint8_t{});
    case kernels::KeyWidth::bytes2: return f(std::uint16_t{});
    case kernels::KeyWidth::bytes4: return f(std::uint32_t{});
    case kernels::KeyWidth::bytes8: break;
  }
  return f(std::uint64_t{});
}

}  // namespace skyrank::exec

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <skyrank/types.hpp>

#include "engine/expression/evaluate.hpp"

// Intermediate values of the evaluator: one block of rows, in memory that is used again and again.
namespace skyrank::exec {

class BufferPool;

/// Memory for kBlockRows values of any evaluation type; its destructor returns it to the pool.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool* pool, kernels::Array<std::byte> memory) : pool_(pool), memory_(std::move(memory)) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer old(std::move(*this));
    pool_ = other.pool_;
    memory_ = std::move(other.memory_);
    return *this;
  }
  ~Buffer();

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  BufferPool* pool_ = nullptr;
  kernels::Array<std::byte> memory_;
};

/// Must outlive its buffers. For one thread.
class BufferPool {
 public:
  Buffer take() {
    if (free_.empty()) {
      free_.reserve(++made_);  // so that a buffer comes back without allocation, also while memory is short
      return {this, kernels::Array<std::byte>(kBytes)};
    }
    Buffer buffer(this, std::move(free_.back()));
    free_.pop_back();
    return buffer;
  }

 private:
  friend class Buffer;
  static constexpr std::size_t kBytes = std::size_t{kBlockRows} * sizeof(std::string_view);

  std::vector<kernels::Array<std::byte>> free_;
  std::size_t made_ = 0;
};

inline Buffer::~Buffer() {
  if (memory_) pool_->free_.push_back(std::move(memory_));
}

/// Values of one expression node for a block. Stored by evaluation type: uint8 (0 or 1) for booleans, int64 for int64,
/// date, timestamp and decimal64, uint64, Int128 for decimal128, double, string_view. Values of NULL rows are defined
/// (loads and comparisons of them are harmless) but mean nothing.
struct Vec {
  DataType type;
  const void* data = nullptr;
  bool constant = false;                ///< `data` is one value, that of all rows
  const std::uint8_t* valid = nullptr;  ///< one byte a row, 0 = NULL; null: no NULLs
  Buffer values;                        ///< memory that `data` points into, unless that lives elsewhere
  Buffer validity;

  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

/// One value, indexed like an array of it.
template <class T>
struct Spread {
  T value;
  T operator[](std::int64_t) const { return value; }
};

/// Calls `f` with the values of `vec`, as a pointer or a Spread.
template <class T, class F>
decltype(auto) with_values(const Vec& vec, F&& f) {
  if (vec.constant) return f(Spread<T>{*vec.as<T>()});
  return f(vec.as<T>());
}

/// Sets out[i] to make(i) for each of `size` rows, in a loop that compilers vectorise: `make` and the number are
/// copies, which no byte that is stored can change. Nothing that `make` reads may be in `out`.
template <class T, class Make>
void set_rows(T* __restrict out, std::int64_t size, const Make make) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<T>(make(i));
}

/// A value of an evaluation type as that holds it (decimals have its scale); strings are viewed. NULL gives a value of
/// no meaning.
template <class T>
T stored_value(const Value& value) {
  if (std::holds_alternative<Null>(value)) return T{};
  if constexpr (std::is_same_v<T, std::uint8_t>) return std::get<bool>(value);
  if constexpr (std::is_same_v<T, std::uint64_t>) return std::get<std::uint64_t>(value);
  if constexpr (std::is_same_v<T, double>) return std::get<double>(value);
  if constexpr (std::is_same_v<T, std::string_view>) return std::get<std::string>(value);
  if constexpr (std::is_same_v<T, Int128>) return std::get<Decimal>(value).unscaled;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (const auto* decimal = std::get_if<Decimal>(&value)) return static_cast<std::int64_t>(decimal->unscaled);
    if (const auto* date = std::get_if<Date>(&value)) return date->days;
    if (const auto* time = std::get_if<Timestamp>(&value)) return time->ticks;
    return std::get<std::int64_t>(value);
  }
}

/// Calls `f(T{})` with the C++ type that holds values of an evaluation type.
template <class F>
decltype(auto) with_evaluation_type(Type type, F&& f) {
  switch (type) {
    case Type::boolean: return f(std::uint8_t{});
    case Type::uint64: return f(std::uint64_t{});
    case Type::float64: return f(double{});
    case Type::string: return f(std::string_view{});
    case Type::decimal128: return f(Int128{});
    default: return f(std::int64_t{});
  }
}

}  // namespace skyrank::exec

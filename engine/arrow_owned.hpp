#pragma once

#include <utility>

namespace skyrank {

/// A struct of the interface that is released once, unless a consumer moved it out (which leaves `release` null).
template <class Struct>
class Owned {
 public:
  Owned() = default;
  /// Moves from `source`; a null pointer gives an empty struct.
  static Owned take(Struct* source) {
    Owned owned;
    if (source != nullptr) owned.value_ = std::exchange(*source, Struct{});
    return owned;
  }
  explicit Owned(const Struct& value) : value_(value) {}
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, Struct{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_.release != nullptr) value_.release(&value_);
  }

  Struct& operator*() { return value_; }
  Struct* operator->() { return &value_; }
  /// Gives the struct away.
  Struct give() { return std::exchange(value_, Struct{}); }

 private:
  Struct value_{};
};

}  // namespace skyrank

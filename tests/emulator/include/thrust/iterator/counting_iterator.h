#pragma once

#include <cstddef>
#include <iterator>

namespace thrust {

/// The numbers from one on.
template <class Number>
class counting_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Number;
  using difference_type = std::ptrdiff_t;
  using pointer = const Number*;
  using reference = Number;

  explicit counting_iterator(Number number) : number_(number) {}
  Number operator*() const { return number_; }
  counting_iterator& operator++() {
    ++number_;
    return *this;
  }
  template <class Count>
  counting_iterator operator+(Count count) const {
    return counting_iterator(number_ + static_cast<Number>(count));
  }
  friend bool operator==(const counting_iterator& a, const counting_iterator& b) = default;

 private:
  Number number_;
};

}  // namespace thrust

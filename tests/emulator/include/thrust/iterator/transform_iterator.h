#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace thrust {

/// What a function gives for each of an iterator's values.
template <class Function, class Iterator>
class transform_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::invoke_result_t<Function, typename Iterator::value_type>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  transform_iterator(Iterator at, Function function) : at_(at), function_(function) {}
  value_type operator*() const { return function_(*at_); }
  transform_iterator& operator++() {
    ++at_;
    return *this;
  }
  template <class Count>
  transform_iterator operator+(Count count) const {
    return {at_ + count, function_};
  }
  friend bool operator==(const transform_iterator& a, const transform_iterator& b) { return a.at_ == b.at_; }

 private:
  Iterator at_;
  Function function_;
};

}  // namespace thrust

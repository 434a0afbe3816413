#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

// Cost models are sums of these terms, which the profile of a machine weighs.
namespace skyrank::planner::cost {

/// Values of an algorithm's parameters by name.
using Values = std::map<std::string, std::int64_t, std::less<>>;

inline double value_or(const Values& values, std::string_view name, double otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : static_cast<double>(found->second);
}

/// One addend of a predicted time: how often something is done on the longest way through the algorithm (so divided by
/// the threads that share it), and what it takes each time. `name` is how a profile names the seconds it has measured.
struct Term {
  std::string_view name;
  double count = 0;
  double seconds = 0;  ///< for one; where no profile says better
};

/// Terms in place: a choice prices some forty paths and allocates for none.
template <std::size_t kMax>
class TermList {
 public:
  TermList() = default;
  TermList(std::initializer_list<Term> terms) { append(terms); }

  /// Throws std::length_error beyond kMax.
  void push_back(const Term& term) {
    if (size_ == kMax) throw std::length_error("a cost model of too many terms");
    terms_[size_++] = term;
  }
  void append(std::span<const Term> terms) {
    for (const Term& term : terms) push_back(term);
  }

  std::size_t size() const { return size_; }
  Term* begin() { return terms_.data(); }
  Term* end() { return terms_.data() + size_; }
  const Term* begin() const { return terms_.data(); }
  const Term* end() const { return terms_.data() + size_; }
  Term& operator[](std::size_t i) { return terms_[i]; }
  const Term& operator[](std::size_t i) const { return terms_[i]; }

 private:
  std::array<Term, kMax> terms_;
  std::size_t size_ = 0;
};

/// The terms of a model.
using Terms = TermList<24>;

/// The result of a model for a problem.
struct Cost {
  Terms terms;
  double bytes = 0;  ///< temporary memory where the algorithm runs, its copy of the input included
};

}  // namespace skyrank::planner::cost

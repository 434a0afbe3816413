#pragma once

#include <cstddef>
#include <cstdint>

// How two rows of keys compare. Plain functions on the keys of one row side by side.
namespace skyrank::kernels {

/// Compares the first of two rows with the second. The values are two bits, "better somewhere" and "worse somewhere",
/// so that the outcome of a Pareto combination is the bitwise or of its parts.
enum class Outcome : std::uint8_t { equal = 0, better = 1, worse = 2, incomparable = 3 };

constexpr Outcome outcome(bool better_somewhere, bool worse_somewhere) {
  return static_cast<Outcome>((better_somewhere ? 1 : 0) | (worse_somewhere ? 2 : 0));
}

/// The Pareto order on d keys.
template <class Key>
Outcome compare_pareto(const Key* a, const Key* b, std::size_t d) {
  bool better = false;
  bool worse = false;
  for (std::size_t c = 0; c < d; ++c) {
    better |= a[c] < b[c];
    worse |= a[c] > b[c];
    if (better && worse) return Outcome::incomparable;
  }
  return outcome(better, worse);
}

/// Returns true if a is at least as good as b in all d keys. For rows known to be distinct that is dominance (Bøgh,
/// Chester, Assent, PVLDB 2015, Definition 1, right half).
template <class Key>
bool dominates_distinct(const Key* a, const Key* b, std::size_t d) {
  for (std::size_t c = 0; c < d; ++c) {
    if (a[c] > b[c]) return false;
  }
  return true;
}

/// Returns true if a dominates b: at least as good in all d keys, better in one (ibid., Definition 1).
template <class Key>
bool dominates(const Key* a, const Key* b, std::size_t d) {
  bool better = false;
  for (std::size_t c = 0; c < d; ++c) {
    if (a[c] > b[c]) return false;
    better |= a[c] < b[c];
  }
  return better;
}

}  // namespace skyrank::kernels

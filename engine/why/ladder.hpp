#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <skyrank/types.hpp>

// The values at which a least change can lie. Values of a term are codes in whose order less is better: an Int128 for
// exact types, a double for floats. Between two values that the query compares with, all values are alike, so one
// stands for them.
namespace skyrank::exec {

/// Neighbours among the codes that a column can hold.
template <class Code>
struct CodeRange {
  Code lowest{};            ///< the lowest code
  Code highest{};           ///< the highest code
  bool is_float32 = false;  ///< codes are those of float32

  /// Returns the next lower code, nothing below the lowest.
  std::optional<Code> below(Code code) const {
    if (!(code > lowest)) return std::nullopt;
    if constexpr (std::same_as<Code, double>) {
      constexpr double kEnd = -std::numeric_limits<double>::infinity();
      return is_float32 ? std::nextafter(static_cast<float>(code), static_cast<float>(kEnd))
                        : std::nextafter(code, kEnd);
    } else {
      return code - 1;
    }
  }
  /// Returns the next higher code, nothing above the highest.
  std::optional<Code> above(Code code) const {
    const std::optional<Code> mirrored = CodeRange{-highest, -lowest, is_float32}.below(-code);
    return mirrored ? std::optional(-*mirrored) : std::nullopt;
  }
};

/// A value that stands for all that are alike.
template <class Code>
struct Rung {
  enum class Kind { any, at, below };  ///< stands for every value, those at the anchor or better, those better than it

  Code code{};
  Code anchor{};
  Kind kind = Kind::any;
};

/// Returns the rungs from the worst to the best. `values` are those with which the query compares.
template <class Code>
std::vector<Rung<Code>> ladder(std::vector<Code> values, const CodeRange<Code>& range) {
  using Kind = typename Rung<Code>::Kind;
  if (values.empty()) values.push_back(range.lowest);
  std::ranges::sort(values, std::greater());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<Rung<Code>> rungs;
  if (const auto worst = range.above(values.front())) rungs.push_back({*worst, *worst, Kind::any});
  for (std::size_t i = 0; i < values.size(); ++i) {
    rungs.push_back({values[i], values[i], Kind::at});
    const std::optional<Code> better = range.below(values[i]);
    if (better && (i + 1 == values.size() || *better > values[i + 1])) {
      rungs.push_back({*better, values[i], Kind::below});
    }
  }
  return rungs;
}

}  // namespace skyrank::exec

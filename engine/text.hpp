#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Small text helpers shared by messages, printers and writers.
namespace skyrank::query {

/// The candidate nearest to `name` by edit distance (insert, delete, replace, swap of neighbours; case does not count),
/// the first of several; empty when none is within a third of the longer name's length.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "; did you mean 'price'?" for the end of a message, or nothing when no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace skyrank::query

namespace skyrank {

/// Shortest decimal text that reads back to the same value ("nan", "inf", "-inf" included): plain notation for
/// magnitudes in [1e-5, 1e16), exponents beyond.
std::string format_number(double value);
std::string format_number(float value);

}  // namespace skyrank

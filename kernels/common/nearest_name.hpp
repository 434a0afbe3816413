#pragma once

#include <string>
#include <string_view>
#include <vector>

// For messages: what a wrong name was probably meant to be.
namespace skyrank::kernels {

/// The candidate nearest to `name` by edit distance (insert, delete, replace, swap of neighbours; case does not count),
/// the first of several; empty when none is within a third of the longer name's length.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "; did you mean 'price'?" for the end of a message, or nothing when no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace skyrank::kernels

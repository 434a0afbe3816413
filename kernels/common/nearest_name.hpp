#pragma once

#include <span>
#include <string>
#include <string_view>

namespace skyrank::kernels {

/// What follows "there is no X" in a message: "; did you mean 'bnl'?" when a name is close to `wrong`, else
/// "; there are: bnl, sfs", or nothing when there are no names.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace skyrank::kernels

#pragma once

#include <span>
#include <string>
#include <string_view>

// The papers' algorithms are in a build only with the option SKYRANK_PAPERS; their names are known to every build.
namespace skyrank::kernels::papers {

/// Names of all algorithms below kernels/papers, of every device, whether this build has them or not.
std::span<const std::string_view> names();

/// Returns a sentence that says why this build lacks an algorithm of the papers and how to get it; empty for algorithms
/// that the build has and for names that mean nothing.
std::string why_left_out(std::string_view name);

}  // namespace skyrank::kernels::papers

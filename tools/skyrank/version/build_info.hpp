#pragma once

#include <string>

namespace skyrank::tools {

/// The commit this program was built from, "-dirty" where it was changed; empty where git did not tell.
std::string build_commit();

/// Returns the version, commit, compiler and build type of this program, for --version.
std::string build_info();

}  // namespace skyrank::tools

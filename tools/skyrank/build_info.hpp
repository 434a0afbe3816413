#pragma once

#include <string>

namespace skyrank::tools {

/// The commit this program was built from, "-dirty" where it was changed; empty where git did not tell.
std::string build_commit();

/// What this program was built from and with, for --version.
std::string build_info();

}  // namespace skyrank::tools

#pragma once

#include <string>

namespace skyrank::tools {

/// What this program was built from and with, for --version.
std::string build_info();

}  // namespace skyrank::tools

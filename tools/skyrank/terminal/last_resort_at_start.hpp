#pragma once

// Included by the one file of a program that has `main`. A module, which may have the same code, can begin no earlier
// than it is loaded, and calls `install_last_resort` itself.

#include "tools/skyrank/terminal/last_resort.hpp"

namespace skyrank::tools {

inline void install_last_resort_at_start(int, char**, char**) { install_last_resort(); }

/// Has the loader install the last resort before the constructors of all libraries.
[[gnu::used,
  gnu::section(".preinit_array")]] static void (*const kInstallLastResort)(int, char**,
                                                                           char**) = install_last_resort_at_start;

}  // namespace skyrank::tools

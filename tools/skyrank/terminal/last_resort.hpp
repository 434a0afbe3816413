#pragma once

namespace skyrank::tools {

/// Ends the process with status 1 and a message where it would otherwise abort: when an exception leaves a function
/// that must not throw (a library's worker could not start a thread, a destructor got no memory), and when a library
/// calls abort, as Arrow does where some of its parts get no memory. While Arrow reads a file, an allocation that fails
/// gets memory set aside for it (datasets/columnar/memory_reserve.hpp). Installed before the first constructor of any
/// library runs, since these allocate too; calling this links it into the program.
void install_last_resort();

}  // namespace skyrank::tools

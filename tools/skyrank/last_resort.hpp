#pragma once

namespace skyrank::tools {

/// Ends the process with status 1 and a message where it would otherwise abort: when an exception leaves a function
/// that must not throw, such as a thread that a library's worker could not start, or memory that a destructor did not
/// get. Installed before the first constructor of any library runs, since these allocate too; a program links it by
/// calling this, which does no more.
void install_last_resort();

}  // namespace skyrank::tools

#pragma once

#include <string>

namespace skyrank::bench {

/// The machine this runs on, in one line: model of the CPU and number of cores the process may use.
std::string machine_name();

}  // namespace skyrank::bench

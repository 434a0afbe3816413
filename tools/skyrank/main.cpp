#include <unistd.h>

#include <cstdio>

#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/terminal/last_resort_at_start.hpp"

int main(int argc, char** argv) {
  const int status = skyrank::tools::main(argc, argv);
  if (status != skyrank::tools::system_failure) return status;
  // A library that failed midway may wait without end in its destructors, for a thread that never started.
  std::fflush(nullptr);
  ::_exit(status);
}

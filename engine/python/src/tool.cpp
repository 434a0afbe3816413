// The command-line tool inside the extension module, so that a wheel has the engine once.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/python/src/bind.hpp"
#include "tools/skyrank/commands.hpp"

namespace skyrank::python {
namespace {

/// Runs a command line and ends the process, as the program `skyrank` does.
[[noreturn]] void run_tool(const std::vector<std::string>& words) {
  const nb::gil_scoped_release release;
  std::vector<const char*> arguments{"skyrank"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  const int status = tools::main(static_cast<int>(arguments.size()) - 1, arguments.data());
  if (status != tools::system_failure) std::exit(status);  // NOLINT(concurrency-mt-unsafe): as a program ends
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace

void bind_tool(nb::module_& module) { module.def("run_tool", &run_tool, nb::arg("words")); }

}  // namespace skyrank::python

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "tools/skyrank/commands.hpp"

// Pictures are drawn by the Python package with matplotlib, which takes the place of this process.
namespace skyrank::tools {
namespace {

// The folder in which the program runs is no place to look for modules.
constexpr const char* kProgram = R"(import sys
sys.path = [folder for folder in sys.path if folder]
try:
    from skyrank.__main__ import main
except ImportError as error:
    print(f"skyrank: plot needs SkyRank's Python package, which {sys.executable} cannot import ({error}): pip install "
          "'.[files,plot]' in a clone installs it; SKYRANK_PYTHON names another Python", file=sys.stderr)
    sys.exit(1)
sys.exit(main(sys.argv[1:]))
)";

/// Undoes what `Signals` does to this process and a program in its place would keep.
void restore_signals() {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

int plot(const PlotArguments& arguments, Console& console, Signals& signals) {
  const char* const chosen = std::getenv("SKYRANK_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  std::vector<std::string> words = {python, "-c", kProgram, "plot", "--kind=" + arguments.kind};
  if (!arguments.out.empty()) words.push_back("--out=" + arguments.out.string());
  if (arguments.max_rows) words.push_back(fmt::format("--max-rows={}", *arguments.max_rows));
  words.insert(words.end(), {"--", arguments.batch.string(), arguments.query});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  console.flush();
  signals.check();
  restore_signals();
  ::execvp(python.c_str(), argv.data());
  throw ResourceError(
      fmt::format("plot needs Python 3 with SkyRank's package and matplotlib, and '{}' cannot be run: {}; "
                  "SKYRANK_PYTHON names another program",
                  python, std::generic_category().message(errno)));
}

}  // namespace skyrank::tools

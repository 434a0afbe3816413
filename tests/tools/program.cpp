#include "tests/tools/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace skyrank::testing {
namespace {

/// The ends of a process's outputs: the test reads, the process writes.
struct Outputs {
  std::array<int, 2> read_ends{-1, -1};
  std::array<int, 2> write_ends{-1, -1};
};

Outputs make_pipes() {
  Outputs outputs;
  for (std::size_t i = 0; i < 2; ++i) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    outputs.read_ends[i] = ends[0];
    outputs.write_ends[i] = ends[1];
  }
  return outputs;
}

Outputs make_terminal() {
  Outputs outputs;
  const winsize size = {.ws_row = 40, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  if (openpty(&outputs.read_ends[0], &outputs.write_ends[0], nullptr, nullptr, &size) != 0) {
    throw std::runtime_error("openpty failed");
  }
  fcntl(outputs.read_ends[0], F_SETFD, FD_CLOEXEC);
  outputs.write_ends[1] = fcntl(outputs.write_ends[0], F_DUPFD_CLOEXEC, 0);
  return outputs;
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const ProgramOptions& options, const Outputs& outputs) {
  dup2(outputs.write_ends[0], STDOUT_FILENO);
  dup2(outputs.write_ends[1], STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  for (const std::string& variable : options.environment) putenv(strdup(variable.c_str()));
  if (options.in_child) options.in_child();
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  _exit(127);
}

/// False at the end of the output; a terminal without writers ends in an error.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t n = read(descriptor, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0;
}

void follow(pid_t child, const Outputs& outputs, const ProgramOptions& options, Outcome& outcome) {
  std::array<pollfd, 2> ends = {pollfd{outputs.read_ends[0], POLLIN, 0}, pollfd{outputs.read_ends[1], POLLIN, 0}};
  std::array<std::string*, 2> texts = {&outcome.out, &outcome.err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (options.while_it_runs) options.while_it_runs(child, outcome);
    if (poll(ends.data(), ends.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0 || read_some(ends[i].fd, *texts[i])) continue;
      close(ends[i].fd);
      ends[i].fd = -1;
    }
  }
}

}  // namespace

const std::string& skyrank_program() {
  static const std::string program = SKYRANK_PROGRAM;
  return program;
}

Outcome run_skyrank(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  return run_program(skyrank_program(), arguments, options);
}

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const ProgramOptions& options) {
  const Outputs outputs = options.terminal ? make_terminal() : make_pipes();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(program, arguments, options, outputs);
  for (const int end : outputs.write_ends) close(end);
  Outcome outcome;
  follow(child, outputs, options, outcome);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  outcome.peak_bytes = std::int64_t{1024} * used.ru_maxrss;
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "skyrank-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
  return (path_ / name).string();
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace skyrank::testing

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// Runs the built command line as its users do: as a process of its own.
namespace skyrank::testing {

struct Outcome {
  int status = -1;  ///< exit status; -1 when a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  ///< the most memory it had at a time
};

struct ProgramOptions {
  std::filesystem::path folder;          ///< to run in; empty: the test's own
  std::vector<std::string> environment;  ///< "NAME=value", added to the test's own
  bool terminal = false;                 ///< both outputs on a terminal of 100 columns; all of it is in Outcome::out
  std::function<void()> in_child;        ///< between fork and exec, such as setrlimit
  /// After the start, and whenever output came: the process, and its output so far.
  std::function<void(pid_t, const Outcome&)> while_it_runs;
};

/// The program under test.
const std::string& skyrank_program();

/// `skyrank ARGUMENTS`, to its end.
Outcome run_skyrank(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

/// `program ARGUMENTS` for any program on the PATH.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const ProgramOptions& options = {});

/// A fresh folder for one test, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  /// Names of what is in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& file);

}  // namespace skyrank::testing

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/build.hpp"
#include "tests/tools/program.hpp"

// SIGINT, SIGTERM and SIGHUP end the tool soon, with an exit status that tells the signal, and leave nothing behind, in
// whichever phase they come, and when they come twice.
namespace skyrank::testing {
namespace {

using ::testing::AnyOf;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// About 80 ms on an idle machine, whose half is the tool's grace.
constexpr Milliseconds kSoon(tests::kSanitized ? 3000 : 500);
// By far too long for the work that goes on, so that it was the signal that ended it.
constexpr Milliseconds kLatest(5000);

const std::vector<std::string> kFormats = {"csv", "jsonl", "parquet", "arrow"};

constexpr const char* kBatch = R"(version: 1
tables:
  points: {generate: {distribution: uniform, rows: 150000, dims: 6, seed: 1}}
queries:
  - {name: long, from: points, rank_by: {low: c0}}
)";

struct End {
  int status = -1;  ///< exit status, or 128 and the number of the signal that ended it
  Milliseconds after{0};
};

/// The tool under way, with its outputs going where the test says.
class Running {
 public:
  Running(const std::vector<std::string>& arguments, const std::string& out, const std::string& err) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), skyrank_program());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK, 0644), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0644), STDERR_FILENO);
    fcntl(STDOUT_FILENO, F_SETFL, 0);
    execv(argv[0], argv.data());
    _exit(127);
  }
  explicit Running(const std::vector<std::string>& arguments) : Running(arguments, "/dev/null", "/dev/null") {}
  ~Running() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t process() const { return process_; }
  void send(int number) const { kill(process_, number); }

  /// How it ended and how long that took; nothing where it did not for long.
  std::optional<End> wait() {
    const Clock::time_point begin = Clock::now();
    int status = 0;
    while (waitpid(process_, &status, WNOHANG) == 0) {
      if (Clock::now() - begin > 30s) return std::nullopt;
      std::this_thread::sleep_for(500us);
    }
    process_ = 0;
    return End{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), Clock::now() - begin};
  }

  /// Returns true if one of its open files is below a folder; those without a name too.
  bool has_open(const std::filesystem::path& folder) const {
    std::error_code error;
    const std::string files = "/proc/" + std::to_string(process_) + "/fd";
    for (std::filesystem::directory_iterator file(files, error), end; !error && file != end; file.increment(error)) {
      std::error_code closed;
      const std::filesystem::path target = std::filesystem::read_symlink(file->path(), closed);
      if (!closed && target.string().starts_with(folder.string() + "/")) return true;
    }
    return false;
  }

 private:
  pid_t process_ = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Times of a run that does nothing, taken between others: they say how busy the machine is.
class Yardstick {
 public:
  void take() {
    Running nothing({"--version"});
    const auto end = nothing.wait();
    ASSERT_TRUE(end);
    times_.push_back(end->after.count());
  }

  /// Milliseconds in which most runs end after a signal. An idle machine takes some 10 ms for a run that does nothing.
  double soon() const { return kSoon.count() + 20 * median(times_); }

 private:
  std::vector<double> times_;
};

std::vector<std::string> file_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

template <class Condition>
bool wait_for(const Condition& condition) {
  const Clock::time_point until = Clock::now() + 30s;
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// A command that writes one file, and what the file is called.
struct Writing {
  std::vector<std::string> arguments;
  std::string file;
};

std::vector<Writing> all_writing(const TemporaryFolder& folder, const std::string& out) {
  const std::string batch = folder.write("long.yaml", kBatch);
  std::vector<Writing> all;
  for (const std::string& format : kFormats) {
    all.push_back({{"run", batch, "--out", out, "--format", format}, "long." + format});
    all.push_back({{"generate", "--distribution", "independent", "--rows", "150000", "--dims", "6", "--out",
                    out + "/points." + format},
                   "points." + format});
  }
  return all;
}

TEST(SignalsTest, WhileOutputIsWritten) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  std::filesystem::create_directory(out);
  std::vector<double> times;
  Yardstick yardstick;
  for (const Writing& writing : all_writing(folder, out)) {
    yardstick.take();
    for (const bool twice : {false, true}) {
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        for (const std::string& left : file_names(out)) std::filesystem::remove(out + "/" + left);
        Running tool(writing.arguments);
        ASSERT_TRUE(wait_for([&] { return tool.has_open(out) || kill(tool.process(), 0) != 0; }));
        tool.send(number);
        if (twice) {
          std::this_thread::sleep_for(2ms);
          tool.send(number);
        }
        const auto end = tool.wait();
        ASSERT_TRUE(end) << writing.file << " did not end";
        EXPECT_THAT(end->status, AnyOf(0, 128 + number)) << writing.file;
        // On a busy machine the signal may come when the file is already whole and has its name.
        if (std::filesystem::exists(out + "/" + writing.file)) {
          EXPECT_EQ(file_names(out), std::vector{writing.file});
          continue;
        }
        EXPECT_NE(end->status, 0) << writing.file << ": no file, and no word about it";
        EXPECT_TRUE(std::filesystem::is_empty(out)) << writing.file;
        EXPECT_LT(end->after, kLatest) << writing.file;
        times.push_back(end->after.count());
      }
    }
  }
  ASSERT_GT(times.size(), all_writing(folder, out).size()) << "hardly ever while output was written";
  EXPECT_LT(median(times), yardstick.soon());
}

TEST(SignalsTest, AtAnyTimeLeaveNothingHalfWritten) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  std::filesystem::create_directory(out);
  const std::string batch = folder.write("long.yaml", kBatch);
  std::vector<Writing> commands = all_writing(folder, out);
  commands.push_back({{"run", batch, "--format", "csv"}, ""});
  commands.push_back({{"run", batch, "--json"}, ""});
  commands.push_back({{"run", batch}, ""});
  commands.push_back({{"explain", batch, "--analyze"}, ""});
  commands.push_back({{"check", batch}, ""});
  struct Whole {
    Writing command;
    Milliseconds time;
    std::string content;
  };
  std::vector<Whole> all;
  for (const Writing& command : commands) {
    Running tool(command.arguments);
    const auto end = tool.wait();
    ASSERT_TRUE(end);
    ASSERT_EQ(end->status, 0) << command.arguments[0];
    all.push_back({command, end->after, command.file.empty() ? "" : read_file(out + "/" + command.file)});
  }
  std::mt19937 random(1);
  std::vector<double> times;
  Yardstick yardstick;
  const Clock::time_point begin = Clock::now();
  constexpr std::size_t kEnough = 300;
  constexpr std::size_t kRounds = tests::kSanitized ? 1 : 4;
  constexpr std::chrono::seconds kLong = tests::kSanitized ? 4s : 12s;
  for (std::size_t i = 0; i < kEnough && (i < kRounds * all.size() || Clock::now() - begin < kLong); ++i) {
    const Whole& whole = all[i % all.size()];
    if (i % all.size() == 0) yardstick.take();
    const std::string file = out + "/" + whole.command.file;
    if (!whole.command.file.empty()) std::filesystem::remove(file);
    const int number = random() % 2 == 0 ? SIGINT : SIGTERM;
    const double moment = std::uniform_real_distribution<double>(0, whole.time.count())(random);
    Running tool(whole.command.arguments);
    std::this_thread::sleep_for(Milliseconds(moment));
    tool.send(number);
    if (random() % 2 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
      tool.send(random() % 2 == 0 ? SIGINT : SIGTERM);
    }
    const auto end = tool.wait();
    const std::string what = whole.command.arguments[0] + " " + whole.command.file + " at " + std::to_string(moment);
    ASSERT_TRUE(end) << what << " did not end";
    EXPECT_THAT(end->status, AnyOf(0, 130, 143)) << what;
    EXPECT_LT(end->after, kLatest) << what;
    if (whole.command.file.empty() || !std::filesystem::exists(file)) {
      EXPECT_NE(whole.command.file.empty() ? 1 : end->status, 0) << what << ": no file, and no word about it";
    } else {
      EXPECT_TRUE(read_file(file) == whole.content) << what << " is not whole";
    }
    for (const std::string& name : file_names(out)) EXPECT_FALSE(name.starts_with(".")) << what << " left " << name;
    if (end->status != 0) times.push_back(end->after.count());
  }
  std::cout << "[          ] " << times.size() << " runs were ended\n";
  ASSERT_GT(3 * times.size(), kRounds * all.size());  // most signals come before the end
  RecordProperty("median_ms", std::to_string(median(times)));
  RecordProperty("worst_ms", std::to_string(*std::ranges::max_element(times)));
  EXPECT_LT(median(times), yardstick.soon());
}

/// Sends a signal to a tool that waits for somebody else, and expects its end.
void expect_end(Running& tool, int number) {
  std::this_thread::sleep_for(300ms);
  tool.send(number);
  const auto end = tool.wait();
  ASSERT_TRUE(end) << "it did not end";
  EXPECT_EQ(end->status, 128 + number);
  EXPECT_LT(end->after, kLatest);
}

TEST(SignalsTest, WhileASourceDeliversNothing) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "points.csv";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string batch = folder.write("slow.yaml", R"(version: 1
tables: {points: {file: points.csv}}
queries: [{name: best, from: points, rank_by: {low: c0}, limit: 3}]
)");
  for (const std::string command : {"run", "check", "explain"}) {
    for (const bool opened : {false, true}) {
      const int writer = opened ? open(pipe.c_str(), O_RDWR) : -1;
      if (opened) {
        ASSERT_EQ(write(writer, "c0\n1\n", 5), 5);
      }
      Running tool({command, batch});
      expect_end(tool, SIGINT);
      close(writer);
    }
  }
}

TEST(SignalsTest, WhileNobodyReadsTheOutput) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kBatch);
  const std::string pipe = folder / "pipe.csv";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> generate = {"generate", "--distribution", "uniform", "--rows",
                                             "300000",   "--out",          pipe};
  {
    Running unopened(generate);
    expect_end(unopened, SIGTERM);
  }
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  {
    Running full(generate);
    expect_end(full, SIGINT);
  }
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", batch}, {"run", batch, "--format", "jsonl"}, {"run", batch, "--json"}}) {
    Running printing(arguments, pipe, "/dev/null");
    ASSERT_TRUE(wait_for([&] {
      int bytes = 0;
      return ioctl(reader, FIONREAD, &bytes) == 0 && bytes >= 60'000;
    }));
    expect_end(printing, SIGINT);
    std::string all(1 << 20, '\0');
    while (read(reader, all.data(), all.size()) > 0) continue;
  }
  close(reader);
}

TEST(SignalsTest, OnATerminalTheStatusLineIsRemoved) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kBatch);
  ProgramOptions options;
  options.terminal = true;
  options.while_it_runs = [sent = false](pid_t process, const Outcome& outcome) mutable {
    if (sent || outcome.out.find("generating points") == std::string::npos) return;
    kill(process, SIGINT);
    sent = true;
  };
  const Outcome outcome = run_skyrank({"run", batch, "--set", "points.generate.rows=200000000"}, options);
  EXPECT_EQ(outcome.status, 130);
  const std::size_t line = outcome.out.rfind("generating points");
  ASSERT_NE(line, std::string::npos);
  const std::size_t removed = outcome.out.find("\r\x1b[K", line);
  ASSERT_NE(removed, std::string::npos);
  EXPECT_THAT(outcome.out.substr(removed), ::testing::HasSubstr("cancelled\r\n"));
}

}  // namespace
}  // namespace skyrank::testing

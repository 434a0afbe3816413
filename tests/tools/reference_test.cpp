#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/tools/program.hpp"

// Tests what the program tells of itself: completions, in the shells that they are for, and the manual page.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Words = std::vector<std::string>;

std::string printed(const Words& arguments) {
  const Outcome outcome = run_skyrank(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

Words lines(const std::string& text) {
  Words result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

bool has_program(const std::string& name) { return run_program("sh", {"-c", "command -v " + name}).status == 0; }

/// Every option that the help of the program and of its commands shows, by command.
std::set<std::pair<std::string, std::string>> options_in_helps() {
  std::set<std::pair<std::string, std::string>> result;
  const auto add = [&](const std::string& command, const std::string& help) {
    const std::regex option("(^|[ ,])(--[a-z-]+)");
    const std::string options = help.substr(0, help.find("\nExample:"));
    for (std::sregex_iterator it(options.begin(), options.end(), option), end; it != end; ++it) {
      if (it->str(2) != "--list" && it->str(2) != "--rules") result.emplace(command, it->str(2));
    }
  };
  for (const std::string command : {"run", "check", "explain", "why", "watch", "plot", "sql", "show", "generate",
                                    "algorithms", "bench", "calibrate", "completion", "man"}) {
    add(command, printed({command, "--help"}));
  }
  return result;
}

class BashCompletion : public ::testing::Test {
 protected:
  BashCompletion() { script_ = folder_.write("completion.bash", printed({"completion", "bash"})); }

  /// Returns what bash offers at the end of a line of these words.
  Words offers(const Words& words) {
    Words arguments = {"--norc", "-c",
                       "source \"$0\" && COMP_WORDS=(\"$@\") && COMP_CWORD=$(($# - 1)) && _skyrank && "
                       "printf '%s\\n' \"${COMPREPLY[@]}\"",
                       script_};
    arguments.insert(arguments.end(), words.begin(), words.end());
    ProgramOptions here;
    here.folder = folder_.path();
    const Outcome outcome = run_program("bash", arguments, here);
    EXPECT_EQ(outcome.err, "");
    Words result = lines(outcome.out);
    std::erase(result, "");
    return result;
  }

  TemporaryFolder folder_;
  std::string script_;
};

TEST_F(BashCompletion, NamesCommandsOptionsAndValues) {
  EXPECT_THAT(offers({"skyrank", "c"}), ElementsAre("check", "calibrate", "completion"));
  EXPECT_THAT(offers({"skyrank", "--v"}), ElementsAre("--version"));
  EXPECT_THAT(offers({"skyrank", "run", "--me"}), ElementsAre("--memory-limit"));
  EXPECT_THAT(offers({"skyrank", "run", "-q"}), ElementsAre("-q"));
  EXPECT_THAT(offers({"skyrank", "run", "--device", ""}), ElementsAre("auto", "cpu", "cuda"));
  EXPECT_THAT(offers({"skyrank", "run", "--device", "=", "cu"}), ElementsAre("cuda"));
  EXPECT_THAT(offers({"skyrank", "run", "--device", "="}), ElementsAre("auto", "cpu", "cuda"));
  EXPECT_THAT(offers({"skyrank", "generate", "--format", ""}), ElementsAre("csv", "jsonl", "parquet", "arrow"));
  EXPECT_THAT(offers({"skyrank", "generate", "--distribution", "anti"}), ElementsAre("anticorrelated"));
  EXPECT_THAT(offers({"skyrank", "bench", "grid.yaml", "--algorithms", "sfs,sort,he"}), ElementsAre("sfs,sort,heap"));
  EXPECT_THAT(offers({"skyrank", "completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offers({"skyrank", "run", "--threads", ""}), IsEmpty());
  EXPECT_THAT(offers({"skyrank", "nonsense", "--"}), IsEmpty());
}

TEST_F(BashCompletion, NamesFiles) {
  folder_.write("best hotels.yaml", "");
  EXPECT_THAT(offers({"skyrank", "run", "be"}), ElementsAre("best hotels.yaml"));
  EXPECT_THAT(offers({"skyrank", "run", "x.yaml", "--out", "comp"}), ElementsAre("completion.bash"));
}

TEST_F(BashCompletion, KnowsEveryOptionOfEveryCommand) {
  const auto options = options_in_helps();
  ASSERT_GT(options.size(), 40U);
  for (const auto& [command, option] : options) {
    EXPECT_THAT(offers({"skyrank", command, option}), Contains(option)) << command;
  }
}

TEST(FishCompletion, NamesCommandsOptionsAndValues) {
  if (!has_program("fish")) GTEST_SKIP() << "there is no fish";
  const TemporaryFolder folder;
  const std::string script = folder.write("completion.fish", printed({"completion", "fish"}));
  const auto offers = [&](const std::string& line) {
    ProgramOptions options;
    options.environment = {"HOME=" + folder.path().string()};  // where fish keeps what it notes of itself
    const Outcome outcome = run_program(
        "fish", {"--no-config", "-c", "source '" + script + "'; complete -C '" + line + "' | cut -f 1"}, options);
    EXPECT_EQ(outcome.err, "");
    return lines(outcome.out);
  };
  EXPECT_THAT(offers("skyrank c"), IsSupersetOf({"check", "calibrate", "completion"}));
  // Fish 4 offers names with the word inside, too.
  EXPECT_THAT(offers("skyrank run --memo"), AllOf(Contains("--memory-limit"), Each(HasSubstr("memo"))));
  EXPECT_THAT(offers("skyrank run --device "), ElementsAre("auto", "cpu", "cuda"));
  EXPECT_THAT(offers("skyrank completion "), ElementsAre("bash", "fish", "zsh"));
}

TEST(ZshCompletion, TellsZshOfOptionsAndValues) {
  if (!has_program("zsh")) GTEST_SKIP() << "there is no zsh";
  const TemporaryFolder folder;
  const std::string script = folder.write("_skyrank", printed({"completion", "zsh"}));
  // With zsh's own functions replaced, to see what they are told.
  const Outcome outcome =
      run_program("zsh", {"-f", "-c",
                          "compdef() { print -r -- compdef $@ }; _arguments() { print -rl -- $@; state=arguments };"
                          "source \"$0\"; words=(run); _skyrank",
                          script});
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(
      lines(outcome.out),
      IsSupersetOf({"compdef _skyrank skyrank", "1: :->command", ":FILE:_files",
                    "(-q --quiet)-q[No warnings, no progress, no lines on sizes and times]",
                    "--device[Where to compute\\: auto, cpu or cuda (default\\: auto)]:DEVICE:(auto cpu cuda)"}));
}

TEST(ManualPage, TellsOfEveryCommandAndOption) {
  const std::string page = printed({"man"});
  EXPECT_THAT(page,
              AllOf(HasSubstr(".TH SKYRANK 1"), HasSubstr("\n.SH EXIT STATUS\n"), HasSubstr("skyrank \\- answers")));
  for (const auto& [command, option] : options_in_helps()) {
    const std::size_t start = page.find("\n.SS " + command + "\n");
    ASSERT_NE(start, std::string::npos) << command;
    const std::string section = page.substr(start, page.find("\n.S", start + 1) - start);
    EXPECT_THAT(section, HasSubstr(std::regex_replace(option, std::regex("-"), "\\-") + "\\fR")) << command;
  }
}

TEST(ManualPage, IsSetWithoutAWarning) {
  if (!has_program("groff")) GTEST_SKIP() << "there is no groff";
  const TemporaryFolder folder;
  const std::string page = folder.write("skyrank.1", printed({"man"}));
  const Outcome outcome = run_program("groff", {"-man", "-ww", "-Tascii", "-P-cbu", page});
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("SKYRANK(1)"), HasSubstr("--memory-limit"),
                    HasSubstr("Check a batch against its tables' columns without running it."), Not(HasSubstr("\\-"))));
}

TEST(Completion, RefusesOtherShells) {
  const Outcome outcome = run_skyrank({"completion", "bsh"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "skyrank: completion: 'bsh' is not one of bash, zsh, fish; did you mean 'bash'?\n");
}

}  // namespace
}  // namespace skyrank::testing

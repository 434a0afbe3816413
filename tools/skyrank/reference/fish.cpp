#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/skyrank/reference/reference.hpp"

namespace skyrank::tools {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// The switches of `complete` for a value: -x takes no file names, -r -F takes them.
std::string value_switches(const OptionReference& option) {
  if (option.value.empty()) return {};
  if (option.is_path()) return " -r -F";
  if (option.choices.empty()) return " -x";
  return fmt::format(" -x -a {}", in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
}

std::string option_line(const OptionReference& option, std::string_view condition) {
  std::string names;
  for (const std::string& name : option.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return fmt::format("complete -c skyrank -n {}{}{} -d {}\n", in_quotes(condition), names, value_switches(option),
                     in_quotes(option.description));
}

std::string argument_line(const OptionReference& argument, std::string_view condition) {
  if (argument.is_path()) return fmt::format("complete -c skyrank -n {} -F\n", in_quotes(condition));
  if (argument.choices.empty()) return {};
  return fmt::format("complete -c skyrank -n {} -a {}\n", in_quotes(condition),
                     in_quotes(fmt::format("{}", fmt::join(argument.choices, " "))));
}

}  // namespace

std::string fish_completion(const Reference& reference) {
  std::string text = "# Completion of skyrank for fish. Made by: skyrank completion fish\ncomplete -c skyrank -f\n";
  constexpr std::string_view kBefore = "__fish_use_subcommand";
  for (const OptionReference& option : reference.options) text += option_line(option, kBefore);
  for (const CommandReference& command : reference.commands) {
    text += fmt::format("complete -c skyrank -n {} -a {} -d {}\n", in_quotes(kBefore), command.name,
                        in_quotes(command.description));
  }
  for (const CommandReference& command : reference.commands) {
    const std::string within = "__fish_seen_subcommand_from " + command.name;
    for (const OptionReference& option : command.options) text += option_line(option, within);
    for (const OptionReference& argument : command.arguments) text += argument_line(argument, within);
  }
  return text;
}

}  // namespace skyrank::tools

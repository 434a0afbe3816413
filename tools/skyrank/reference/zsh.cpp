#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/skyrank/reference/reference.hpp"

namespace skyrank::tools {
namespace {

constexpr std::string_view kZshStart = R"(#compdef skyrank
# Completion of skyrank for zsh. Made by: skyrank completion zsh
_skyrank() {
  local curcontext=$curcontext state line
  local -a commands
)";

constexpr std::string_view kZshEnd = R"(
if [[ $funcstack[1] == _skyrank ]]; then
  _skyrank "$@"
else
  compdef _skyrank skyrank
fi
)";

std::string in_zsh_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Puts a backslash before what `_arguments` and `_describe` take for syntax.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

/// ":message:action" for the value of an option or an argument.
std::string value_spec(const OptionReference& option) {
  std::string action = " ";
  if (option.is_path()) action = "_files";
  if (!option.choices.empty()) {
    action = option.delimiter == 0
                 ? fmt::format("({})", fmt::join(option.choices, " "))
                 : fmt::format("_values -s {} {} {}", option.delimiter, option.value.substr(0, option.value.find(',')),
                               fmt::join(option.choices, " "));
  }
  return fmt::format(":{}:{}", escaped(option.value), action);
}

/// One argument of `_arguments` a name; another name of the same option excludes it.
std::string option_specs(const OptionReference& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const std::string before = option.is_repeated         ? "*"
                               : option.names.size() == 1 ? ""
                                                          : fmt::format("({})", fmt::join(option.names, " "));
    const std::string spec = fmt::format("{}{}[{}]{}", before, name, escaped(option.description),
                                         option.value.empty() ? "" : value_spec(option));
    text += " \\\n            " + in_zsh_quotes(spec);
  }
  return text;
}

std::string command_case(const CommandReference& command) {
  std::string text = fmt::format("        {})\n          _arguments", command.name);
  for (const OptionReference& option : command.options) text += option_specs(option);
  for (const OptionReference& argument : command.arguments)
    text += " \\\n            " + in_zsh_quotes(value_spec(argument));
  return text + " ;;\n";
}

}  // namespace

std::string zsh_completion(const Reference& reference) {
  std::string commands;
  std::string cases;
  for (const CommandReference& command : reference.commands) {
    commands += "    " + in_zsh_quotes(escaped(command.name) + ":" + escaped(command.description)) + "\n";
    cases += command_case(command);
  }
  std::string options;
  for (const OptionReference& option : reference.options) options += option_specs(option);
  return fmt::format(
      "{}  commands=(\n{}  )\n  _arguments -C{} \\\n            '1: :->command' \\\n            '*:: :->arguments'\n"
      "  case $state in\n    command) _describe -t commands 'command of skyrank' commands ;;\n    arguments)\n"
      "      case $words[1] in\n{}      esac ;;\n  esac\n}}\n{}",
      kZshStart, commands, options, cases, kZshEnd);
}

}  // namespace skyrank::tools

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/skyrank/reference/reference.hpp"

namespace skyrank::tools {
namespace {

constexpr std::string_view kStart = R"(# Completion of skyrank for bash. Made by: skyrank completion bash
_skyrank_words() { mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1"); }
_skyrank_list() {
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "${1%"${1##*,}"}" -W "$2" -- "${1##*,}")
}
_skyrank_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}
_skyrank() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word != -* ]]; then
      command=$word
      break
    fi
  done
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

constexpr std::string_view kEnd = R"(}
complete -F _skyrank skyrank
)";

std::string from_words(const std::vector<std::string>& words) {
  return fmt::format("_skyrank_words \"$current\" \"{}\"", fmt::join(words, " "));
}

/// The command that completes a value; ':' where any text is right.
std::string value_completion(const OptionReference& option) {
  if (option.is_path()) return "_skyrank_paths \"$current\"";
  if (option.choices.empty()) return ":";
  if (option.delimiter == 0) return from_words(option.choices);
  return fmt::format("_skyrank_list \"$current\" \"{}\"", fmt::join(option.choices, " "));
}

std::string option_values(const CommandReference& command) {
  std::string text;
  for (const OptionReference& option : command.options) {
    if (option.value.empty()) continue;
    std::string patterns;
    for (const std::string& name : option.names) {
      patterns += fmt::format("{}\"{} {}\"", patterns.empty() ? "" : " | ", command.name, name);
    }
    text += fmt::format("    {}) {}; return ;;\n", patterns, value_completion(option));
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<OptionReference>& options) {
  std::vector<std::string> names;
  for (const OptionReference& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

}  // namespace

std::string bash_completion(const Reference& reference) {
  std::vector<std::string> commands;
  std::string values;
  std::string options = fmt::format("      \"\") {} ;;\n", from_words(names_of(reference.options)));
  std::string arguments;
  for (const CommandReference& command : reference.commands) {
    commands.push_back(command.name);
    values += option_values(command);
    options += fmt::format("      {}) {} ;;\n", command.name, from_words(names_of(command.options)));
    if (command.arguments.empty()) continue;
    arguments += fmt::format("      {}) {} ;;\n", command.name, value_completion(command.arguments.front()));
  }
  arguments = fmt::format("      \"\") {} ;;\n", from_words(commands)) + arguments;
  return fmt::format(
      "{}  case \"$command $previous\" in\n{}  esac\n  if [[ $current == -* ]]; then\n"
      "    case $command in\n{}    esac\n  else\n    case $command in\n{}    esac\n  fi\n{}",
      kStart, values, options, arguments, kEnd);
}

}  // namespace skyrank::tools

#include <fmt/format.h>

#include <skyrank/version.hpp>

#include "tools/skyrank/reference/reference.hpp"

namespace skyrank::tools {
namespace {

/// Text that roff shows as it is written.
std::string in_roff(std::string_view text) {
  std::string result;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) result += "\\&";
    at_line_start = c == '\n';
    if (c == '-' || c == '\\') {
      result += c == '-' ? "\\-" : "\\e";
    } else if (c == '"') {
      result += "\\(dq";
    } else if (c == '\'') {
      result += "\\(aq";
    } else {
      result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + in_roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + in_roff(text) + "\\fR"; }

std::string definition(const std::string& term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, in_roff(text));
}

std::string option_entry(const OptionReference& option) {
  std::string term;
  for (const std::string& name : option.names) {
    term += (term.empty() ? "" : ", ") + (name.starts_with('-') ? bold(name) : italic(name));
  }
  if (!option.value.empty() && option.names.front().starts_with('-')) term += " " + italic(option.value);
  return definition(term, option.description);
}

std::string synopsis(const CommandReference& command) {
  std::string text = bold("skyrank " + command.name);
  for (const OptionReference& argument : command.arguments) {
    const std::string name = italic(argument.names.front());
    text += argument.is_required ? " " + name : " [" + name + "]";
  }
  return text + " [" + italic("OPTION") + " ...]";
}

std::string command_section(const CommandReference& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}.\n", in_roff(command.name), synopsis(command), in_roff(command.description));
  for (const OptionReference& argument : command.arguments) text += option_entry(argument);
  for (const OptionReference& option : command.options) text += option_entry(option);
  if (!command.example.empty())
    text += fmt::format(".PP\nExample:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", in_roff(command.example));
  return text;
}

std::string exit_statuses() {
  return ".SH EXIT STATUS\n" + definition("0", "done") +
         definition("1", "the system failed: memory, disk, a device, or a time limit") +
         definition("2", "a mistake in the query, the data or the command line") +
         definition("128 + N", "signal N (SIGINT, SIGTERM, SIGHUP) ended the run");
}

std::string environment() {
  return ".SH ENVIRONMENT\n" + definition(bold("NO_COLOR"), "If it is set and not empty, terminals show no colours.") +
         definition(bold("XDG_CACHE_HOME"),
                    "The folder whose file skyrank/profile.yaml holds what calibrate measured; $HOME/.cache if unset.");
}

}  // namespace

std::string manual_page(const Reference& reference) {
  std::string text = fmt::format(".TH SKYRANK 1 \"\" \"skyrank {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nskyrank \\- answers skyline and top\\-k queries over tables\n";
  text += fmt::format(".SH SYNOPSIS\n{} {} [{} ...]\n", bold("skyrank"), italic("COMMAND"), italic("OPTION"));
  text += fmt::format(
      ".SH DESCRIPTION\n{}\nA query names the rows that no other row beats, the rows that rank highest, or "
      "both in one.\nQueries stand in a YAML file, which is called a batch, or in a statement of SQL.\n",
      in_roff(reference.description));
  text += ".SH OPTIONS\n";
  for (const OptionReference& option : reference.options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandReference& command : reference.commands) text += command_section(command);
  return text + exit_statuses() + environment();
}

}  // namespace skyrank::tools

#pragma once

#include <string>
#include <vector>

#include "tools/skyrank/arguments/arguments.hpp"

// The definition of the command line as plain data, and the texts that are made of it: scripts with which shells
// complete command lines, and the manual page. They cannot differ from what the program takes.
namespace skyrank::tools {

/// An option of a command, or one of its arguments.
struct OptionReference {
  std::vector<std::string> names;  ///< "-q", "--quiet"; of an argument the one in capitals
  std::string value;               ///< name of its value, such as FILE; empty: a flag
  std::string description;
  std::vector<std::string> choices;  ///< all values that it can have; empty: any
  char delimiter = 0;                ///< between the values of a list; 0: it is no list
  bool is_repeated = false;
  bool is_required = false;

  /// Returns true if its value is the name of a file or a folder.
  bool is_path() const { return value == "FILE" || value == "PATH"; }
};

struct CommandReference {
  std::string name;
  std::string description;
  std::string example;
  std::vector<OptionReference> options;
  std::vector<OptionReference> arguments;
};

struct Reference {
  std::string description;
  std::vector<OptionReference> options;  ///< without a command
  std::vector<CommandReference> commands;
};

Reference reference_of(const CLI::App& app, const Arguments& arguments);

std::string bash_completion(const Reference& reference);
std::string zsh_completion(const Reference& reference);
std::string fish_completion(const Reference& reference);

/// The manual page skyrank.1, for man(7) macros.
std::string manual_page(const Reference& reference);

}  // namespace skyrank::tools

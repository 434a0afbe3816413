#include "tools/skyrank/reference/reference.hpp"

namespace skyrank::tools {
namespace {

OptionReference option_of(const CLI::Option& option, const Arguments& arguments) {
  OptionReference result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  const bool is_argument = result.names.empty();
  if (is_argument) result.names.push_back(option.get_name());
  if (is_argument || option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    result.value = type.substr(0, type.find(':'));  // what follows names a check
  }
  result.description = option.get_description();
  if (const auto choices = arguments.choices.find(&option); choices != arguments.choices.end()) {
    result.choices = choices->second();
  }
  result.delimiter = option.get_delimiter();
  result.is_repeated = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  result.is_required = option.get_required();
  return result;
}

CommandReference command_of(const CLI::App& app, const Arguments& arguments) {
  CommandReference result;
  result.name = app.get_name();
  result.description = app.get_description();
  const std::string footer = app.get_footer();
  const std::string heading = "Example:\n  ";
  if (footer.starts_with(heading)) result.example = footer.substr(heading.size(), footer.find("\n\n") - heading.size());
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? result.arguments : result.options).push_back(option_of(*option, arguments));
  }
  return result;
}

}  // namespace

Reference reference_of(const CLI::App& app, const Arguments& arguments) {
  CommandReference program = command_of(app, arguments);
  Reference result;
  result.description = std::move(program.description);
  result.options = std::move(program.options);
  for (const CLI::App* command : app.get_subcommands({})) result.commands.push_back(command_of(*command, arguments));
  return result;
}

}  // namespace skyrank::tools

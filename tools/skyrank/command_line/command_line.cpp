#include <algorithm>
#include <new>
#include <stop_token>

#include "kernels/common/problem.hpp"
#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/log.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/arguments/arguments.hpp"
#include "tools/skyrank/reference/reference.hpp"
#include "tools/skyrank/tables/batch_input.hpp"
#include "tools/skyrank/terminal/last_resort.hpp"

namespace skyrank::tools {
namespace {

int print_completion(const CLI::App& app, const Arguments& arguments, Console& console) {
  const Reference reference = reference_of(app, arguments);
  const std::string& shell = arguments.completion.shell;
  console.print(shell == "bash"  ? bash_completion(reference)
                : shell == "zsh" ? zsh_completion(reference)
                                 : fish_completion(reference));
  console.flush();
  return success;
}

int print_manual(const CLI::App& app, const Arguments& arguments, Console& console) {
  console.print(manual_page(reference_of(app, arguments)));
  console.flush();
  return success;
}

int run_command(const CLI::App& app, const Arguments& arguments, Console& console, Signals& signals) {
  if (app.got_subcommand("run")) return run(arguments.run, console, signals);
  if (app.got_subcommand("check")) return check(arguments.check, console, signals);
  if (app.got_subcommand("explain")) return explain(arguments.explain, console, signals);
  if (app.got_subcommand("why")) return why(arguments.why, console, signals);
  if (app.got_subcommand("watch")) return watch(arguments.watch, console, signals);
  if (app.got_subcommand("plot")) return plot(arguments.plot, console, signals);
  if (app.got_subcommand("sql")) return sql(arguments.sql, console, signals);
  if (app.got_subcommand("shell")) return shell(arguments.shell, console, signals);
  if (app.got_subcommand("show")) return show(arguments.show, console);
  if (app.got_subcommand("describe")) return describe(arguments.describe, console, signals);
  if (app.got_subcommand("generate")) return generate(arguments.generate, console, signals);
  if (app.got_subcommand("algorithms")) return algorithms(arguments.algorithms, console);
  if (app.got_subcommand("calibrate")) return calibrate(arguments.calibrate, console, signals);
  if (app.got_subcommand("bench")) return bench(arguments.bench, console, signals);
  if (app.got_subcommand("completion")) return print_completion(app, arguments, console);
  if (app.got_subcommand("man")) return print_manual(app, arguments, console);
  console.print(app.help());
  console.flush();
  throw UsageError("no command given");
}

/// For programs that read the output, where a command failed before it printed any.
void print_error_document(const std::exception& error, Console& console) {
  if (console.has_printed()) return;
  try {
    console.print(to_text({{"error", to_json(error)}}));
    console.flush();
  } catch (...) {  // the error that matters is already on standard error
  }
}

bool wants_json(const Arguments& arguments) {
  return arguments.run.json || arguments.sql.run.json || arguments.check.json || arguments.explain.json ||
         arguments.why.json || arguments.describe.json || arguments.algorithms.json;
}

/// CLI11 reports by exception, help and version too.
int report_parse(const CLI::App& app, const CLI::ParseError& error, Console& console) {
  if (dynamic_cast<const CLI::Success*>(&error) == nullptr) {
    console.complain(error.what());
    return user_mistake;
  }
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    console.print(app.help());
  } else {
    console.print(std::string(error.what()) + "\n");
  }
  console.flush();
  return success;
}

int parse_and_run(CLI::App& app, Arguments& arguments, int argc, const char* const* argv, Console& console,
                  Signals& signals) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error, console);
  }
  settle(app, arguments);
  console.set_quiet(arguments.quiet);
  if (arguments.run.logs) console.set_log(log_line);
  return run_command(app, arguments, console, signals);
}

int report_cancelled(const CancelledError& error, const Arguments& arguments, Console& console, Signals& signals) {
  signals.set_reported();
  console.complain(error.what());
  if (wants_json(arguments)) print_error_document(error, console);
  const int status = signals.exit_status();
  return status == 0 ? system_failure : status;
}

int run_until_signal(Arguments& arguments, int argc, const char* const* argv, Console& console,
                     std::stop_source& stop) {
  Signals signals(stop);  // before any other thread
  try {
    CLI::App app("Answers skyline and top-k queries over tables.");
    define(app, arguments);
    return parse_and_run(app, arguments, argc, argv, console, signals);
  } catch (const CancelledError& error) {
    return report_cancelled(error, arguments, console, signals);
  } catch (const kernels::Cancelled&) {  // of a loop that no query guards
    return report_cancelled(CancelledError("cancelled"), arguments, console, signals);
  }
}

}  // namespace

ExitStatus exit_status(const std::exception& error) {
  const bool mistake =
      dynamic_cast<const UsageError*>(&error) != nullptr || dynamic_cast<const QueryError*>(&error) != nullptr ||
      dynamic_cast<const BindError*>(&error) != nullptr || dynamic_cast<const DataError*>(&error) != nullptr;
  return mistake ? user_mistake : system_failure;
}

ExitStatus worse(ExitStatus a, ExitStatus b) {
  if (a == system_failure || b == system_failure) return system_failure;
  return std::max(a, b);
}

namespace {

int run_and_report(Arguments& arguments, int argc, const char* const* argv, Console& console, std::stop_source& stop) {
  try {
    return run_until_signal(arguments, argc, argv, console, stop);
  } catch (const OutputClosed&) {
    return system_failure;
  } catch (const std::bad_alloc&) {
    console.complain("out of memory");
    return system_failure;
  } catch (const BatchMistakes& mistakes) {
    SortedErrors errors;
    for (const QueryError& mistake : mistakes.all()) errors.add(mistake);
    errors.show(console);
    if (wants_json(arguments)) print_error_document(mistakes, console);
    return exit_status(mistakes);
  } catch (const std::exception& error) {
    console.complain(error.what());
    if (wants_json(arguments)) print_error_document(error, console);
    return exit_status(error);
  }
}

}  // namespace

int main(int argc, const char* const* argv) {
  install_last_resort();
  std::stop_source stop;
  Console console(stop.get_token());
  Arguments arguments;
  const int status = run_and_report(arguments, argc, argv, console, stop);
  log_end(console, status);
  return status;
}

}  // namespace skyrank::tools

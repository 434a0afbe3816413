#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/source.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"
#include "kernels/common/problem.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/shell/line_editor.hpp"
#include "tools/skyrank/tables/sql_batch.hpp"

// Runs the interactive shell: commands that begin with a point, and statements of SQL over any number of lines.
namespace skyrank::tools {
namespace {

constexpr std::string_view kHelp =
    "Statements of SQL end in ';' and may stand on several lines. Other lines begin with '.':\n"
    "  .tables               lists the tables\n"
    "  .schema [TABLE]       shows the columns of a table or a file, or of all tables\n"
    "  .open [NAME=]FILE     adds a table\n"
    "  .explain STATEMENT    shows how a statement would be answered\n"
    "  .analyze STATEMENT    answers it, and shows measured beside predicted\n"
    "  .help                 shows this\n"
    "  .quit                 ends the shell, as the end of the input does\n"
    "Ctrl-C ends a query, and leaves out what is typed.\n";

/// The words that statements are made of, for completion.
constexpr std::string_view kWords[] = {
    "SELECT",   "DISTINCT",  "FROM",       "WHERE",    "GROUP BY",  "HAVING",     "ORDER BY",     "LIMIT",
    "OFFSET",   "WITH",      "TIES",       "AND",      "OR",        "NOT",        "IN",           "BETWEEN",
    "LIKE",     "IS NULL",   "AS",         "ASC",      "DESC",      "CASE",       "WHEN",         "THEN",
    "ELSE",     "END",       "COUNT(",     "CAST(",    "ESCAPE",    "SUM(",       "MIN(",         "MAX(",
    "AVG(",     "COALESCE(", "AGGREGATE",  "LOW",      "HIGH",      "PREFERRING", "AROUND",       "PLUS",
    "PRIOR TO", "INVERSE",   "SKYLINE OF", "LEVELS",   "AT LEAST",  "SKYBAND",    "PARTITION BY", "PICK",
    "STEP",     "WEIGHTED",  "QUALIFY",    "FEASIBLE", "VIOLATION", "OPTIONS (",  "NULLS LAST"};
constexpr std::string_view kCommands[] = {".analyze", ".explain", ".help", ".open", ".quit", ".schema", ".tables"};

bool begins_with(std::string_view word, std::string_view beginning) {
  return word.size() >= beginning.size() && query::equal_ignoring_case(word.substr(0, beginning.size()), beginning);
}

/// Returns the text without spaces around it.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

class Shell {
 public:
  Shell(const ShellArguments& arguments, Console& console, Signals& signals)
      : arguments_(arguments),
        console_(console),
        signals_(signals),
        scope_{.arguments = arguments.sql, .standard_input_is_taken = true} {
    for (const std::string& file : arguments.files) add_table(file);
  }

  int run() {
    // SIGINT ends a script, as everywhere; a person goes on.
    const bool goes_on = isatty(STDIN_FILENO) != 0;
    if (goes_on) signals_.begin_query();
    const auto editor = make_line_editor(signals_, [this](std::string_view text) { return completions(text); });
    if (goes_on) console_.note("SkyRank's shell: statements end in ';', and .help tells more.\n");
    while (!quits_) {
      console_.flush();
      if (goes_on) signals_.begin_query();
      const LineRead line = editor->read(text_.empty() ? "skyrank> " : "    ...> ");
      if (line.kind == LineRead::Kind::end) break;
      if (line.kind == LineRead::Kind::interrupted) {
        text_.clear();
        continue;
      }
      if (goes_on) signals_.begin_query();
      take(line.text, *editor);
    }
    if (signals_.exit_status() != 0) throw CancelledError("cancelled");
    if (!quits_ && !trimmed(text_).empty()) answer(text_);  // the last one needs no ';'
    console_.flush();
    return status_;
  }

 private:
  void take(const std::string& line, LineEditor& editor) {
    const bool is_command = text_.empty() && trimmed(line).starts_with('.');
    if (is_command) {
      editor.remember(line);
      return command(trimmed(line));
    }
    if (text_.empty() && trimmed(line).empty()) return;
    text_ += line + "\n";
    if (line.find(';') == std::string::npos) return;
    const StatementParts parts = split_statements(text_);
    if (parts.complete.empty() && parts.rest < text_.size()) return;
    const std::string complete = text_.substr(0, parts.rest);
    text_.erase(0, parts.rest);
    editor.remember(on_one_line(complete));
    for (const auto& [begin, end] : parts.complete) answer(complete.substr(begin, end - begin));
  }

  /// Returns statements as the history has them.
  static std::string on_one_line(const std::string& text) {
    std::optional<std::size_t> open_comment;
    std::string line = query::without_comments(text, open_comment);
    std::ranges::replace(line, '\n', ' ');
    return std::string(trimmed(line));
  }

  void answer(const std::string& statement) {
    SqlArguments how = arguments_.sql;
    how.explain = explains_;
    how.analyze = analyzes_;
    explains_ = analyzes_ = false;
    attempt([&] { return answer_statements(batch_of(statement, scope_), how, console_, signals_); });
  }

  void command(std::string_view line) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    std::string word(line.substr(0, end));
    if (word.ends_with(';')) word.pop_back();
    const std::string rest(trimmed(line.substr(end)));
    attempt([&]() -> int {
      if (word == ".quit" || word == ".exit") {
        quits_ = true;
      } else if (word == ".help") {
        console_.print(kHelp);
      } else if (word == ".tables") {
        for (const TableSpec& table : scope_.tables) {
          console_.print(fmt::format("{}  {}\n", console_.strong(table.name), table.files.front()));
        }
      } else if (word == ".open") {
        if (rest.empty()) throw UsageError(".open needs a file, or NAME=FILE");
        add_table(rest);
      } else if (word == ".schema") {
        return show_schema(rest);
      } else if (word == ".explain" || word == ".analyze") {
        if (rest.empty()) throw UsageError(word + " needs a statement");
        explain(rest, word == ".analyze");
      } else {
        const std::vector<std::string> known(std::begin(kCommands), std::end(kCommands));
        throw UsageError(
            fmt::format("there is no command '{}'{}; .help lists them", word, query::did_you_mean(word, known)));
      }
      return success;
    });
  }

  /// A statement that does not end in ';' goes on behind.
  void explain(const std::string& statement, bool analyzes) {
    (analyzes ? analyzes_ : explains_) = true;
    const StatementParts parts = split_statements(statement);
    if (parts.complete.empty()) {
      text_ = statement + "\n";
      return;
    }
    const auto [begin, end] = parts.complete.front();
    answer(statement.substr(begin, end - begin));
  }

  int show_schema(std::string name) {
    if (name.ends_with(';')) name.pop_back();
    std::vector<std::string> files;
    for (const TableSpec& table : scope_.tables) {
      if (name.empty() || table.name == name) files.push_back(table.files.front());
    }
    if (files.empty() && !name.empty()) {
      const bool is_quoted =
          name.size() > 1 && (name.front() == '\'' || name.front() == '"') && name.back() == name.front();
      files.push_back(is_quoted ? name.substr(1, name.size() - 2) : name);
    }
    int status = success;
    for (const std::string& file : files) {
      if (name.empty()) console_.print(console_.strong(file) + "\n");
      const SqlArguments& sql = arguments_.sql;
      status = std::max(status, describe({file, {}, sql.form, false}, console_, signals_));
    }
    return status;
  }

  /// Adds FILE under its name without folder and suffix, or NAME=FILE.
  void add_table(const std::string& text) {
    const std::size_t equals = text.find('=');
    const bool is_named = equals != std::string::npos && equals > 0 &&
                          std::ranges::all_of(text.substr(0, equals), query::is_name_character);
    std::string file = is_named ? text.substr(equals + 1) : text;
    if (file == "-") throw UsageError("the standard input has the statements: name a file");
    std::string name = is_named ? text.substr(0, equals) : std::filesystem::path(file).filename().string();
    if (!is_named) name = name.substr(0, name.find('.'));
    if (name.empty()) throw UsageError(fmt::format("'{}' gives no name for a table: write NAME=FILE", text));
    const bool is_local = file.find_first_of("*?[:") == std::string::npos;
    std::error_code ignored;
    if (is_local && !std::filesystem::exists(file, ignored))
      throw UsageError(fmt::format("there is no file '{}'", file));
    std::erase_if(scope_.tables, [&](const TableSpec& table) { return table.name == name; });
    columns_.erase(name);
    scope_.tables.push_back(file_table(name, file, arguments_.sql));
  }

  std::vector<std::string> completions(std::string_view line) {
    const std::string_view word = line.substr(begin_of_word(line));
    std::vector<std::string> words;
    const auto offer = [&](std::string_view candidate) {
      if (begins_with(candidate, word)) words.emplace_back(candidate);
    };
    if (line.starts_with('.') && word.size() == line.size()) {
      std::ranges::for_each(kCommands, offer);
      return words;
    }
    for (const TableSpec& table : scope_.tables) {
      offer(table.name);
      for (const std::string& column : columns_of(table)) offer(column);
    }
    if (!word.empty()) std::ranges::for_each(kWords, offer);
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
  }

  /// Returns the columns of a table as SQL writes them; none where they cannot be read.
  const std::vector<std::string>& columns_of(const TableSpec& table) {
    const auto [found, is_new] = columns_.try_emplace(table.name);
    if (is_new) {
      try {
        datasets::LoadOptions options;
        options.stop = signals_.stop_token();
        for (const std::string& name : datasets::column_names(table, {}, options).names) {
          found->second.push_back(query::to_sql_text(query::root_of(Expression::column(name))));
        }
      } catch (const Error&) {  // the query over it will tell
      }
    }
    return found->second;
  }

  /// Runs what may fail, and says how it did.
  template <class Run>
  void attempt(const Run& run) {
    try {
      status_ = std::max(status_, run());
      console_.flush();
    } catch (const OutputClosed&) {
      throw;
    } catch (const CancelledError&) {
      interrupted();
    } catch (const kernels::Cancelled&) {
      interrupted();
    } catch (const std::exception& error) {
      console_.complain(error.what());
      status_ = worse(static_cast<ExitStatus>(status_), exit_status(error));
    }
  }

  void interrupted() {
    if (console_.stop().stop_requested() || signals_.exit_status() != 0) throw CancelledError("cancelled");
    console_.complain("interrupted");
    status_ = system_failure;
  }

  const ShellArguments& arguments_;
  Console& console_;
  Signals& signals_;
  SqlScope scope_;
  std::map<std::string, std::vector<std::string>> columns_;  // by table
  std::string text_;                                         // of a statement that has not ended
  bool explains_ = false;                                    // the statement that comes
  bool analyzes_ = false;
  bool quits_ = false;
  int status_ = success;
};

}  // namespace

int shell(const ShellArguments& arguments, Console& console, Signals& signals) {
  return Shell(arguments, console, signals).run();
}

}  // namespace skyrank::tools

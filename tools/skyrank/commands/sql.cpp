#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/query/places.hpp"
#include "engine/query/sql/parse.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/query/utf8.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

/// Refuses names that are no files here: a statement without a batch has no other tables.
void check_file(const query::SqlStatement& statement) {
  const std::string& name = statement.query.from();
  std::error_code ignored;
  const bool is_path = name == "-" || name.find_first_of("./*?[:") != std::string::npos;
  if (is_path || std::filesystem::exists(name, ignored)) return;
  throw UsageError(fmt::format("there is no file '{0}': FROM names a file in quotes, such as FROM '{0}.csv'", name),
                   statement.table);
}

/// Returns the standard input as a text.
std::string read_statements() {
  std::string text;
  char buffer[1 << 14];
  while (std::cin.read(buffer, sizeof(buffer)) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > BatchLimits().max_bytes) {
      throw UsageError(fmt::format("the standard input has more than the {} bytes that statements may have",
                                   BatchLimits().max_bytes));
    }
  }
  if (std::cin.bad()) throw ResourceError("the standard input cannot be read");
  return text;
}

/// Returns begin and end of each part of a text, up to ';' or its end, that holds more than spaces and comments.
std::vector<std::pair<std::size_t, std::size_t>> find_statements(const std::string& text) {
  std::optional<std::size_t> open_comment;  // is told of when the statement is parsed
  const std::string bare = query::without_comments(text, open_comment);
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  std::size_t begin = 0;
  bool is_empty = true;
  for (query::SqlToken token = query::sql_token(bare, 0); token.begin < bare.size();
       token = query::sql_token(bare, token.end)) {
    const bool ends = token.in(bare) == ";";
    is_empty = is_empty && ends;
    if (!ends) continue;
    if (!is_empty) parts.emplace_back(begin, token.begin);
    begin = token.end;
    is_empty = true;
  }
  if (!is_empty || parts.empty()) parts.emplace_back(begin, text.size());
  return parts;
}

TableSpec table_of(const query::SqlStatement& statement, const SqlArguments& arguments) {
  TableSpec table;
  table.name = statement.query.from();
  table.files = {table.name};
  table.location = statement.table;
  apply_form(table, arguments.form);
  return table;
}

/// Gives a query without a name one of its own: answer, then answer-2, answer-3, ...
void give_name(Query& query, std::set<std::string>& names, const Location& place) {
  if (!query.name().empty()) {
    if (!names.insert(query.name()).second) {
      throw UsageError(fmt::format("two statements have the name '{}'", query.name()), place);
    }
    return;
  }
  std::string name = "answer";
  for (int i = 2; !names.insert(name).second; ++i) name = fmt::format("answer-{}", i);
  query.name(name);
}

Batch batch_of(const SqlArguments& arguments) {
  const bool from_input = arguments.statement == "-";
  const std::string text = from_input ? read_statements() : arguments.statement;
  const query::Places places(text, {"sql", 1, 1});
  if (const auto invalid = query::find_invalid_utf8(text)) {
    throw QueryError("the statement is not valid UTF-8", places.at(*invalid));
  }
  Batch batch;
  std::set<std::string> names;
  for (const auto& [begin, end] : find_statements(text)) {
    const auto place = [&places, begin = begin](std::size_t offset) { return places.at(begin + offset); };
    query::SqlStatement statement = query::parse_sql(std::string_view(text).substr(begin, end - begin), place);
    check_file(statement);
    if (from_input && statement.query.from() == "-") {
      throw UsageError("the standard input has the statements: FROM needs a file", statement.table);
    }
    give_name(statement.query, names, statement.table);
    const bool is_known =
        std::ranges::any_of(batch.tables, [&](const TableSpec& table) { return table.name == statement.query.from(); });
    if (!is_known) batch.tables.push_back(table_of(statement, arguments));
    batch.queries.push_back(std::move(statement.query));
  }
  return batch;
}

}  // namespace

int sql(const SqlArguments& arguments, Console& console, Signals& signals) {
  const Batch batch = batch_of(arguments);
  const RunArguments& run = arguments.run;
  if (!arguments.explain && !arguments.analyze && !arguments.candidates) return run_batch(batch, run, console, signals);
  if (!run.format.empty() || !run.out.empty() || !run.report.empty() || run.rows || run.plan) {
    throw UsageError(
        "--format, --out, --report, --rows and --plan are for answers: leave them out with --explain, --analyze and "
        "--candidates");
  }
  ExplainArguments explain;
  explain.threads = run.threads;
  explain.device = run.device;
  explain.memory_bytes = run.memory_bytes;
  explain.gpus = run.gpus;
  explain.analyze = arguments.analyze;
  explain.candidates = arguments.candidates;
  explain.json = run.json;
  return explain_batch(batch, explain, console, signals);
}

}  // namespace skyrank::tools

#include "tools/skyrank/tables/sql_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/query/places.hpp"
#include "engine/query/sql/parse.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/query/utf8.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

/// Refuses names that are no files.
void check_file(const query::SqlStatement& statement) {
  const std::string& name = statement.query.from();
  std::error_code ignored;
  const bool is_path = name == "-" || name.find_first_of("./*?[:") != std::string::npos;
  if (is_path || std::filesystem::exists(name, ignored)) return;
  throw UsageError(fmt::format("there is no file '{0}': FROM names a file in quotes, such as FROM '{0}.csv'", name),
                   statement.table);
}

/// Returns the table of a statement: one that has its name, or a file.
TableSpec table_of(const query::SqlStatement& statement, const SqlScope& scope) {
  const auto known = std::ranges::find(scope.tables, statement.query.from(), &TableSpec::name);
  if (known != scope.tables.end()) return *known;
  check_file(statement);
  return file_table(statement.query.from(), statement.query.from(), scope.arguments, statement.table);
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

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> find_statements(const std::string& text) {
  StatementParts parts = split_statements(text);
  if (parts.rest < text.size() || parts.complete.empty()) parts.complete.emplace_back(parts.rest, text.size());
  return std::move(parts.complete);
}

StatementParts split_statements(const std::string& text) {
  std::optional<std::size_t> open_comment;  // is told of when the statement is parsed
  const std::string bare = query::without_comments(text, open_comment);
  StatementParts parts;
  std::size_t begin = 0;
  bool is_empty = true;
  for (query::SqlToken token = query::sql_token(bare, 0); token.begin < bare.size();
       token = query::sql_token(bare, token.end)) {
    const bool ends = token.in(bare) == ";";
    is_empty = is_empty && ends;
    if (!ends) continue;
    if (!is_empty) parts.complete.emplace_back(begin, token.begin);
    begin = token.end;
    is_empty = true;
  }
  parts.rest = is_empty && !open_comment ? text.size() : begin;
  return parts;
}

TableSpec file_table(const std::string& name, const std::string& file, const SqlArguments& arguments,
                     const Location& place) {
  TableSpec table;
  table.name = name;
  table.files = {file};
  table.location = place;
  apply_form(table, arguments.form);
  return table;
}

Batch batch_of(const std::string& text, const SqlScope& scope) {
  const query::Places places(text, {"sql", 1, 1});
  if (const auto invalid = query::find_invalid_utf8(text)) {
    throw QueryError("the statement is not valid UTF-8", places.at(*invalid));
  }
  Batch batch;
  std::set<std::string> names;
  for (const auto& [begin, end] : find_statements(text)) {
    const auto place = [&places, begin = begin](std::size_t offset) { return places.at(begin + offset); };
    query::SqlStatement statement = query::parse_sql(std::string_view(text).substr(begin, end - begin), place);
    TableSpec table = table_of(statement, scope);
    if (scope.standard_input_is_taken && table.files == std::vector<std::string>{"-"}) {
      throw UsageError("the standard input has the statements: FROM needs a file", statement.table);
    }
    give_name(statement.query, names, statement.table);
    const bool is_known =
        std::ranges::any_of(batch.tables, [&](const TableSpec& known) { return known.name == table.name; });
    if (!is_known) batch.tables.push_back(std::move(table));
    batch.queries.push_back(std::move(statement.query));
  }
  return batch;
}

}  // namespace skyrank::tools

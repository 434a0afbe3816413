#include <fmt/format.h>

#include <filesystem>

#include "datasets/input/files.hpp"
#include "engine/query/places.hpp"
#include "engine/query/sql/parse.hpp"
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

Batch batch_of(const SqlArguments& arguments) {
  const std::string& text = arguments.statement;
  const query::Places places(text, {"sql", 1, 1});
  if (const auto invalid = query::find_invalid_utf8(text)) {
    throw QueryError("the statement is not valid UTF-8", places.at(*invalid));
  }
  query::SqlStatement statement = query::parse_sql(text, [&](std::size_t offset) { return places.at(offset); });
  check_file(statement);
  if (statement.query.name().empty()) statement.query.name("answer");
  TableSpec table;
  table.name = statement.query.from();
  table.files = {table.name};
  table.location = statement.table;
  if (!arguments.delimiter.empty()) {
    static_cast<void>(datasets::parse_delimiter(arguments.delimiter, {"--delimiter"}));
    table.csv.delimiter = arguments.delimiter;
  }
  if (!arguments.types.empty()) table.types = read_types(arguments.types, "--types");
  return {.tables = {std::move(table)}, .queries = {std::move(statement.query)}, .directory = {}};
}

}  // namespace

int sql(const SqlArguments& arguments, Console& console, Signals& signals) {
  const Batch batch = batch_of(arguments);
  const RunArguments& run = arguments.run;
  if (!arguments.explain && !arguments.analyze && !arguments.candidates) return run_batch(batch, run, console, signals);
  if (!run.format.empty() || !run.out.empty() || run.rows || run.plan) {
    throw UsageError(
        "--format, --out, --rows and --plan are for answers: leave them out with --explain, --analyze and "
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

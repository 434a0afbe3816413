#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "datasets/source.hpp"
#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"
#include "tools/skyrank/terminal/progress.hpp"

namespace skyrank::tools {
namespace {

constexpr std::int64_t kExampleRows = 3;

TableSpec table_of(const DescribeArguments& arguments) {
  TableSpec table;
  table.name = arguments.file;
  table.files = {arguments.file};
  if (!arguments.format.empty()) {
    static_cast<void>(datasets::parse_input_format(arguments.format, {"--format"}));
    table.format = arguments.format;
  }
  apply_form(table, arguments.form);
  return table;
}

/// Opens the table without reading more of it than its format demands. What the source reads later counts for
/// `progress` as long as that lives.
std::shared_ptr<const Source> open(const TableSpec& table, const std::shared_ptr<Progress>& progress, Console& console,
                                   Signals& signals) {
  datasets::LoadOptions options;
  options.skip_unsupported = true;
  options.stop = signals.stop_token();
  options.pipes = datasets::make_pipe_cache();
  options.on_note = [&console](const std::string& note) { console.hint(note); };
  options.progress = [weak = std::weak_ptr(progress)](std::uint64_t done, std::uint64_t total) {
    if (const auto shown = weak.lock()) shown->done(done, total);
  };
  return datasets::open_or_load(table, {}, options);
}

/// Returns the first rows of all columns.
Table first_rows(const Source& source) {
  std::vector<RowId> rows(static_cast<std::size_t>(std::min(num_rows(source), kExampleRows)));
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::vector<int> columns(static_cast<std::size_t>(source.schema().num_columns()));
  std::iota(columns.begin(), columns.end(), 0);
  return source.read_rows(rows, columns).table;
}

/// Returns a table with a row for each column: its name, its type and its first values.
Table description(const Source& source) {
  const Table examples = first_rows(source);
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<std::string> values;
  for (const Column& column : examples.columns()) {
    names.push_back(column.name());
    types.push_back(to_string(column.type()));
    std::string& first = values.emplace_back();
    for (RowId row = 0; row < column.size(); ++row) first += (row == 0 ? "" : ", ") + to_string(column.value(row));
  }
  return Table({Column::own("column", names), Column::own("type", types), Column::own("first values", values)});
}

Json columns_json(const std::string& file, const Source& source) {
  Json columns = Json::array();
  for (const Column& column : source.schema().columns()) {
    columns.push_back({{"name", column.name()}, {"type", to_string(column.type())}});
  }
  Json left_out = Json::array();
  for (const UnsupportedColumn& column : source.schema().unsupported()) {
    left_out.push_back({{"name", column.name}, {"type", column.type}});
  }
  return {{"file", file},
          {"rows", num_rows(source)},
          {"units", source.units().size()},
          {"columns", std::move(columns)},
          {"left_out", std::move(left_out)}};
}

}  // namespace

int describe(const DescribeArguments& arguments, Console& console, Signals& signals) {
  const TableSpec table = table_of(arguments);
  auto progress = std::make_shared<Progress>(console, "reading " + table.name);
  const auto source = open(table, progress, console, signals);
  const Table columns = arguments.json ? Table() : description(*source);
  progress.reset();
  for (const UnsupportedColumn& column : source->schema().unsupported()) {
    console.warn(
        fmt::format("{}: column '{}' is left out: SkyRank has no type for {}", table.name, column.name, column.type));
  }
  if (arguments.json) {
    console.print(to_text(columns_json(arguments.file, *source)));
  } else {
    print_table(console, columns, -1);
    console.note(fmt::format("{} in {}\n", counted(num_rows(*source), "row", "rows"),
                             counted(std::ssize(source->units()), "unit", "units")));
  }
  console.flush();
  return success;
}

}  // namespace skyrank::tools

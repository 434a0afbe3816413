#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/standing.hpp>

#include "datasets/source.hpp"
#include "datasets/stream/row_stream.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/query/duration.hpp"
#include "tools/skyrank/answers/changes.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

// Follows a stream of rows with a standing query, and shows each change of its answer.
namespace skyrank::tools {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds parse_length(const char* option, const std::string& text) {
  const std::optional<Int128> length = parse_nanoseconds(text);
  if (!length || *length > std::numeric_limits<std::int64_t>::max()) {
    throw UsageError(fmt::format("{}: '{}' is no time such as 90s, 5min, 1h or 7d", option, text));
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*length));
}

/// Times at which the state is saved, besides the end.
struct SaveTimes {
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
};

SaveTimes parse_save_every(const std::string& text) {
  SaveTimes times;
  if (text.empty()) return times;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), times.rows);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (times.rows < 1) throw UsageError("--save-every: needs 1 or more rows");
    return times;
  }
  times = {};
  times.time = parse_length("--save-every", text);
  return times;
}

StandingWindow window_of(const WatchArguments& arguments) {
  if (arguments.last.empty() != arguments.by.empty()) throw UsageError("--last and --by belong together");
  if (arguments.last_rows && !arguments.last.empty()) throw UsageError("--last-rows and --last are different windows");
  if (arguments.last_rows && *arguments.last_rows < 1) throw UsageError("--last-rows: needs 1 or more rows");
  if (arguments.last_rows) return RowWindow{*arguments.last_rows};
  if (!arguments.last.empty()) return TimeWindow{arguments.by, parse_length("--last", arguments.last)};
  return {};
}

/// Returns those of a table's columns that the query or the window reads.
std::vector<std::string> columns_needed(const Query& query, const std::vector<std::string>& names,
                                        const std::string& by) {
  const std::vector<std::string> read = Engine::columns_read(query, names);
  std::set<std::string> needed(read.begin(), read.end());
  if (!by.empty()) needed.insert(by);
  std::vector<std::string> columns;
  std::ranges::copy_if(names, std::back_inserter(columns), [&](const auto& name) { return needed.contains(name); });
  return columns;
}

/// Returns a table without rows that has the columns that the stream is read for.
Table schema_of(const Batch& batch, const Query& query, const WatchArguments& arguments, Signals& signals) {
  const TableSpec& table = batch.table(query.from());
  if (!table.generator && table.files == std::vector<std::string>{"-"}) {
    // Nothing but the stream has the columns, and types are stated.
    std::vector<std::string> names;
    for (const auto& [name, type] : table.types) names.push_back(name);
    std::vector<Column> columns;
    for (const std::string& name : columns_needed(query, names, arguments.by)) {
      datasets::StatedType type = datasets::parse_column_type(table.types.at(name), name, table.location);
      if (type.any_unit) type.type.unit = TimeUnit::microsecond;
      columns.push_back(exec::placeholder_column(name, type.type, 0));
    }
    return Table(std::move(columns));
  }
  datasets::LoadOptions options;
  options.skip_unsupported = true;
  options.threads = arguments.threads;
  options.memory_bytes = arguments.memory_bytes;
  options.stop = signals.stop_token();
  const datasets::ColumnNames names = datasets::column_names(table, batch.directory, options);
  options.columns = columns_needed(query, names.names, arguments.by);
  return datasets::load_schema(table, batch.directory, options);
}

datasets::StreamOptions stream_options(const TableSpec& table, const WatchArguments& arguments, Signals& signals) {
  datasets::StreamOptions options;
  options.reading.format = datasets::Format::jsonl;
  if (!arguments.format.empty()) {
    options.reading.format = arguments.format == "json" ? datasets::Format::jsonl
                                                        : datasets::parse_input_format(arguments.format, {"--format"});
  } else if (const auto known = datasets::known_format(arguments.from)) {
    options.reading.format = known;
  }
  const CsvSpec& csv = table.csv;
  if (!csv.decimal.empty() || csv.skip || !csv.comment.empty() || !table.encoding.empty() || !table.records.empty() ||
      table.flatten) {
    throw UsageError(
        "rows that come have the form of UTF-8 with a decimal point: leave 'decimal', 'skip', 'comment', 'encoding', "
        "'records' and 'flatten' out of the table");
  }
  if (!table.csv.delimiter.empty()) options.reading.delimiter = datasets::parse_delimiter(table.csv.delimiter);
  options.reading.header = table.csv.header.value_or(true);
  options.reading.null_spellings = table.csv.null_spellings;
  options.reading.threads = arguments.threads;
  options.reading.stop = signals.stop_token();
  options.follow = arguments.follow;
  options.max_rows = arguments.step;
  return options;
}

/// The state that outlives the run. What is saved has been shown: a change that could not be written comes again.
class SavedState {
 public:
  SavedState(const StandingQuery& standing, const WatchArguments& arguments, bool is_saved)
      : standing_(standing),
        file_(arguments.state),
        times_(parse_save_every(arguments.save_every)),
        is_saved_(is_saved),
        saved_rows_(standing.next_id()) {}

  /// Saves if there is a file, and it lacks rows.
  void save() {
    if (file_.empty() || (is_saved_ && saved_rows_ == standing_.next_id())) return;
    standing_.save(file_);
    is_saved_ = true;
    saved_rows_ = standing_.next_id();
    saved_at_ = Clock::now();
  }

  void save_if_due() {
    if (standing_.next_id() - saved_rows_ >= times_.rows || Clock::now() - saved_at_ >= times_.time) save();
  }

 private:
  const StandingQuery& standing_;
  std::filesystem::path file_;
  SaveTimes times_;
  bool is_saved_;
  RowId saved_rows_;
  Clock::time_point saved_at_ = Clock::now();
};

std::unique_ptr<ChangesWriter> writer_of(const WatchArguments& arguments, const Query& query, Console& console) {
  if (!arguments.show.empty() && arguments.show != "changes" && arguments.show != "table") {
    throw UsageError(fmt::format("--show: '{}' is neither changes nor table", arguments.show));
  }
  const bool is_table = arguments.show.empty() ? console.output_is_terminal() : arguments.show == "table";
  if (is_table) return std::make_unique<ChangesAsTable>(console, query.name());
  return std::make_unique<ChangesAsJson>(console, query);
}

/// Takes rows until there are no more, or a signal comes.
void follow(StandingQuery& standing, datasets::RowStream& rows, ChangesWriter& writer, SavedState& state,
            Console& console, Signals& signals) {
  bool is_shown = true;
  try {
    while (const std::optional<Table> table = rows.next()) {
      const Changes changes = standing.insert(*table, {.stop = signals.stop_token()});
      is_shown = false;
      writer.write(standing, changes);
      console.flush();
      is_shown = true;
      state.save_if_due();
    }
  } catch (const CancelledError&) {
    if (!signals.stop_token().stop_requested()) throw;
    if (!is_shown) throw;
  } catch (const Error&) {
    if (is_shown) state.save();
    throw;
  }
  state.save();
}

}  // namespace

int watch(const WatchArguments& arguments, Console& console, Signals& signals) {
  const Batch batch = open_batch(arguments.batch);
  if (batch.queries.size() != 1) {
    throw UsageError(fmt::format("the batch has {} queries, and watch follows one: choose it with --query NAME",
                                 batch.queries.size()));
  }
  if (arguments.step < 0) throw UsageError("--step: needs 1 or more rows");
  if (!arguments.save_every.empty() && arguments.state.empty()) throw UsageError("--save-every needs --state FILE");
  const Query& query = batch.queries.front();
  print_warnings(console, query);
  const StandingOptions options{.window = window_of(arguments), .append_only = true};
  const auto writer = writer_of(arguments, query, console);
  const Engine engine({.threads = arguments.threads,
                       .device = DeviceChoice::cpu,
                       .memory_bytes = memory_of(batch, arguments.memory_bytes).engine});
  for (const std::string& warning : engine.warnings()) console.warn(warning);
  const Table schema = schema_of(batch, query, arguments, signals);
  const bool resumes = !arguments.state.empty() && std::filesystem::exists(arguments.state);
  StandingQuery standing =
      resumes ? StandingQuery::load(engine, arguments.state, query, schema, options, {.stop = signals.stop_token()})
              : StandingQuery(engine, query, schema, options);
  datasets::StreamOptions reading = stream_options(batch.table(query.from()), arguments, signals);
  if (resumes && arguments.from != "-") reading.skip_rows = standing.next_id();
  SavedState state(standing, arguments, resumes);
  reading.idle = [&] { state.save_if_due(); };
  datasets::RowStream rows(arguments.from, schema, std::move(reading));
  state.save();  // also tells early that it cannot be
  signals.let_finish();
  writer->begin(standing);
  console.flush();
  follow(standing, rows, *writer, state, console, signals);
  return success;
}

}  // namespace skyrank::tools

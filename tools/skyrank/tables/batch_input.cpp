#include "tools/skyrank/tables/batch_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include <skyrank/engine.hpp>

#include "datasets/columnar/shared_columns.hpp"
#include "datasets/input/files.hpp"
#include "datasets/source.hpp"
#include "engine/machine_memory.hpp"
#include "engine/query/bound.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/terminal/progress.hpp"

// The input of the commands that take a batch: reads the batch file and the settings of the command line, shares out
// the memory, and opens each table when the first query needs it. Mistakes in the text are collected, so that one run
// shows all of them.
namespace skyrank::tools {
namespace {

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): a process that has no memory for them cannot begin
const std::vector<std::string> kSettingKeys = {"file",     "format",        "header",        "delimiter",
                                               "decimal",  "skip",          "comment",       "nulls",
                                               "encoding", "records",       "types",         "generate.distribution",
                                               "flatten",  "generate.rows", "generate.dims", "generate.seed"};

/// A key of a table with its value, and the option that says so, for messages.
struct Setting {
  std::string table;
  std::string key;
  std::string value;
  std::string option;
};

Setting split_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals || dot == 0 || equals == dot + 1) {
    throw UsageError(fmt::format("--set {}: expected table.key=value, such as hotels.file=hotels.csv", text));
  }
  Setting setting{text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1), {}};
  setting.option = fmt::format("--set {}.{}", setting.table, setting.key);
  return setting;
}

template <class Integer>
Integer integer_setting(const Setting& setting) {
  Integer value{};
  const char* end = setting.value.data() + setting.value.size();
  const auto [stop, error] = std::from_chars(setting.value.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    throw UsageError(fmt::format("{}: '{}' is not a whole number in range", setting.option, setting.value));
  }
  return value;
}

bool boolean_setting(const Setting& setting) {
  if (setting.value == "true") return true;
  if (setting.value == "false") return false;
  throw UsageError(fmt::format("{}: '{}' is neither true nor false", setting.option, setting.value));
}

/// Texts between commas.
std::vector<std::string> list_setting(const Setting& setting) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = setting.value.find(',', begin);
    texts.push_back(setting.value.substr(begin, end - begin));
  }
  if (std::ranges::find(texts, "") == texts.end()) return texts;
  throw UsageError(fmt::format("{}: '{}' is not a list of texts such as NA,-", setting.option, setting.value));
}

TableSpec& find_table(Batch& batch, const std::string& name) {
  const auto table = std::ranges::find(batch.tables, name, &TableSpec::name);
  if (table != batch.tables.end()) return *table;
  std::vector<std::string> names;
  for (const TableSpec& source : batch.tables) names.push_back(source.name);
  throw UsageError(fmt::format("--set: the batch has no table '{}'{}", name, query::did_you_mean(name, names)));
}

bool is_data(const std::filesystem::path& file) {
  try {
    datasets::format_of(file);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

std::string yaml_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

/// Shows the shortest batch over a file of data; empty where no column is a number that it could rank by.
std::string example_batch(const std::filesystem::path& file) {
  try {
    const Table schema = datasets::read_schema({file});
    const auto column =
        std::ranges::find_if(schema.columns(), [](const Column& c) { return is_numeric(c.type().type); });
    if (column == schema.columns().end()) return {};
    return fmt::format(
        "; a batch for it:\nversion: 1\ntables: {{data: {{file: {}}}}}\nqueries: [{{name: best, from: data, rank_by: "
        "{{low: {}}}, limit: 10}}]",
        yaml_quoted(file.filename().string()), yaml_quoted(Expression::column(column->name()).text()));
  } catch (const Error&) {
    return {};
  }
}

/// UsageError for a file that is a table rather than a batch.
void refuse_data(const std::filesystem::path& file) {
  if (is_data(file)) throw UsageError("this is data, not a batch" + example_batch(file), {file.string()});
}

/// A name of files with its path from the root. The standard input and URIs have none.
std::string absolute_name(const std::string& name) {
  const datasets::NamesWithFormat split = datasets::split_formats({name}, {});
  const std::string& file = split.names.front();
  if (file == "-" || datasets::is_uri(file)) return name;
  const std::string path = std::filesystem::absolute(file).string();
  return split.format ? std::string(datasets::to_string(*split.format)) + ":" + path : path;
}

/// Returns the value of a setting, which is a text.
const std::string& text_setting(const Setting& setting) {
  if (!setting.value.empty()) return setting.value;
  throw UsageError(fmt::format("{}: the value is empty", setting.option));
}

/// States what a setting says of the form of a table's files. Returns false for other keys. `where` names it in
/// messages.
bool state_form(TableSpec& table, const Setting& setting, const std::string& where) {
  if (setting.key == "delimiter") {
    static_cast<void>(datasets::parse_delimiter(setting.value, {where}));
    table.csv.delimiter = setting.value;
  } else if (setting.key == "decimal") {
    static_cast<void>(datasets::parse_decimal_sign(setting.value, {where}));
    table.csv.decimal = setting.value;
  } else if (setting.key == "header") {
    table.csv.header = boolean_setting(setting);
  } else if (setting.key == "skip") {
    table.csv.skip = integer_setting<std::int64_t>(setting);
  } else if (setting.key == "comment") {
    table.csv.comment = text_setting(setting);
  } else if (setting.key == "nulls") {
    table.csv.null_spellings = list_setting(setting);
  } else if (setting.key == "encoding") {
    table.encoding = text_setting(setting);
  } else if (setting.key == "records") {
    table.records = text_setting(setting);
  } else if (setting.key == "flatten") {
    table.flatten = boolean_setting(setting);
  } else if (setting.key == "types") {
    table.types = read_types(setting.value, where);
  } else {
    return false;
  }
  return true;
}

/// The queries of these names, each once.
std::vector<Query> chosen(const Batch& batch, const std::vector<std::string>& names) {
  std::vector<Query> queries;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) queries.push_back(batch.query(name));
  }
  return queries;
}

}  // namespace

std::map<std::string, std::string> read_types(const std::string& text, const std::string& option) {
  std::map<std::string, std::string> types;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    // The comma of decimal(12,2) separates no columns.
    const std::size_t open = text.find('(', begin);
    if (open < end) end = text.find(',', std::min(text.find(')', open), text.size()));
    const std::string entry = text.substr(begin, end - begin);
    const std::size_t colon = entry.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == entry.size()) {
      throw UsageError(fmt::format("{}: '{}' is no column with its type, such as zip:string", option, entry));
    }
    const std::string column = entry.substr(0, colon);
    static_cast<void>(datasets::parse_column_type(entry.substr(colon + 1), column, {option}));
    if (!types.emplace(column, entry.substr(colon + 1)).second) {
      throw UsageError(fmt::format("{}: the type of column '{}' comes twice", option, column));
    }
  }
  return types;
}

void apply_form(TableSpec& table, const FileForm& form) {
  const std::pair<const char*, const std::string&> stated[] = {
      {"delimiter", form.delimiter}, {"header", form.header},   {"decimal", form.decimal},
      {"skip", form.skip},           {"comment", form.comment}, {"encoding", form.encoding},
      {"records", form.records},     {"flatten", form.flatten}, {"types", form.types}};
  for (const auto& [key, value] : stated) {
    const std::string option = fmt::format("--{}", key);
    if (!value.empty()) state_form(table, {table.name, key, value, option}, option);
  }
}

void apply_setting(Batch& batch, const std::string& text) {
  const Setting setting = split_setting(text);
  TableSpec& table = find_table(batch, setting.table);
  if (setting.key == "file") {
    if (setting.value.empty())
      throw UsageError(fmt::format("--set {}.file: the name of a file is empty", setting.table));
    table.files = {absolute_name(setting.value)};
    table.generator.reset();
    return;
  }
  if (setting.key == "format") {
    static_cast<void>(datasets::parse_input_format(setting.value, {"--set " + text}));
    table.format = setting.value;
    return;
  }
  if (state_form(table, setting, "--set " + text)) return;
  if (std::ranges::find(kSettingKeys, setting.key) == kSettingKeys.end()) {
    throw UsageError(fmt::format("--set {}: no setting '{}'{}; there are {}", text, setting.key,
                                 query::did_you_mean(setting.key, kSettingKeys), fmt::join(kSettingKeys, ", ")));
  }
  if (!table.generator) {
    throw UsageError(fmt::format("--set {}: table '{}' is read from a file, not generated", text, setting.table));
  }
  GeneratorSpec& generator = *table.generator;
  if (setting.key == "generate.distribution") generator.distribution = setting.value;
  if (setting.key == "generate.rows") generator.rows = integer_setting<std::int64_t>(setting);
  if (setting.key == "generate.dims") generator.dims = integer_setting<int>(setting);
  if (setting.key == "generate.seed") generator.seed = integer_setting<std::uint64_t>(setting);
}

OpenedBatch open_with_mistakes(const BatchArguments& arguments) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(arguments.file, ignored).type();
  if (kind == std::filesystem::file_type::not_found) {
    throw UsageError("no such file" + datasets::did_you_mean_file(arguments.file), {arguments.file.string()});
  }
  if (kind == std::filesystem::file_type::directory) {
    throw UsageError("is a folder; a batch is a YAML file", {arguments.file.string()});
  }
  refuse_data(arguments.file);
  OpenedBatch opened;
  Batch& batch = opened.batch;
  batch = read_batch(arguments.file, {}, opened.mistakes);
  for (const std::string& setting : arguments.settings) apply_setting(batch, setting);
  // A query with mistakes is missing, and could be any of those that were asked for.
  if (!arguments.queries.empty() && opened.mistakes.empty()) batch.queries = chosen(batch, arguments.queries);
  return opened;
}

Batch open_batch(const BatchArguments& arguments) {
  OpenedBatch opened = open_with_mistakes(arguments);
  if (!opened.mistakes.empty()) throw BatchMistakes(std::move(opened.mistakes));
  return std::move(opened.batch);
}

bool has_shared_tables(const Batch& batch) {
  std::set<std::string> tables;
  for (const Query& query : batch.queries) tables.insert(query.from());
  return tables.size() < batch.queries.size();
}

BatchMemory memory_of(const Batch& batch, std::size_t limit) {
  constexpr std::size_t kShare = 4;
  const bool shares = has_shared_tables(batch);
  BatchMemory memory{.limit = limit, .engine = limit > 0 ? limit : exec::machine_memory() / 5 * 4};
  // Within a limit that was asked for, queries read what they need.
  if (limit == 0 && shares) memory.to_keep = memory.engine / kShare;
  memory.engine -= memory.to_keep;
  if (shares) memory.shared_keys = memory.engine / kShare;
  return memory;
}

/// About how many bytes columns take in memory. Texts are taken to be as long as the bytes of a row in storage.
double bytes_of(const Source& source, const std::vector<int>& columns) {
  const auto rows = static_cast<double>(num_rows(source));
  double bytes = 0;
  for (const int column : columns) {
    const Type type = source.schema().column(column).type().type;
    bytes += type == Type::string ? static_cast<double>(source.bytes()) : rows * width_in_bytes(type);
  }
  return bytes;
}

InputTables::InputTables(const Batch& batch, int threads, const BatchMemory& memory, Console& console, Signals& signals)
    : batch_(batch),
      threads_(threads),
      memory_(memory),
      console_(console),
      signals_(signals),
      pipes_(datasets::make_pipe_cache()) {
  for (const Query& query : batch.queries) entries_[query.from()].queries.push_back(&query);
  for (auto& [name, entry] : entries_) entry.queries_left = static_cast<int>(entry.queries.size());
  for (const TableSpec& table : batch.tables) {
    if (const auto entry = entries_.find(table.name); entry != entries_.end()) entry->second.table = &table;
  }
}

InputTable InputTables::get(const Query& query) {
  Entry& entry = entries_.find(query.from())->second;
  --entry.queries_left;
  if (entry.failure) std::rethrow_exception(entry.failure);
  InputTable input;
  const auto start = std::chrono::steady_clock::now();
  try {
    if (entry.table == nullptr) entry.table = &batch_.table(query.from());  // throws
    if (!entry.column_names) entry.column_names = column_names(*entry.table);
  } catch (const CancelledError&) {  // of one query's time limit
    throw;
  } catch (...) {
    entry.failure = std::current_exception();
    throw;
  }
  const auto& [names, unsupported] = *entry.column_names;
  query::refuse_unsupported(query, query::names_of(names, unsupported), unsupported);
  if (entry.source == nullptr) {
    open(entry);
    input.read_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  input.source = entry.source;
  print_left_out(console_, query, input.source->schema(), entry.told_left_out);
  input.later_queries = entry.queries_left;
  if (entry.queries_left == 0) {
    entry.source.reset();
    kept_bytes_ -= std::exchange(entry.kept_bytes, 0);
  }
  return input;
}

datasets::ColumnNames InputTables::column_names(const TableSpec& source) {
  datasets::LoadOptions options;
  options.threads = threads_;
  options.stop = signals_.stop_token();
  options.pipes = pipes_;
  options.memory_bytes = memory_to_read();
  options.block_bytes = memory_.limit > 0 ? datasets::text_block_bytes(memory_.limit) : 0;
  Progress progress(console_, "reading " + source.name);
  options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.done(done, total); };
  options.on_note = [this](const std::string& note) { console_.hint(note); };
  options.choose_columns = [&](const std::vector<std::string>& names) { return columns_needed(source.name, names); };
  return datasets::column_names(source, batch_.directory, options);
}

void InputTables::open(Entry& entry) {
  try {
    const std::int64_t block_bytes = memory_.limit > 0 ? datasets::text_block_bytes(memory_.limit) : 0;
    entry.source = source_of(*entry.table, entry.column_names->names, block_bytes);
    if (entry.source == nullptr) entry.source = loaded(*entry.table, entry);
  } catch (const CancelledError&) {
    throw;
  } catch (...) {
    entry.failure = std::current_exception();
    throw;
  }
}

datasets::LoadOptions InputTables::load_options(const std::string& table,
                                                const std::vector<std::string>& column_names) const {
  datasets::LoadOptions options;
  options.columns = columns_needed(table, column_names);
  options.skip_unsupported = true;  // queries that name one are refused with the place
  options.threads = threads_;
  options.stop = signals_.stop_token();
  options.pipes = pipes_;
  options.memory_bytes = memory_to_read();
  return options;
}

/// Returns what tables in memory leave of the limit.
std::size_t InputTables::memory_to_read() const {
  constexpr std::size_t kMinShare = 8;  // as a share
  const std::size_t all = memory_.engine + memory_.to_keep;
  return std::max(all - std::min(all, static_cast<std::size_t>(kept_bytes_)), all / kMinShare);
}

/// Loads a table; text that is too large for that is read in blocks.
std::shared_ptr<const Source> InputTables::loaded(const TableSpec& source, Entry& entry) {
  try {
    auto table = in_memory_source(load(source, entry.column_names->names));
    std::vector<int> columns(static_cast<std::size_t>(table->schema().num_columns()));
    std::iota(columns.begin(), columns.end(), 0);
    entry.kept_bytes = bytes_of(*table, columns);
    kept_bytes_ += entry.kept_bytes;
    return table;
  } catch (const datasets::TextTooLarge&) {
    if (memory_.limit > 0) throw;  // was tried
    auto blocks = source_of(source, entry.column_names->names, datasets::text_block_bytes(memory_to_read()));
    if (blocks == nullptr) throw;
    return blocks;
  }
}

std::shared_ptr<const Source> InputTables::source_of(const TableSpec& source,
                                                     const std::vector<std::string>& column_names,
                                                     std::int64_t block_bytes) {
  console_.flush();
  signals_.check();
  datasets::LoadOptions options = load_options(source.name, column_names);
  options.progress = [this](std::uint64_t done, std::uint64_t total) {
    if (Progress* const progress = progress_) progress->done(done, total);
  };
  options.block_bytes = block_bytes;
  auto opened = datasets::open_source(source, batch_.directory, options);
  if (opened == nullptr || queries_of(source.name).size() == 1) return opened;
  std::vector<int> shared = columns_shared(source.name, opened->schema());
  if (bytes_of(*opened, shared) > static_cast<double>(memory_.to_keep)) return opened;
  return std::make_shared<datasets::SharedColumns>(std::move(opened), std::move(shared));
}

Table InputTables::load(const TableSpec& source, const std::vector<std::string>& column_names) {
  console_.flush();
  signals_.check();
  Progress progress(console_, (source.generator ? "generating " : "reading ") + source.name);
  datasets::LoadOptions options = load_options(source.name, column_names);
  options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.done(done, total); };
  return datasets::load(source, batch_.directory, options);
}

std::vector<std::string> InputTables::columns_needed(const std::string& table,
                                                     const std::vector<std::string>& column_names) const {
  std::set<std::string> needed;
  for (const Query* query : queries_of(table)) {
    try {
      const auto read = Engine::columns_read(*query, column_names);
      needed.insert(read.begin(), read.end());
    } catch (const Error&) {
      // Reported when this query's turn comes; it must not keep the others from their answers.
    }
  }
  std::vector<std::string> columns;
  std::ranges::copy_if(column_names, std::back_inserter(columns),
                       [&](const auto& name) { return needed.contains(name); });
  return columns;
}

std::vector<int> InputTables::columns_shared(const std::string& table, const Table& schema) const {
  std::vector<std::string> names;
  std::unordered_map<std::string, int> places;
  for (const Column& column : schema.columns()) {
    places.emplace(column.name(), static_cast<int>(names.size()));
    names.push_back(column.name());
  }
  std::set<int> shared;
  for (const Query* of_table : queries_of(table)) {
    Query query = *of_table;
    // Columns that only such an answer shows are read for its rows.
    const bool has_few_rows = !query.has_groups() && (query.prefer() || query.limit());
    if (has_few_rows) query.select({SelectItem{"row", Expression::literal(std::int64_t{0})}});
    try {
      for (const std::string& name : Engine::columns_read(query, names)) shared.insert(places.at(name));
    } catch (const Error&) {
      // Reported when this query's turn comes.
    }
  }
  return {shared.begin(), shared.end()};
}

}  // namespace skyrank::tools

#include "tools/skyrank/tables/batch_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>

#include <skyrank/engine.hpp>

#include "datasets/columnar/shared_columns.hpp"
#include "datasets/files.hpp"
#include "datasets/source.hpp"
#include "engine/query/bound.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/terminal/progress.hpp"

namespace skyrank::tools {
namespace {

const std::vector<std::string> kSettingKeys = {"file",          "format",        "header",
                                               "delimiter",     "nulls",         "generate.distribution",
                                               "generate.rows", "generate.dims", "generate.seed"};

struct Setting {
  std::string table;
  std::string key;
  std::string value;
};

Setting split_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals || dot == 0 || equals == dot + 1) {
    throw UsageError(fmt::format("--set {}: expected table.key=value, such as hotels.file=hotels.csv", text));
  }
  return {text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1)};
}

template <class Integer>
Integer integer_setting(const Setting& setting) {
  Integer value{};
  const char* end = setting.value.data() + setting.value.size();
  const auto [stop, error] = std::from_chars(setting.value.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    throw UsageError(
        fmt::format("--set {}.{}: '{}' is not a whole number in range", setting.table, setting.key, setting.value));
  }
  return value;
}

bool boolean_setting(const Setting& setting) {
  if (setting.value == "true") return true;
  if (setting.value == "false") return false;
  throw UsageError(
      fmt::format("--set {}.{}: '{}' is neither true nor false", setting.table, setting.key, setting.value));
}

/// Texts between commas.
std::vector<std::string> list_setting(const Setting& setting) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = setting.value.find(',', begin);
    texts.push_back(setting.value.substr(begin, end - begin));
  }
  if (std::ranges::find(texts, "") == texts.end()) return texts;
  throw UsageError(
      fmt::format("--set {}.{}: '{}' is not a list of texts such as NA,-", setting.table, setting.key, setting.value));
}

TableSource& find_table(Batch& batch, const std::string& name) {
  const auto table = std::ranges::find(batch.tables, name, &TableSource::name);
  if (table != batch.tables.end()) return *table;
  std::vector<std::string> names;
  for (const TableSource& source : batch.tables) names.push_back(source.name);
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

/// Bytes of text that queries within a limit of memory read at a time: several threads hold a block, its columns and
/// what they are made of. 0 where there is no limit.
std::int64_t block_bytes(std::size_t memory_bytes) {
  constexpr std::size_t kShare = 64;
  constexpr std::size_t kMin = std::size_t{256} << 10;
  constexpr std::size_t kMax = std::size_t{16} << 20;
  return memory_bytes == 0 ? 0 : static_cast<std::int64_t>(std::clamp(memory_bytes / kShare, kMin, kMax));
}

}  // namespace

void apply_setting(Batch& batch, const std::string& text) {
  const Setting setting = split_setting(text);
  TableSource& table = find_table(batch, setting.table);
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
  if (setting.key == "delimiter") {
    static_cast<void>(datasets::parse_delimiter(setting.value, {"--set " + text}));
    table.delimiter = setting.value;
    return;
  }
  if (setting.key == "header") {
    table.header = boolean_setting(setting);
    return;
  }
  if (setting.key == "nulls") {
    table.null_spellings = list_setting(setting);
    return;
  }
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

Batch open_batch(const BatchArguments& arguments) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(arguments.file, ignored).type();
  if (kind == std::filesystem::file_type::not_found) {
    throw UsageError("no such file" + datasets::did_you_mean_file(arguments.file), {arguments.file.string()});
  }
  if (kind == std::filesystem::file_type::directory) {
    throw UsageError("is a folder; a batch is a YAML file", {arguments.file.string()});
  }
  refuse_data(arguments.file);
  Batch batch = read_batch(arguments.file);
  for (const std::string& setting : arguments.settings) apply_setting(batch, setting);
  if (arguments.queries.empty()) return batch;
  std::vector<Query> chosen;
  for (const std::string& name : arguments.queries) {
    if (std::ranges::none_of(chosen, [&](const Query& one) { return one.name() == name; }))
      chosen.push_back(batch.query(name));
  }
  batch.queries = std::move(chosen);
  return batch;
}

bool has_shared_tables(const Batch& batch) {
  std::set<std::string> tables;
  for (const Query& query : batch.queries) tables.insert(query.from());
  return tables.size() < batch.queries.size();
}

std::size_t shared_key_bytes(const Batch& batch) {
  constexpr std::size_t kShare = 4;
  if (!has_shared_tables(batch)) return 0;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / kShare : 0;
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

InputMemory input_memory(const Engine& engine, std::size_t limit) {
  constexpr std::size_t kShare = 2;
  return {.limit = limit, .to_keep = limit > 0 ? 0 : engine.memory_limit() / kShare};
}

InputTables::InputTables(const Batch& batch, int threads, InputMemory memory, Console& console, Signals& signals)
    : batch_(batch),
      threads_(threads),
      memory_(memory),
      console_(console),
      signals_(signals),
      pipes_(datasets::make_pipe_cache()) {
  for (const Query& query : batch.queries) ++entries_[query.from()].queries_left;
}

InputTable InputTables::get(const Query& query) {
  Entry& entry = entries_.find(query.from())->second;
  --entry.queries_left;
  if (entry.failure) std::rethrow_exception(entry.failure);
  try {
    const TableSource& source = batch_.table(query.from());
    if (!entry.column_names) entry.column_names = column_names(source);
  } catch (...) {
    entry.failure = std::current_exception();
    throw;
  }
  query::refuse_unsupported(query, entry.column_names->unsupported);
  InputTable input;
  if (entry.source == nullptr) input.read_ms = open(query.from(), entry);
  input.source = entry.source;
  print_left_out(console_, query, input.source->schema(), entry.told_left_out);
  input.later_queries = entry.queries_left;
  if (entry.queries_left == 0) entry.source.reset();
  return input;
}

datasets::ColumnNames InputTables::column_names(const TableSource& source) {
  datasets::LoadOptions options;
  options.threads = threads_;
  options.stop = signals_.stop_token();
  options.pipes = pipes_;
  return datasets::column_names(source, batch_.directory, options);
}

double InputTables::open(const std::string& name, Entry& entry) {
  const auto start = std::chrono::steady_clock::now();
  try {
    entry.source = source_of(batch_.table(name), entry.column_names->names);
    if (entry.source == nullptr) entry.source = table_source(load(batch_.table(name), entry.column_names->names));
  } catch (...) {
    entry.failure = std::current_exception();
    throw;
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

datasets::LoadOptions InputTables::load_options(const std::string& table,
                                                const std::vector<std::string>& column_names) const {
  datasets::LoadOptions options;
  options.columns = columns_needed(table, column_names);
  options.skip_unsupported = true;  // queries that name one are refused with the place
  options.threads = threads_;
  options.stop = signals_.stop_token();
  options.pipes = pipes_;
  return options;
}

std::shared_ptr<const Source> InputTables::source_of(const TableSource& source,
                                                     const std::vector<std::string>& column_names) {
  console_.flush();
  signals_.check();
  datasets::LoadOptions options = load_options(source.name, column_names);
  options.progress = [this](std::uint64_t done, std::uint64_t total) {
    if (Progress* const progress = progress_) progress->done(done, total);
  };
  options.block_bytes = block_bytes(memory_.limit);
  auto opened = datasets::open_source(source, batch_.directory, options);
  const auto is_of_source = [&](const Query& query) { return query.from() == source.name; };
  if (opened == nullptr || std::ranges::count_if(batch_.queries, is_of_source) == 1) return opened;
  std::vector<int> shared = columns_shared(source.name, opened->schema());
  if (bytes_of(*opened, shared) > static_cast<double>(memory_.to_keep)) return opened;
  return std::make_shared<datasets::SharedColumns>(std::move(opened), std::move(shared));
}

Table InputTables::load(const TableSource& source, const std::vector<std::string>& column_names) {
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
  for (const Query& query : batch_.queries) {
    if (query.from() != table) continue;
    try {
      const auto read = Engine::columns_read(query, column_names);
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
  for (const Column& column : schema.columns()) names.push_back(column.name());
  std::set<int> shared;
  for (Query query : batch_.queries) {
    if (query.from() != table) continue;
    // Columns that only such an answer shows are read for its rows.
    const bool has_few_rows = query.group_by().empty() && (query.prefer() || query.limit());
    if (has_few_rows) query.select({SelectItem{"row", Expression::literal(std::int64_t{0})}});
    try {
      for (const std::string& name : Engine::columns_read(query, names)) shared.insert(*schema.find(name));
    } catch (const Error&) {
      // Reported when this query's turn comes.
    }
  }
  return {shared.begin(), shared.end()};
}

}  // namespace skyrank::tools

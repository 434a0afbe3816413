#include "datasets/source.hpp"

#include <utility>

#include "datasets/generate/generate.hpp"
#include "datasets/input/encoding.hpp"
#include "datasets/input/files.hpp"
#include "datasets/json/json_document.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

/// The files of a table, and what is said about their format.
struct NamedFiles {
  std::vector<std::filesystem::path> paths;
  std::optional<Format> format;
};

NamedFiles files_of(const TableSpec& spec, const std::filesystem::path& base, const std::stop_token& stop) {
  const exec::EitherStop either(stop, exec::current_stop());
  const std::stop_token token = either.token();
  const exec::StopScope heard(token);
  NamesWithFormat split = split_formats(spec.files, base, spec.location);
  if (!spec.format.empty()) {
    const Format format = parse_input_format(spec.format, spec.location);
    if (split.format && *split.format != format) {
      throw DataError("'" + spec.files.front() + "' begins with another format than 'format: " + spec.format +
                          "'; leave one of them out",
                      spec.location);
    }
    split.format = format;
  }
  const auto folders = split.format ? FolderFiles::all : FolderFiles::of_known_formats;
  return {expand_files(split.names, base, spec.location, folders), split.format};
}

ReadOptions read_options(const TableSpec& spec, const NamedFiles& named, const std::filesystem::path& base,
                         const LoadOptions& options) {
  ReadOptions read;
  read.format = named.format;
  if (!spec.csv.delimiter.empty()) read.delimiter = parse_delimiter(spec.csv.delimiter, spec.location);
  read.header = spec.csv.header;
  if (!spec.csv.decimal.empty()) read.decimal = parse_decimal_sign(spec.csv.decimal, spec.location);
  read.skip = spec.csv.skip;
  read.comment = spec.csv.comment;
  read.flatten = spec.flatten;
  if (!spec.encoding.empty()) read.encoding = parse_encoding(spec.encoding, spec.location);
  if (!spec.records.empty()) read.records = parse_json_path(spec.records, spec.location);
  read.null_spellings = spec.csv.null_spellings;
  for (const auto& [column, type] : spec.types) {
    read.types.emplace(column, parse_column_type(type, column, spec.location));
  }
  read.columns = options.columns;
  read.choose_columns = options.choose_columns;
  read.skip_unsupported = options.skip_unsupported;
  read.threads = options.threads;
  read.block_bytes = options.block_bytes;
  read.memory_bytes = options.memory_bytes;
  read.folder_root = base;
  read.pipes = options.pipes;
  read.on_note = options.on_note;
  read.progress = options.progress;
  read.stop = options.stop;
  return read;
}

/// The generator's columns without rows.
Table generated_schema(const TableSpec& spec) {
  GeneratorSpec no_rows = *spec.generator;
  no_rows.rows = 0;
  return generate(no_rows, 1, spec.location);
}

Table select(const Table& table, const std::optional<std::vector<std::string>>& columns) {
  if (!columns) return table;
  if (columns->empty()) return Table::with_rows(table.num_rows());
  std::vector<Column> selected;
  for (const std::string& name : *columns) selected.push_back(table.column(name));
  return Table(std::move(selected));
}

}  // namespace

Table load(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options) {
  // Reading a table as a whole ends with the query that it is read for; sources outlive their first query.
  const exec::EitherStop either(options.stop, exec::current_stop());
  LoadOptions stoppable = options;
  stoppable.stop = either.token();
  if (spec.generator)
    return select(generate(*spec.generator, options.threads, spec.location, stoppable.stop), options.columns);
  const NamedFiles files = files_of(spec, base, options.stop);
  return read(files.paths, read_options(spec, files, base, stoppable));
}

std::shared_ptr<const Source> open_or_load(const TableSpec& spec, const std::filesystem::path& base,
                                           const LoadOptions& options) {
  if (auto opened = open_source(spec, base, options)) return opened;
  try {
    return in_memory_source(load(spec, base, options));
  } catch (const TextTooLarge&) {
    if (options.block_bytes > 0) throw;
    LoadOptions blocks = options;
    blocks.block_bytes = text_block_bytes(options.memory_bytes);
    if (auto opened = open_source(spec, base, blocks)) return opened;
    throw;
  }
}

std::shared_ptr<const Source> open_source(const TableSpec& spec, const std::filesystem::path& base,
                                          const LoadOptions& options) {
  if (spec.generator) return nullptr;
  const NamedFiles files = files_of(spec, base, options.stop);
  return open_source(files.paths, read_options(spec, files, base, options));
}

ColumnNames column_names(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options) {
  if (!spec.generator) {
    const NamedFiles files = files_of(spec, base, options.stop);
    return column_names(files.paths, read_options(spec, files, base, options));
  }
  ColumnNames names;
  const Table schema = generated_schema(spec);
  for (const Column& column : schema.columns()) names.names.push_back(column.name());
  return names;
}

Table load_schema(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options) {
  if (spec.generator) return select(generated_schema(spec), options.columns);
  const NamedFiles files = files_of(spec, base, options.stop);
  return read_schema(files.paths, read_options(spec, files, base, options));
}

}  // namespace skyrank::datasets

#include "datasets/source.hpp"

#include <utility>

#include "datasets/generate/generate.hpp"
#include "datasets/input/files.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

/// The files of a table, and what is said about their format.
struct NamedFiles {
  std::vector<std::filesystem::path> paths;
  std::optional<Format> format;
};

NamedFiles files_of(const TableSpec& source, const std::filesystem::path& base) {
  NamesWithFormat split = split_formats(source.files, base, source.location);
  if (!source.format.empty()) {
    const Format format = parse_input_format(source.format, source.location);
    if (split.format && *split.format != format) {
      throw DataError("'" + source.files.front() + "' begins with another format than 'format: " + source.format +
                          "'; leave one of them out",
                      source.location);
    }
    split.format = format;
  }
  const auto folders = split.format ? FolderFiles::all : FolderFiles::of_known_formats;
  return {expand_files(split.names, base, source.location, folders), split.format};
}

ReadOptions read_options(const TableSpec& source, const NamedFiles& named, const std::filesystem::path& base,
                         const LoadOptions& options) {
  ReadOptions read;
  read.format = named.format;
  if (!source.delimiter.empty()) read.delimiter = parse_delimiter(source.delimiter, source.location);
  read.header = source.header;
  read.null_spellings = source.null_spellings;
  for (const auto& [column, type] : source.types) {
    read.types.emplace(column, parse_column_type(type, column, source.location));
  }
  read.columns = options.columns;
  read.skip_unsupported = options.skip_unsupported;
  read.threads = options.threads;
  read.block_bytes = options.block_bytes;
  read.memory_bytes = options.memory_bytes;
  read.folder_root = base;
  read.pipes = options.pipes;
  read.progress = options.progress;
  read.stop = options.stop;
  return read;
}

/// The generator's columns without rows.
Table generated_schema(const TableSpec& source) {
  GeneratorSpec spec = *source.generator;
  spec.rows = 0;
  return generate(spec, 1, source.location);
}

Table select(const Table& table, const std::optional<std::vector<std::string>>& columns) {
  if (!columns) return table;
  if (columns->empty()) return Table::with_rows(table.num_rows());
  std::vector<Column> selected;
  for (const std::string& name : *columns) selected.push_back(table.column(name));
  return Table(std::move(selected));
}

}  // namespace

Table load(const TableSpec& source, const std::filesystem::path& base, const LoadOptions& options) {
  // Reading a table as a whole ends with the query that it is read for; sources outlive their first query.
  const exec::EitherStop either(options.stop, exec::current_stop());
  LoadOptions stoppable = options;
  stoppable.stop = either.token();
  if (source.generator)
    return select(generate(*source.generator, options.threads, source.location, stoppable.stop), options.columns);
  const NamedFiles files = files_of(source, base);
  return read(files.paths, read_options(source, files, base, stoppable));
}

std::shared_ptr<const Source> open_or_load(const TableSpec& source, const std::filesystem::path& base,
                                           const LoadOptions& options) {
  if (auto opened = open_source(source, base, options)) return opened;
  try {
    return in_memory_source(load(source, base, options));
  } catch (const TextTooLarge&) {
    if (options.block_bytes > 0) throw;
    LoadOptions blocks = options;
    blocks.block_bytes = text_block_bytes(options.memory_bytes);
    if (auto opened = open_source(source, base, blocks)) return opened;
    throw;
  }
}

std::shared_ptr<const Source> open_source(const TableSpec& source, const std::filesystem::path& base,
                                          const LoadOptions& options) {
  if (source.generator) return nullptr;
  const NamedFiles files = files_of(source, base);
  return open_source(files.paths, read_options(source, files, base, options));
}

ColumnNames column_names(const TableSpec& source, const std::filesystem::path& base, const LoadOptions& options) {
  if (!source.generator) {
    const NamedFiles files = files_of(source, base);
    return column_names(files.paths, read_options(source, files, base, options));
  }
  ColumnNames names;
  const Table schema = generated_schema(source);
  for (const Column& column : schema.columns()) names.names.push_back(column.name());
  return names;
}

Table load_schema(const TableSpec& source, const std::filesystem::path& base, const LoadOptions& options) {
  if (source.generator) return select(generated_schema(source), options.columns);
  const NamedFiles files = files_of(source, base);
  return read_schema(files.paths, read_options(source, files, base, options));
}

}  // namespace skyrank::datasets

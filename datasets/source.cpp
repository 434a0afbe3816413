#include "datasets/source.hpp"

#include <utility>

#include "datasets/files.hpp"
#include "datasets/generate/generate.hpp"

namespace skyrank::datasets {
namespace {

ReadOptions read_options(const TableSource& source, const std::filesystem::path& base, const LoadOptions& options) {
  ReadOptions read;
  read.header = source.header;
  read.null_spellings = source.null_spellings;
  read.columns = options.columns;
  read.skip_unsupported = options.skip_unsupported;
  read.threads = options.threads;
  read.folder_root = base;
  read.pipes = options.pipes;
  read.progress = options.progress;
  read.stop = options.stop;
  return read;
}

std::vector<std::filesystem::path> files_of(const TableSource& source, const std::filesystem::path& base) {
  return expand_files(source.files, base, source.location);
}

/// The generator's columns without rows.
Table generated_schema(const TableSource& source) {
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

Table load(const TableSource& source, const std::filesystem::path& base, const LoadOptions& options) {
  if (source.generator)
    return select(generate(*source.generator, options.threads, source.location, options.stop), options.columns);
  return read(files_of(source, base), read_options(source, base, options));
}

std::shared_ptr<const Source> open_source(const TableSource& source, const std::filesystem::path& base,
                                          const LoadOptions& options) {
  if (source.generator) return nullptr;
  return open_source(files_of(source, base), read_options(source, base, options));
}

ColumnNames column_names(const TableSource& source, const std::filesystem::path& base, const LoadOptions& options) {
  if (!source.generator) return column_names(files_of(source, base), read_options(source, base, options));
  ColumnNames names;
  const Table schema = generated_schema(source);
  for (const Column& column : schema.columns()) names.names.push_back(column.name());
  return names;
}

Table load_schema(const TableSource& source, const std::filesystem::path& base, const LoadOptions& options) {
  if (source.generator) return select(generated_schema(source), options.columns);
  return read_schema(files_of(source, base), read_options(source, base, options));
}

}  // namespace skyrank::datasets

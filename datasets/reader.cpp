#include "datasets/reader.hpp"

#include <arrow/buffer.h>
#include <arrow/table.h>

#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/columnar/formats.hpp"
#include "datasets/concatenation.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/file/input_file.hpp"
#include "datasets/file_columns.hpp"
#include "datasets/folder_source.hpp"
#include "datasets/input/input.hpp"
#include "datasets/text/text_source.hpp"

namespace skyrank::datasets {
namespace {

ReadOptions with_pipes(ReadOptions options) {
  if (options.pipes == nullptr) options.pipes = make_pipe_cache();
  return options;
}

Table read_files(const std::vector<std::filesystem::path>& paths, ReadOptions options, bool rows) {
  if (paths.empty()) throw DataError("a table needs at least one file");
  options.threads = prepare_arrow_threads(options.threads);
  std::vector<InputFile> files;
  options = with_pipes(std::move(options));
  for (const std::filesystem::path& path : paths) {
    files.emplace_back(path, options);
    files.back().data().close();
  }
  FilesTogether together = concatenate(std::move(files), options, rows);
  Table table = to_skyrank(std::move(together.table), paths.front().string());
  refuse_other_types(options, table, paths.front().string());
  return std::move(table).with_unsupported(together.unsupported);
}

bool may_be_source(const InputFile& file, const ReadOptions& options) {
  return file.is_columnar() || (options.block_bytes > 0 && !file.data().is_pipe());
}

/// Runs `read` with the options and, where a text is too large, again with those for blocks.
template <class Read>
auto whole_or_in_blocks(const ReadOptions& options, const Read& read) {
  try {
    return read(options);
  } catch (const TextTooLarge&) {
    if (options.block_bytes > 0) throw;
  }
  ReadOptions blocks = options;
  blocks.block_bytes = text_block_bytes(memory_for_text(options));
  return read(blocks);
}

/// Files of one format, as a source of their stored columns.
std::shared_ptr<const FilesSource> source_of(std::vector<InputFile> files, const ReadOptions& options) {
  if (files.front().is_csv()) return csv_source(std::move(files), options);
  if (files.front().is_json()) return json_source(std::move(files), options);
  std::vector<TableFile> stored;
  for (const InputFile& file : files) stored.push_back({file.name(), file.shared_data()});
  return columnar_format(files.front().format())->source(std::move(stored), options);
}

}  // namespace

ColumnNames column_names(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  if (files.empty()) throw DataError("a table needs at least one file");
  const ReadOptions with_cache = with_pipes(options);
  InputFile first(files.front(), with_cache);
  const ColumnNames names = whole_or_in_blocks(with_cache, [&](const ReadOptions& chosen) {
    if (chosen.block_bytes > 0 && first.is_json()) first.unpack(*chosen.pipes);
    ReadMeter meter(chosen.progress);
    meter.expect(first.data().size());
    const bool brings_values = chosen.choose_columns != nullptr && chosen.block_bytes == 0;
    return names_in(first, chosen, brings_values ? &meter : nullptr);
  });
  refuse_many_names(names.names.size(), first.name(), options);
  const FolderColumns folders({first.folders()}, {first.name()}, options.types);
  refuse_stored_names(folders, names, first.name());
  refuse_unknown_types(options, with_folders(names, folders), first.name());
  return with_folders(names, folders);
}

Table read(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return read_files(files, options, /*rows=*/true);
}

Table read_schema(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return whole_or_in_blocks(with_pipes(options), [&](const ReadOptions& chosen) {
    const auto source = chosen.block_bytes > 0 ? open_source(files, chosen) : nullptr;
    return source != nullptr ? source->schema() : read_files(files, chosen, /*rows=*/false);
  });
}

std::shared_ptr<const Source> open_source(const std::vector<std::filesystem::path>& paths, const ReadOptions& options) {
  ReadOptions prepared = with_pipes(options);
  prepared.threads = prepare_arrow_threads(options.threads);
  std::vector<InputFile> files;
  for (const std::filesystem::path& path : paths) {
    InputFile& file = files.emplace_back(path, prepared);
    if (file.format() != files.front().format() || !may_be_source(file, options)) return nullptr;
    if (file.is_stored_otherwise()) file.unpack(*prepared.pipes);
    if (paths.size() > 1) file.data().close();
  }
  if (files.empty()) return nullptr;
  const std::string first = files.front().name();
  FolderColumns folders = folders_of(files, options);
  if (options.columns) {
    std::erase_if(*prepared.columns, [&](const std::string& name) { return folders.find(name).has_value(); });
  }
  auto source = source_of(std::move(files), prepared);
  if (source == nullptr) return nullptr;
  refuse_unknown_types(options, with_folders({source->stored_names(), {}}, folders), first);
  refuse_other_types(options, source->schema(), first);
  if (folders.names().empty()) return source;
  return folder_source(std::move(source), std::move(folders), options.columns);
}

Table read_csv(std::string_view text, const std::string& name, const ReadOptions& options) {
  const CsvText csv{std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(text.data()),
                                                    static_cast<std::int64_t>(text.size())),
                    name,
                    options.delimiter.value_or(','),
                    1,
                    options.decimal.value_or('.'),
                    options.skip.value_or(0)};
  ReadMeter unheard({});
  return to_skyrank(csv_table(csv, options, {}, unheard), name);
}

}  // namespace skyrank::datasets

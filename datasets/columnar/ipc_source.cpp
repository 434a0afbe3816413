#include "datasets/columnar/ipc_source.hpp"

#include <arrow/array/concatenate.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <mutex>
#include <skyrank/error.hpp>
#include <string>
#include <utility>

#include "datasets/input/input.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

std::vector<FileUnit> batches_of(const std::vector<IpcFileInfo>& files) {
  std::vector<FileUnit> batches;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::vector<IpcBatchSizes>& sizes = files[f].sizes.batches;
    for (std::size_t i = 0; i < sizes.size(); ++i) batches.push_back({f, static_cast<int>(i), sizes[i].rows});
  }
  return batches;
}

/// Tells compressed batches the bytes of their texts, among them their share of the file's dictionaries.
void count_texts(std::vector<FileUnit>& batches, const std::vector<IpcFileInfo>& files, const SourceFields& columns) {
  std::vector<int> texts;
  for (std::size_t c = 0; c < columns.fields.size(); ++c) {
    if (columns.schema.column(static_cast<int>(c)).type() == Type::string) texts.push_back(columns.fields[c]);
  }
  for (FileUnit& batch : batches) {
    const IpcSizes& sizes = files[batch.file].sizes;
    if (!sizes.is_compressed) continue;
    const std::size_t dictionaries = texts.empty() ? 0 : sizes.dictionaries / sizes.batches.size();
    batch.text_bytes =
        checked_add(sizes.of(static_cast<std::size_t>(batch.index), texts), dictionaries, "the size of all texts");
  }
}

/// Returns the given rows of a column, which ascend, in memory of their own. `file` and `name` are for messages.
std::shared_ptr<arrow::ChunkedArray> chosen_rows(const arrow::ChunkedArray& column, std::span<const std::int64_t> rows,
                                                 const std::string& file, const std::string& name) {
  check(column.ValidateFull(), file, "damaged: column '" + name + "'");
  arrow::ArrayVector chosen;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t run = 1;
    while (i + run < rows.size() && rows[i + run] == rows[i] + static_cast<std::int64_t>(run)) ++run;
    const auto slices = column.Slice(rows[i], static_cast<std::int64_t>(run));
    chosen.insert(chosen.end(), slices->chunks().begin(), slices->chunks().end());
    i += run;
  }
  if (chosen.empty()) return std::make_shared<arrow::ChunkedArray>(std::move(chosen), column.type());
  auto copied = arrow::Concatenate(chosen);
  check(copied.status(), file, "column '" + name + "'");
  return std::make_shared<arrow::ChunkedArray>(*std::move(copied));
}

class IpcSource final : public ColumnarSource {
 public:
  IpcSource(std::vector<TableFile> files, std::shared_ptr<arrow::Schema> stored, SourceFields columns,
            std::vector<FileUnit> batches, std::vector<IpcFileInfo> infos, std::uint64_t bytes,
            const ReadOptions& options)
      : ColumnarSource(std::move(files), std::move(stored), std::move(columns), std::move(batches), bytes, options),
        infos_(std::move(infos)),
        memory_bytes_(memory_for_text(options)) {}

 private:
  std::shared_ptr<arrow::Table> read_units(std::size_t f, const ColumnarFile& stored,
                                           const Selection& selection) const override {
    std::int64_t rows = 0;
    for (const int batch : selection.units) rows += infos_[f].sizes.batches[static_cast<std::size_t>(batch)].rows;
    const bool none = selection.fields.empty();
    auto table = ipc_batches(stored, selection.units, none ? smallest(f, stored, selection.units) : selection.fields,
                             selection.threads);
    if (none) table = table->SelectColumns({}).ValueOrDie();
    if (table->num_rows() == rows) return table;
    throw DataError(stored.name + ": not an Arrow file that can be read, or damaged: its batches have " +
                    std::to_string(table->num_rows()) + " rows, but announce " + std::to_string(rows));
  }

  /// Returns the field that is read where only the number of rows is asked for.
  std::vector<int> smallest(std::size_t f, const ColumnarFile& stored, const std::vector<int>& batches) const {
    const auto& fields = infos_[f].sizes.batches[static_cast<std::size_t>(batches.front())].fields;
    const auto field = static_cast<int>(std::ranges::min_element(fields) - fields.begin());
    for (const int batch : batches) refuse_over_limit(limited(stored), bytes_of(f, batch, {field}));
    return {field};
  }

  std::size_t bytes_of(std::size_t f, int batch, const std::vector<int>& fields) const {
    return infos_[f].sizes.of(static_cast<std::size_t>(batch), fields);
  }

  ColumnarFile limited(ColumnarFile file) const {
    file.memory_bytes = memory_bytes_;
    return file;
  }

  /// A batch is read as a whole, by column where all together do not fit the limit. Nothing else of it is kept.
  std::vector<UnitValues> read_values(std::size_t f, const ColumnarFile& stored, int batch, std::span<const int> fields,
                                      std::span<const std::int64_t> rows) const override {
    const std::vector<int> all(fields.begin(), fields.end());
    const bool is_large = bytes_of(f, batch, all) > memory_bytes_ / kBatchesAtATime;
    const auto turn = is_large ? std::unique_lock(large_batches_) : std::unique_lock<std::mutex>();
    std::vector<UnitValues> values;
    const auto add = [&](std::vector<int> read) {
      const Selection selection{.units = {batch}, .fields = std::move(read), .is_one_file = true, .threads = false};
      const auto table = read_units(f, stored, selection);
      for (int i = 0; i < table->num_columns(); ++i) {
        values.push_back({chosen_rows(*table->column(i), rows, stored.name, table->field(i)->name()), std::nullopt});
      }
    };
    if (!is_large) {
      add(all);
      return values;
    }
    for (const int field : all) {
      refuse_over_limit(limited(stored), bytes_of(f, batch, {field}));
      add({field});
    }
    return values;
  }

  static constexpr std::size_t kBatchesAtATime = 64;  // at least as many as threads that read some rows each

  std::vector<IpcFileInfo> infos_;  // by file
  std::size_t memory_bytes_;
  mutable std::mutex large_batches_;
};

}  // namespace

std::shared_ptr<const ColumnarSource> ipc_source(std::vector<TableFile> files, const ReadOptions& options) {
  std::shared_ptr<arrow::Schema> stored;
  std::vector<IpcFileInfo> infos;
  std::size_t bytes = 0;
  const auto opened = [&](const TableFile& file) {
    return ColumnarFile{file.data->reader({}), file.data->size(), file.name, memory_for_text(options)};
  };
  for (const TableFile& file : files) {
    DataFile& data = *file.data;
    auto info = ipc_info(opened(file));
    data.check_unchanged();
    if (files.size() > 1) data.close();
    if (!info || info->schema->num_fields() == 0) return nullptr;
    if (stored == nullptr) stored = info->schema;
    if (!info->schema->Equals(*stored, /*check_metadata=*/false)) return nullptr;
    for (const IpcBatchSizes& batch : info->sizes.batches) {
      bytes = checked_add(bytes, batch.stored, "the size of all files");
    }
    infos.push_back(*std::move(info));
  }
  std::vector<FileUnit> batches = batches_of(infos);
  const auto sample = [&](int field) {
    return reason_against_text(batches, [&](const FileUnit& batch, std::int64_t) {
      const TableFile& file = files[batch.file];
      const ColumnarFile stored_in = opened(file);
      refuse_over_limit(stored_in, infos[batch.file].sizes.of(static_cast<std::size_t>(batch.index), {field}));
      const auto read = ipc_batches(stored_in, {batch.index}, {field}, false)->column(0);
      check(read->ValidateFull(), file.name, "damaged: column '" + stored->field(field)->name() + "'");
      file.data->check_unchanged();
      if (files.size() > 1) file.data->close();
      return read;
    });
  };
  auto columns = source_fields(*stored, options, files.front().name, sample);
  if (!columns) return nullptr;
  count_texts(batches, infos, *columns);
  std::vector<FileUnit> first_batches;  // a file has one dictionary for all its batches
  for (const FileUnit& batch : batches) {
    if (batch.index == 0) first_batches.push_back(batch);
  }
  set_orders(*columns, *stored, first_batches, files.front().name, [&](const FileUnit& batch, int field) {
    const TableFile& file = files[batch.file];
    auto texts = ipc_dictionary(opened(file), field);
    if (files.size() > 1) file.data->close();
    return texts;
  });
  return std::make_shared<IpcSource>(std::move(files), std::move(stored), *std::move(columns), std::move(batches),
                                     std::move(infos), bytes, options);
}

}  // namespace skyrank::datasets

#include "datasets/columnar/ipc_source.hpp"

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <skyrank/error.hpp>
#include <string>
#include <utility>

#include "datasets/input/input.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

/// Rows of each record batch, by file.
using BatchRows = std::vector<std::vector<std::int64_t>>;

std::vector<FileUnit> units_of(const BatchRows& files) {
  std::vector<FileUnit> units;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (std::size_t i = 0; i < files[f].size(); ++i) units.push_back({f, static_cast<int>(i), files[f][i]});
  }
  return units;
}

class IpcSource final : public ColumnarSource {
 public:
  IpcSource(std::vector<TableFile> files, std::shared_ptr<arrow::Schema> stored, SourceFields columns, BatchRows rows,
            std::uint64_t bytes, const ReadOptions& options)
      : ColumnarSource(std::move(files), std::move(stored), std::move(columns), units_of(rows), bytes, options),
        rows_(std::move(rows)) {}

 private:
  std::shared_ptr<arrow::Table> read_units(std::size_t f, const ColumnarFile& stored,
                                           const Selection& selection) const override {
    auto table = ipc_batches(stored, selection.units, selection.fields, selection.threads);
    std::int64_t rows = 0;
    for (const int batch : selection.units) rows += rows_[f][static_cast<std::size_t>(batch)];
    if (table->num_rows() == rows) return table;
    throw DataError(stored.name + ": not an Arrow file that can be read, or damaged: its batches have " +
                    std::to_string(table->num_rows()) + " rows, but announce " + std::to_string(rows));
  }

  std::vector<UnitValues> read_values(std::size_t f, const ColumnarFile& stored, int batch, std::span<const int> fields,
                                      std::span<const std::int64_t> rows) const override {
    const Selection selection{
        .units = {batch}, .fields = {fields.begin(), fields.end()}, .is_one_unit = true, .threads = false};
    std::vector<UnitValues> values;
    const auto table = read_units(f, stored, selection);
    for (const auto& column : table->columns()) {
      values.push_back({column, std::vector(rows.begin(), rows.end())});
    }
    return values;
  }

  BatchRows rows_;
};

}  // namespace

std::shared_ptr<const ColumnarSource> ipc_source(std::vector<TableFile> files, const ReadOptions& options) {
  std::shared_ptr<arrow::Schema> stored;
  BatchRows rows;
  std::size_t bytes = 0;
  for (const TableFile& file : files) {
    DataFile& data = *file.data;
    const auto info = ipc_info({data.reader({}), data.size(), file.name});
    data.check_unchanged();
    if (files.size() > 1) data.close();
    if (!info || info->schema->num_fields() == 0) return nullptr;
    if (stored == nullptr) stored = info->schema;
    if (!info->schema->Equals(*stored, /*check_metadata=*/false)) return nullptr;
    rows.push_back(info->batch_rows);
    bytes = checked_add(bytes, info->bytes, "the size of all files");
  }
  const auto sample = [&](int field) {
    return reason_against_text(units_of(rows), [&](const FileUnit& unit, std::int64_t) {
      const TableFile& file = files[unit.file];
      const ColumnarFile stored_in{file.data->reader({}), file.data->size(), file.name};
      const auto read = ipc_batches(stored_in, {unit.index}, {field}, false)->column(0);
      check(read->ValidateFull(), file.name, "damaged: column '" + stored->field(field)->name() + "'");
      file.data->check_unchanged();
      if (files.size() > 1) file.data->close();
      return read;
    });
  };
  auto columns = source_fields(*stored, options, files.front().name, sample);
  if (!columns) return nullptr;
  std::vector<FileUnit> first_batches;  // a file has one dictionary for all its batches
  for (std::size_t f = 0; f < rows.size(); ++f) {
    if (!rows[f].empty()) first_batches.push_back({f, 0, rows[f].front()});
  }
  set_orders(*columns, *stored, first_batches, files.front().name, [&](const FileUnit& batch, int field) {
    const TableFile& file = files[batch.file];
    auto texts = ipc_dictionary({file.data->reader({}), file.data->size(), file.name}, field);
    if (files.size() > 1) file.data->close();
    return texts;
  });
  return std::make_shared<IpcSource>(std::move(files), std::move(stored), *std::move(columns), std::move(rows), bytes,
                                     options);
}

}  // namespace skyrank::datasets

#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <map>
#include <set>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/arrow/arrow_types.hpp"
#include "datasets/csv/csv_scan.hpp"
#include "datasets/csv/plain_csv.hpp"
#include "datasets/text/block_column.hpp"
#include "datasets/text/text_source.hpp"

// CSV files as a source of blocks of whole records. The first pass decides the type of each column from all values and
// keeps bounds by block; a block is then parsed again for the columns that a query reads.
namespace skyrank::datasets {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;

/// Bytes of whole records at the start of a piece of a text, with the line break of the last; 0 where there are none.
/// The first byte may be the line break of the record before.
std::size_t whole_records(const CsvText& piece) {
  const std::string_view text = piece.view();
  if (text.find('"') == std::string_view::npos) {
    const std::size_t feed = text.rfind('\n');
    if (feed != std::string_view::npos && feed > 0) return feed + 1;
    // Lines that end in CR alone. The last byte may be the first half of CR LF.
    const std::size_t carriage = text.size() < 2 ? std::string_view::npos : text.rfind('\r', text.size() - 2);
    return carriage == std::string_view::npos || carriage == 0 ? 0 : carriage + 1;
  }
  CsvScanner scanner(text, piece.delimiter, piece.first_line);
  std::size_t whole = 0;
  while (scanner.next() && scanner.end() < text.size()) whole = scanner.end();
  return whole;
}

class CsvSource final : public TextSource {
 public:
  CsvSource(std::vector<InputFile> files, TextTable table, std::vector<CsvHeader> headers, const ReadOptions& options)
      : TextSource(std::move(files), std::move(table), options), headers_(std::move(headers)) {}

 private:
  TablePtr parse(const BlockText& text, std::span<const int> columns, bool threads) const override {
    std::vector<std::string> names;
    GivenTypes types;
    for (const int column : columns) {
      names.push_back(column_of(column).name);
      types.emplace(column_of(column).name, column_of(column).type);
    }
    ReadOptions reading = options();
    reading.threads = threads ? reading.threads : 1;
    CsvText records = file(text.block.file).csv(text.bytes);
    records.skipped_lines = 0;
    records.first_line = text.block.first_line;
    const CsvHeader& header = headers_[text.block.file];
    TablePtr table = text.block.is_plain ? plain_csv_block(records, header, names, reading, types) : nullptr;
    if (table == nullptr) table = csv_block(records, header, names, reading, types);
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> values;
    for (int i = 0; i < table->num_columns(); ++i) {
      values.push_back(normalise(table->column(i), text.name, table->field(i)->name()));
      fields.push_back(arrow::field(table->field(i)->name(), values.back()->type()));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values), table->num_rows());
  }

  std::vector<CsvHeader> headers_;  // by file
};

/// The first walk over the files.
class CsvBlocks {
 public:
  CsvBlocks(const std::vector<InputFile>& files, const ReadOptions& options)
      : files_(files), options_(options), meter_(options.progress) {
    for (const InputFile& file : files_) meter_.expect(file.data().size());
  }

  /// Returns false where the files must be read whole.
  bool walk() {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      if (!add_header(files_[f]) || !add_blocks(f)) return false;
      if (files_.size() > 1) files_[f].data().close();
    }
    return !table_.blocks.empty();
  }

  std::vector<CsvHeader> take_headers() { return std::move(headers_); }

  TextTable take_table() {
    for (const std::string& name : columns_) {
      const BlockColumn& column = facts_[name];
      const auto type = column.type();
      table_.columns.push_back({name, type, column.statistics(type, name)});
    }
    table_.stored_names = stored_names_;
    return std::move(table_);
  }

 private:
  bool add_header(const InputFile& file) {
    auto header = csv_header_of(file, options_);
    file.data().check_unchanged();
    if (!header) return false;
    const std::set<std::string> names(header->names.begin(), header->names.end());
    if (headers_.empty()) {
      stored_names_ = header->names;
      columns_ = options_.columns.value_or(header->names);
      refuse_many_columns(columns_.size(), file.name(), options_);
    }
    const bool has_all =
        std::all_of(columns_.begin(), columns_.end(), [&](const std::string& name) { return names.contains(name); });
    if (!has_all || names != std::set<std::string>(stored_names_.begin(), stored_names_.end())) return false;
    headers_.push_back(*std::move(header));
    return true;
  }

  bool add_blocks(std::size_t f) {
    const TextBlock first{
        .file = f, .begin = static_cast<std::int64_t>(headers_[f].begin), .first_line = headers_[f].first_line};
    const auto take = [&](const std::shared_ptr<arrow::Buffer>& bytes, TextBlock& block, bool at_end) -> WholeRecords {
      CsvText piece = files_[f].csv(bytes);
      piece.skipped_lines = 0;
      piece.first_line = block.first_line;
      block.size = at_end ? bytes->size() : static_cast<std::int64_t>(whole_records(piece));
      if (block.size == 0) return {};
      piece.bytes = arrow::SliceBuffer(bytes, 0, block.size);
      add_block(piece, block);
      meter_.add(static_cast<std::uint64_t>(block.size));
      return {block.size, count_line_breaks(piece.view())};
    };
    // Blocks begin at the line break before their first record.
    return cut_into_blocks(files_[f], first, /*overlap=*/1, options_, take);
  }

  void add_block(const CsvText& records, TextBlock& block) {
    const bool has_quotes = records.view().find('"') != std::string_view::npos;
    TablePtr table = plain_table(records, block);
    block.is_plain = table != nullptr;
    if (table == nullptr) table = csv_block(records, headers_[block.file], columns_, options_, {});
    block.rows = table->num_rows();
    if (block.rows == 0) return;
    for (int i = 0; i < table->num_columns(); ++i) {
      facts_[columns_[static_cast<std::size_t>(i)]].add(*table->column(i), has_quotes);
    }
    table_.blocks.push_back(block);
  }

  /// Parses records as values of the types that their columns have so far. Null where these do not suffice.
  TablePtr plain_table(const CsvText& records, const TextBlock& block) {
    constexpr int kMaxRefusals = 3;  // those cost a pass each
    GivenTypes types;
    for (const auto& [name, column] : facts_) {
      if (column.type_so_far() == nullptr) return nullptr;
      types.emplace(name, column.type_so_far());
    }
    if (types.empty() || refusals_ == kMaxRefusals) return nullptr;
    TablePtr table = plain_csv_block(records, headers_[block.file], columns_, options_, types);
    if (table == nullptr) ++refusals_;
    return table;
  }

  const std::vector<InputFile>& files_;
  const ReadOptions& options_;
  ReadMeter meter_;
  std::vector<std::string> stored_names_;
  std::vector<std::string> columns_;
  std::vector<CsvHeader> headers_;  // by file
  std::map<std::string, BlockColumn> facts_;
  int refusals_ = 0;  // blocks that the quick parser did not take
  TextTable table_;
};

}  // namespace

std::optional<CsvHeader> csv_header_of(const InputFile& file, const ReadOptions& options) {
  constexpr std::int64_t kUsualHeader = std::int64_t{64} << 10;
  constexpr std::int64_t kGrowth = 8;
  const std::int64_t longest = max_whole_text(memory_for_text(options));
  for (std::int64_t bytes = kUsualHeader;; bytes *= kGrowth) {
    const auto start = file.text_prefix(std::min(bytes, longest));
    if (auto header = csv_header(file.csv(start), options)) return header;
    if (start->size() < bytes || bytes >= longest) return std::nullopt;  // these are all, or as many as there may be
  }
}

std::shared_ptr<const TextSource> csv_source(std::vector<InputFile> files, const ReadOptions& options) {
  try {
    CsvBlocks blocks(files, options);
    if (!blocks.walk()) return nullptr;
    TextTable table = blocks.take_table();
    return std::make_shared<CsvSource>(std::move(files), std::move(table), blocks.take_headers(), options);
  } catch (const NeedsWholeText&) {
    return nullptr;
  }
}

}  // namespace skyrank::datasets

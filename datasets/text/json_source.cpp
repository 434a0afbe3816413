#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <map>
#include <skyrank/error.hpp>
#include <unordered_map>
#include <utility>

#include "datasets/arrow/arrow_types.hpp"
#include "datasets/arrow/text_types.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/json/json_lines.hpp"
#include "datasets/text/block_column.hpp"
#include "datasets/text/text_source.hpp"

// JSON lines as a source of blocks. The first pass finds the columns of all records and the types of their values; a
// block is then parsed again for the columns that a query reads (json_table).
namespace skyrank::datasets {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;

class JsonSource final : public TextSource {
 public:
  JsonSource(std::vector<InputFile> files, TextTable table, const ReadOptions& options)
      : TextSource(std::move(files), std::move(table), options) {}

 private:
  TablePtr parse(const BlockText& text, std::span<const int> columns, bool threads) const override {
    JsonLines lines;
    lines.rows = text.block.rows;
    JsonReading reading{.types = options().types};
    std::vector<std::string> names;
    for (const int column : columns) {
      const TextColumn& wanted = column_of(column);
      names.push_back(wanted.name);
      lines.columns.push_back(
          {.name = wanted.name, .type = parsed_type(*wanted.type), .nested = {}, .problem = {}, .place = {}});
      reading.texts.insert(wanted.name);
    }
    const JsonText records =
        file(text.block.file)
            .json_part(text.bytes, {text.block.first_line, text.block.first_column}, threads ? options().threads : 1);
    const TablePtr table = json_table(records, lines, names, reading);
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& type = column_of(columns[i]).type;
      const auto& read = table->column(static_cast<int>(i));
      const bool is_text = read->type()->id() == arrow::Type::STRING;
      auto typed = is_text ? parse_texts(*read, {type}).values : read;
      if (typed == nullptr) refuse_changed(text.name);
      values.push_back(normalise(convert(typed, normal_type(type), text.name, names[i]), text.name, names[i]));
      fields.push_back(arrow::field(names[i], values.back()->type()));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values), table->num_rows());
  }

  /// Dates and timestamps are texts to the parser.
  static std::shared_ptr<arrow::DataType> parsed_type(const arrow::DataType& type) {
    switch (type.id()) {
      case arrow::Type::NA: return arrow::null();
      case arrow::Type::BOOL: return arrow::boolean();
      case arrow::Type::INT64: return arrow::int64();
      case arrow::Type::UINT64: return arrow::uint64();
      case arrow::Type::DOUBLE: return arrow::float64();
      default: return arrow::utf8();
    }
  }
};

/// A key in all blocks so far.
struct KeyFacts {
  JsonKey key;
  BlockColumn values;
  std::size_t blocks = 0;  // that `values` has
};

/// The first walk over the files.
class JsonBlocks {
 public:
  JsonBlocks(const std::vector<InputFile>& files, const ReadOptions& options)
      : files_(files), options_(options), meter_(options.progress) {
    for (const InputFile& file : files_) meter_.expect(file.data().size());
    if (options.columns) {
      for (std::size_t i = 0; i < options.columns->size(); ++i) wanted_.emplace((*options.columns)[i], i);
    }
  }

  /// Returns false where the files must be read whole.
  bool walk() {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      add_blocks(f);
      if (files_.size() > 1) files_[f].data().close();
      if (f > 0 && !has_all_keys()) return false;
      keys_of_file_.clear();
    }
    return !table_.blocks.empty() && has_wanted_columns();
  }

  TextTable take_table() {
    for (const std::string& name : order_) {
      KeyFacts& facts = facts_.at(name);
      const JsonColumn column = column_of(facts.key);
      table_.stored_names.push_back(name);
      if (column.type == nullptr && !is_stated(name)) {
        if (!column.has_members) table_.unsupported.push_back(column.as_unsupported(options_.flatten));
      } else if (is_wanted(name)) {
        pad(facts);
        const auto merged = facts.values.type();
        const bool is_inferred = is_stated(name) || column.type->id() == arrow::Type::STRING;
        const auto& type = is_inferred ? merged : column.type;
        table_.columns.push_back({name, type, facts.values.statistics(type, name)});
      }
    }
    if (options_.columns) sort_as_wanted();
    return std::move(table_);
  }

 private:
  bool is_wanted(const std::string& name) const { return !options_.columns || wanted_.contains(name); }

  bool is_stated(const std::string& name) const { return options_.types.contains(name); }

  /// Columns that are not there, and those of values that do not go together, are for `read` to refuse.
  bool has_wanted_columns() const {
    for (const auto& [name, facts] : facts_) {
      if (is_wanted(name) && !is_stated(name) && !column_of(facts.key).problem.empty()) return false;
    }
    if (!options_.columns) return true;
    return std::all_of(options_.columns->begin(), options_.columns->end(), [&](const std::string& name) {
      const auto found = facts_.find(name);
      if (found == facts_.end()) return false;
      return is_stated(name) || column_of(found->second.key).type != nullptr || options_.skip_unsupported;
    });
  }

  /// All files of a table have the same columns.
  bool has_all_keys() const {
    return keys_of_file_.size() == order_.size() &&
           std::all_of(order_.begin(), order_.end(), [&](const auto& name) { return keys_of_file_.contains(name); });
  }

  void sort_as_wanted() {
    const auto place = [&](const TextColumn& column) { return wanted_.at(column.name); };
    std::sort(table_.columns.begin(), table_.columns.end(),
              [&](const TextColumn& a, const TextColumn& b) { return place(a) < place(b); });
  }

  void add_blocks(std::size_t f) {
    JsonText text = files_[f].json(options_.threads);
    text.part_bytes = options_.block_bytes;
    std::vector<JsonTarget> targets;
    const auto choose = [&](const std::vector<JsonKey>& first) { return targets = targets_of(first, options_); };
    const auto take = [&](const JsonPart& part) {
      JsonValuesByName values;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (part.values[i] != nullptr) values[targets[i].name] = {part.values[i]};
      }
      if (part.rows > 0) add_block(f, part, std::move(values));
      meter_.add(static_cast<std::uint64_t>(part.bytes->size()));
    };
    parse_parts(text, {}, take, choose);
  }

  void add_block(std::size_t f, const JsonPart& part, JsonValuesByName values) {
    table_.blocks.push_back({.file = f,
                             .begin = part.begin,
                             .size = part.bytes->size(),
                             .first_line = part.first.line,
                             .first_column = part.first.column,
                             .rows = part.rows});
    JsonLines lines;
    lines.rows = part.rows;
    std::vector<std::string> parsed;
    for (const JsonKey& key : part.keys) {
      keys_of_file_.emplace(key.name, true);
      const auto [entry, is_new] = facts_.try_emplace(key.name);
      if (is_new) {
        entry->second.key = key;
        order_.push_back(key.name);
      } else {
        merge(entry->second.key, key);
      }
      const JsonColumn& column = lines.columns.emplace_back(column_of(key));
      const bool is_readable = is_stated(key.name) || (column.type != nullptr && column.problem.empty());
      if (is_readable && is_wanted(key.name)) parsed.push_back(key.name);
    }
    const JsonText text = files_[f].json_part(part.bytes, part.first, options_.threads);
    const TablePtr table =
        json_table(text, lines, parsed, {.types = options_.types, .is_part = true, .values = std::move(values)});
    for (std::size_t i = 0; i < parsed.size(); ++i) {
      KeyFacts& facts = facts_.at(parsed[i]);
      for (; facts.blocks + 1 < table_.blocks.size(); ++facts.blocks) {
        facts.values.add_nulls(table_.blocks[facts.blocks].rows);
      }
      facts.values.add(*table->column(static_cast<int>(i)), /*empty_is_null=*/false);
      ++facts.blocks;
    }
  }

  /// Adds the blocks at the end that lack the key.
  void pad(KeyFacts& facts) const {
    for (; facts.blocks < table_.blocks.size(); ++facts.blocks) {
      facts.values.add_nulls(table_.blocks[facts.blocks].rows);
    }
  }

  const std::vector<InputFile>& files_;
  const ReadOptions& options_;
  ReadMeter meter_;
  std::unordered_map<std::string, std::size_t> wanted_;  // places of `options.columns`
  std::vector<std::string> order_;                       // of the keys, as they first come
  std::map<std::string, KeyFacts> facts_;
  std::map<std::string, bool> keys_of_file_;
  TextTable table_;
};

}  // namespace

std::shared_ptr<const TextSource> json_source(std::vector<InputFile> files, const ReadOptions& options) {
  try {
    JsonBlocks blocks(files, options);
    if (!blocks.walk()) return nullptr;
    TextTable table = blocks.take_table();
    return std::make_shared<JsonSource>(std::move(files), std::move(table), options);
  } catch (const NeedsWholeText&) {
    return nullptr;
  }
}

}  // namespace skyrank::datasets

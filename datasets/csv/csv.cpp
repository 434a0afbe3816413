#include "datasets/csv/csv.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/csv/options.h>
#include <arrow/csv/reader.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/arrow/text_types.hpp"
#include "datasets/csv/csv_errors.hpp"
#include "datasets/csv/csv_form.hpp"
#include "datasets/csv/csv_scan.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using IndexTypes = std::map<std::size_t, TypePtr>;

// A record must lie in one block, or in two that follow each other. Blocks start small, for parallelism, and grow when
// a record does not fit.
constexpr std::int64_t kFirstBlock = std::int64_t{1} << 20;
constexpr std::int64_t kLargestBlock = std::int64_t{1} << 30;
constexpr std::int64_t kBlockGrowth = 16;

/// Meaning of a quoted field that is spelled as NULL is.
enum class Quoted { never_null, may_be_null };

struct CsvLayout {
  CsvShape shape;
  std::vector<std::string> names;  // one less than there are fields when the trailing one is dropped
  bool has_rows = false;
};

std::string unnamed(std::size_t index) { return "c" + std::to_string(index); }

/// Returns how many fields at the end have no name, and in no record a value: lines that end in a delimiter have one,
/// and exports of spreadsheets several. Without a header only the last may be one.
std::size_t trailing_empty_fields(CsvScanner scanner, const std::vector<std::string>& names, bool header) {
  const std::size_t fields = names.size();
  std::size_t empty = 1;
  while (header && empty + 1 < fields && names[fields - empty - 1].empty()) ++empty;
  while (empty > 0 && scanner.next()) {
    if (scanner.fields().size() != fields) continue;
    for (std::size_t i = 1; i <= empty; ++i) {
      if (!scanner.fields()[fields - i].raw.empty()) empty = i - 1;
    }
  }
  return empty;
}

void refuse_duplicate_names(const std::vector<std::string>& names, const Location& header) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [first, inserted] = seen.emplace(names[i], i);
    if (inserted) continue;
    throw DataError("the column name '" + names[i] + "' comes twice, for fields " + std::to_string(first->second + 1) +
                        " and " + std::to_string(i + 1),
                    header);
  }
}

CsvLayout layout_of(const CsvText& text, const ReadOptions& options) {
  const std::string_view view = text.view();
  if (view.starts_with("\xFF\xFE") || view.starts_with("\xFE\xFF")) {
    throw DataError("the file is UTF-16; convert it to UTF-8", {text.name, 0, 0});
  }
  const bool header = text.has_header(options);
  CsvScanner scanner = text.scanner();
  const std::size_t begin = scanner.end();
  if (!scanner.next()) {
    throw DataError(header ? "the file is empty; its first line should name the columns"
                           : "the file is empty, so the number of its columns is unknown",
                    {text.name, 0, 0});
  }
  CsvLayout layout;
  layout.shape.fields = scanner.fields().size();
  if (scanner.unterminated()) refuse_malformed_records(text, layout.shape);
  const Location first_line{text.name, scanner.line(), 0};
  layout.names.resize(layout.shape.fields);
  const bool last_unnamed = !header || scanner.fields().back().raw.empty();
  if (header) {
    arrow::util::InitializeUTF8();
    for (std::size_t i = 0; i < layout.shape.fields; ++i) layout.names[i] = scanner.fields()[i].text();
    for (const std::string& name : layout.names) {
      if (!arrow::util::ValidateUTF8(name)) {
        throw DataError(
            "a column name is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or convert it "
            "to UTF-8",
            first_line);
      }
    }
    layout.shape.data_begin = scanner.end();
  } else {
    scanner = text.scanner();
    if (text.skipped_lines > 0) layout.shape.data_begin = begin;
  }
  if (layout.shape.fields > 1 && last_unnamed) {
    layout.names.resize(layout.shape.fields - trailing_empty_fields(scanner, layout.names, header));
  }
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (layout.names[i].empty()) layout.names[i] = unnamed(i);
  }
  refuse_duplicate_names(layout.names, first_line);
  layout.has_rows = scanner.next();
  return layout;
}

std::vector<std::size_t> wanted_indices(const CsvText& text, const CsvLayout& layout, const ReadOptions& options) {
  const std::vector<std::string>& columns = options.columns ? *options.columns : layout.names;
  std::vector<std::size_t> indices = places_of(columns, layout.names);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (indices[i] < layout.names.size()) continue;
    throw DataError("there is no column '" + columns[i] + "'", {text.name, 0, 0});
  }
  return indices;
}

// Digits of an integer can only be lost where a value is this large. Arrow infers float64 for integers beside floats,
// for those beyond int64, and for those with a plus sign.
bool may_have_lost_digits(const arrow::ChunkedArray& values) {
  for (const auto& chunk : values.chunks()) {
    const auto& doubles = static_cast<const arrow::DoubleArray&>(*chunk);
    for (std::int64_t i = 0; i < doubles.length(); ++i) {
      if (std::fabs(doubles.Value(i)) >= 0x1p53 && doubles.IsValid(i)) return true;
    }
  }
  return false;
}

/// Reads one CSV text into Arrow columns, which Arrow identifies by their number.
class CsvReading {
 public:
  CsvReading(const CsvText& text, const ReadOptions& options, ReadMeter& meter)
      : CsvReading(text, options, meter, layout_of(text, options)) {}

  /// Reads records of a text with that layout.
  CsvReading(const CsvText& text, const ReadOptions& options, ReadMeter& meter, CsvLayout layout)
      : text_(text), options_(options), meter_(meter), layout_(std::move(layout)) {
    // From the header's line break on, an empty line to Arrow: it drops a byte order mark at the start of what it is
    // given, which after a header is data.
    const std::size_t begin = layout_.shape.data_begin - (layout_.has_rows && layout_.shape.data_begin > 0 ? 1 : 0);
    data_ = arrow::SliceBuffer(text.bytes, static_cast<std::int64_t>(begin));
    quotes_ = look_at_quotes(records(), text_.delimiter);
    // To the parser, the end of the file closes a quote.
    if (quotes_.unterminated) refuse_malformed_records(text, layout_.shape);
    end_last_field();
  }

  /// Columns whose type these records do not decide alone are left to whoever reads the whole text.
  void take_as_part() { is_part_ = true; }

  std::shared_ptr<arrow::Table> table(const GivenTypes& given) {
    const std::vector<std::size_t> indices = wanted_indices(text_, layout_, options_);
    if (indices.empty()) return without_columns();
    IndexTypes types;
    for (const std::size_t i : indices) {
      const auto type = given.find(layout_.names[i]);
      const auto stated = options_.types.find(layout_.names[i]);
      if (type != given.end()) {
        types.emplace(i, type->second);
      } else if (stated != options_.types.end()) {
        types.emplace(i, type_choices(stated->second).front());
      }
    }
    std::vector<ValuesPtr> columns = parse_given(indices, types);
    read_quoted_empty_as_null(indices, types, columns);
    refine(indices, types, columns);
    arrow::FieldVector fields;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      fields.push_back(arrow::field(layout_.names[indices[k]], columns[k]->type()));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns));
  }

 private:
  /// The text of the records, without a byte order mark.
  std::string_view records() const {
    std::string_view records = text_.view().substr(layout_.shape.data_begin);
    const bool begins_file = layout_.shape.data_begin == 0 && text_.first_line == 1;
    if (begins_file && records.starts_with(kByteOrderMark)) records.remove_prefix(kByteOrderMark.size());
    return records;
  }

  /// Ends the text in a line break where its last field has no characters: the parser would take that field for one in
  /// quotes if the field before it is.
  void end_last_field() {
    const std::string_view text = text_.view();
    if (!quotes_.any || text.empty() || text.back() != text_.delimiter) return;
    auto ended = arrow::ConcatenateBuffers({data_, arrow::Buffer::FromString("\n")});
    check(ended.status(), text_.name, "cannot be read");
    data_ = *std::move(ended);
  }

  std::shared_ptr<arrow::Table> without_columns() {
    const std::int64_t rows = parse({0}, {{0, arrow::binary()}}, Quoted::never_null).front()->length();
    return arrow::Table::Make(arrow::schema({}), std::vector<ValuesPtr>{}, rows);
  }

  /// The columns as Arrow infers them, but for those in `types`. Quoted empty fields are NULL in columns of another
  /// type than text.
  std::vector<ValuesPtr> parse_given(const std::vector<std::size_t>& indices, const IndexTypes& types) {
    IndexTypes values;
    std::vector<std::size_t> of_values;
    std::vector<std::size_t> others;
    for (const std::size_t i : indices) {
      const auto type = types.find(i);
      const bool holds_values = type != types.end() && !is_text(*type->second);
      if (holds_values) values.insert(*type);
      (holds_values ? of_values : others).push_back(i);
    }
    if (of_values.empty()) return parse(indices, types, Quoted::never_null);
    if (others.empty()) return parse_values(indices, values);
    if (!quotes_.any) {
      if (auto columns = try_values(indices, types)) return *std::move(columns);
    }
    IndexTypes texts = types;
    std::erase_if(texts, [&](const auto& type) { return values.contains(type.first); });
    std::vector<ValuesPtr> first = parse_values(of_values, values);
    std::vector<ValuesPtr> second = parse(others, texts, Quoted::never_null);
    std::vector<ValuesPtr> columns;
    std::size_t next_value = 0;
    std::size_t next_other = 0;
    for (const std::size_t i : indices) {
      columns.push_back(values.contains(i) ? std::move(first[next_value++]) : std::move(second[next_other++]));
    }
    return columns;
  }

  /// Columns of values as Arrow reads them; nothing where it cannot, or where a type is stated, as Arrow reads integers
  /// in hexadecimal digits too, and no integers with a plus sign.
  std::optional<std::vector<ValuesPtr>> try_values(const std::vector<std::size_t>& indices, const IndexTypes& types) {
    const auto is_stated = [&](const auto& type) {
      return !is_text(*type.second) && stated_type(type.first) != nullptr;
    };
    if (std::ranges::any_of(types, is_stated)) return std::nullopt;
    auto read = parse_in_blocks(indices, types, quotes_.any ? Quoted::may_be_null : Quoted::never_null);
    if (read.ok()) return (*read)->columns();
    if (read.status().IsCancelled() || is_out_of_memory(read.status())) explain(read.status(), indices, types);
    return std::nullopt;
  }

  /// Columns whose types are in `types`, and none of text.
  std::vector<ValuesPtr> parse_values(const std::vector<std::size_t>& indices, const IndexTypes& types) {
    if (!layout_.has_rows) return empty_columns(indices, types);
    if (auto columns = try_values(indices, types)) return *std::move(columns);
    IndexTypes texts;
    for (const std::size_t i : indices) texts.emplace(i, arrow::utf8());
    std::vector<ValuesPtr> columns = parse(indices, texts, quotes_.any ? Quoted::may_be_null : Quoted::never_null);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      columns[k] = values_of(indices[k], columns[k], types.at(indices[k]));
    }
    return columns;
  }

  /// The values of a column of texts; DataError with the line of a text that is none.
  ValuesPtr values_of(std::size_t index, const ValuesPtr& texts, const TypePtr& type) {
    const StatedType* const stated = stated_type(index);
    TypeChoices choices = {type};
    if (stated != nullptr && type_choices(*stated).front()->Equals(type)) choices = type_choices(*stated);
    ParsedTexts parsed = parse_texts(*with_point(texts, *choices.front()), choices);
    if (parsed.values != nullptr) return std::move(parsed.values);
    const CsvPlace field = field_in_record(text_, layout_.shape, index, parsed.wrong_row);
    throw DataError("column '" + layout_.names[index] + "' " +
                        no_value_of(field.text, stated == nullptr ? type->ToString() : stated->name),
                    {text_.name, field.line, 0});
  }

  /// Texts whose numbers have a decimal point, which the types of numbers need.
  ValuesPtr with_point(const ValuesPtr& texts, const arrow::DataType& type) const {
    const bool has_point = arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
    if (text_.decimal == '.' || !has_point) return texts;
    arrow::StringBuilder changed;
    for (const auto& chunk : texts->chunks()) {
      const auto& values = static_cast<const arrow::StringArray&>(*chunk);
      for (std::int64_t i = 0; i < values.length(); ++i) {
        check(values.IsNull(i) ? changed.AppendNull() : changed.Append(with_decimal_point(values.GetView(i))),
              text_.name, "values");
      }
    }
    auto array = changed.Finish();
    check(array.status(), text_.name, "values");
    return std::make_shared<arrow::ChunkedArray>(*std::move(array));
  }

  const StatedType* stated_type(std::size_t index) const {
    const auto stated = options_.types.find(layout_.names[index]);
    return stated == options_.types.end() ? nullptr : &stated->second;
  }

  /// Columns that are text only because of quoted empty fields get the type of their other values.
  void read_quoted_empty_as_null(const std::vector<std::size_t>& indices, const IndexTypes& given,
                                 std::vector<ValuesPtr>& columns) {
    if (!quotes_.empty) return;
    std::vector<std::size_t> places;
    std::vector<std::size_t> candidates;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (given.contains(indices[k]) || columns[k]->type()->id() != arrow::Type::STRING) continue;
      places.push_back(k);
      candidates.push_back(indices[k]);
    }
    const std::vector<bool> chosen =
        has_quoted_empty_only(text_, layout_.shape, candidates, null_spellings(options_), meter_);
    std::vector<std::size_t> again;
    std::vector<std::size_t> again_places;
    for (std::size_t n = 0; n < candidates.size(); ++n) {
      if (!chosen[n]) continue;
      again.push_back(candidates[n]);
      again_places.push_back(places[n]);
    }
    if (again.empty()) return;
    std::vector<ValuesPtr> typed = parse(again, {}, Quoted::may_be_null);
    for (std::size_t n = 0; n < again.size(); ++n) {
      if (typed[n]->type()->id() == arrow::Type::STRING) typed[n] = inferred_times(std::move(typed[n]));
      if (!is_text(*typed[n]->type()) && typed[n]->type()->id() != arrow::Type::NA) {
        columns[again_places[n]] = std::move(typed[n]);
      }
    }
  }

  static bool is_text(const arrow::DataType& type) {
    return arrow::is_binary_like(type.id()) || arrow::is_large_binary_like(type.id());
  }

  std::vector<ValuesPtr> parse(const std::vector<std::size_t>& indices, const IndexTypes& types, Quoted quoted) {
    if (!layout_.has_rows) return empty_columns(indices, types);
    auto read = parse_in_blocks(indices, types, quoted);
    if (!read.ok()) explain(read.status(), indices, types);
    return (*read)->columns();
  }

  arrow::Result<std::shared_ptr<arrow::Table>> parse_in_blocks(const std::vector<std::size_t>& indices,
                                                               const IndexTypes& types, Quoted quoted) {
    const auto bytes = static_cast<std::uint64_t>(data_->size());
    if (std::exchange(has_parsed_, true)) meter_.expect(bytes);
    MeteredPass pass(meter_, bytes);
    const std::int64_t enough = std::min(kLargestBlock, data_->size() + 1);
    for (std::int64_t block = std::min(kFirstBlock, enough);; block = std::min(block * kBlockGrowth, enough)) {
      auto result = try_parse(indices, types, static_cast<std::int32_t>(block), quoted);
      if (result.ok()) {
        pass.finish();
        return result;
      }
      pass.restart();
      if (!is_too_long(result.status()) || block == enough) return result;
    }
  }

  static bool is_too_long(const arrow::Status& status) {
    return status.message().find("straddling object") != std::string::npos;
  }

  std::vector<ValuesPtr> empty_columns(const std::vector<std::size_t>& indices, const IndexTypes& types) {
    std::vector<ValuesPtr> columns;
    for (const std::size_t i : indices) {
      const auto type = types.find(i);
      auto empty = arrow::ChunkedArray::MakeEmpty(type == types.end() ? arrow::null() : type->second);
      check(empty.status(), text_.name, "column '" + layout_.names[i] + "'");
      columns.push_back(*std::move(empty));
    }
    return columns;
  }

  arrow::Result<std::shared_ptr<arrow::Table>> try_parse(const std::vector<std::size_t>& indices,
                                                         const IndexTypes& types, std::int32_t block, Quoted quoted) {
    auto reading = arrow::csv::ReadOptions::Defaults();
    // Memory that runs out in a callback of the threaded reader ends the process, so it reads only what gains by it.
    reading.use_threads = options_.threads != 1 && data_->size() > kFirstBlock;
    if (!reading.use_threads) require_reader_thread(text_.name);
    reading.block_size = block;
    for (std::size_t i = 0; i < layout_.shape.fields; ++i) reading.column_names.push_back(std::to_string(i));
    auto parsing = arrow::csv::ParseOptions::Defaults();
    parsing.delimiter = text_.delimiter;
    // The search for block limits is slower where these may be inside fields.
    parsing.newlines_in_values = quotes_.line_breaks;
    auto converting = arrow::csv::ConvertOptions::Defaults();
    converting.decimal_point = text_.decimal;
    converting.null_values = null_spellings(options_);
    converting.true_values = {"true", "True", "TRUE"};
    converting.false_values = {"false", "False", "FALSE"};
    converting.strings_can_be_null = true;
    converting.quoted_strings_can_be_null = quoted == Quoted::may_be_null;
    for (const std::size_t i : indices) converting.include_columns.push_back(std::to_string(i));
    for (const auto& [i, type] : types) converting.column_types.emplace(std::to_string(i), type);
    const ClosedAtEnd blocks(open_blocks(
        data_, [this](std::uint64_t bytes) { meter_.add(bytes); }, options_.stop));
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::csv::TableReader::Make(arrow::io::default_io_context(), blocks.stream(),
                                                                     reading, parsing, converting));
    return read_whole(std::move(reader));
  }

  [[noreturn]] void explain(const arrow::Status& status, const std::vector<std::size_t>& indices,
                            const IndexTypes& types) {
    refuse_malformed_records(text_, layout_.shape);
    arrow::util::InitializeUTF8();
    if (!arrow::util::ValidateUTF8(text_.view())) {
      for (const std::size_t i : indices) refuse_invalid_utf8(text_, i, layout_.names[i]);
    }
    if (is_too_long(status)) throw DataError("a line is longer than 1 GiB", {text_.name, 0, 0});
    std::string what = "cannot be read";
    for (const auto& [i, type] : types) what += ", with column '" + layout_.names[i] + "' as " + type->ToString();
    check(status, text_.name, what);
    throw DataError(what, {text_.name, 0, 0});
  }

  /// Turns what Arrow inferred into normal types without losing a digit.
  void refine(const std::vector<std::size_t>& indices, const IndexTypes& given, std::vector<ValuesPtr>& columns) {
    std::vector<std::size_t> places;
    std::vector<std::size_t> again;
    IndexTypes types = types_of_numbers(indices, given, columns);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (given.contains(indices[k])) continue;
      const auto type_of_texts = better_type(indices[k], *columns[k]);
      if (type_of_texts != nullptr) types.emplace(indices[k], type_of_texts);
      if (types.contains(indices[k])) {
        places.push_back(k);
        again.push_back(indices[k]);
        continue;
      }
      if (columns[k]->type()->id() == arrow::Type::STRING) columns[k] = inferred_times(std::move(columns[k]));
      if (columns[k]->type()->id() == arrow::Type::TIMESTAMP && !is_part_) {
        columns[k] = normalise(columns[k], text_.name, layout_.names[indices[k]]);
      }
    }
    if (again.empty()) return;
    std::vector<ValuesPtr> better = parse_given(again, types);
    for (std::size_t n = 0; n < places.size(); ++n) columns[places[n]] = std::move(better[n]);
  }

  /// The type to read a column as instead of one that is no number; null to keep that.
  TypePtr better_type(std::size_t index, const arrow::ChunkedArray& values) {
    switch (values.type()->id()) {
      case arrow::Type::BINARY: refuse_invalid_utf8(text_, index, layout_.names[index]); return nullptr;
      case arrow::Type::TIME32:
      case arrow::Type::TIME64: return arrow::utf8();
      default: return nullptr;
    }
  }

  /// The types to read columns of numbers as where Arrow inferred others: text where some are codes, integers where all
  /// are but some have a plus sign. Looks at how numbers are spelled only where that may matter.
  IndexTypes types_of_numbers(const std::vector<std::size_t>& indices, const IndexTypes& given,
                              const std::vector<ValuesPtr>& columns) {
    const bool may_have_codes = may_hold_codes(records(), text_.delimiter);
    std::vector<std::size_t> looked_at;
    std::vector<TypePtr> inferred;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const auto type = columns[k]->type()->id();
      const bool is_float = type == arrow::Type::DOUBLE;
      if (given.contains(indices[k]) || (!is_float && type != arrow::Type::INT64)) continue;
      if (!may_have_codes && !(is_float && may_have_lost_digits(*columns[k]))) continue;
      looked_at.push_back(indices[k]);
      inferred.push_back(columns[k]->type());
    }
    IndexTypes types;
    if (looked_at.empty()) return types;
    const std::vector<NumberFacts> facts =
        number_facts(text_, layout_.shape, looked_at, null_spellings(options_), meter_);
    for (std::size_t n = 0; n < looked_at.size(); ++n) {
      const TypePtr type = facts[n].has_codes ? arrow::utf8() : type_of(facts[n], looked_at[n]);
      if (!type->Equals(inferred[n])) types.emplace(looked_at[n], type);
    }
    return types;
  }

  /// DataError where no type holds all numbers exactly. In other parts the column may have texts, or floats.
  TypePtr type_of(const NumberFacts& facts, std::size_t index) const {
    NumberType type = number_type(facts);
    if (type.type != nullptr) return type.type;
    if (is_part_) throw NeedsWholeText();
    throw DataError("column '" + layout_.names[index] + "' " + type.problem, {text_.name, type.place.line, 0});
  }

  const CsvText& text_;
  const ReadOptions& options_;
  ReadMeter& meter_;
  CsvLayout layout_;
  std::shared_ptr<arrow::Buffer> data_;
  bool is_part_ = false;
  CsvQuotes quotes_;
  bool has_parsed_ = false;
};

}  // namespace

std::string_view CsvText::view() const { return std::string_view(*bytes); }

CsvScanner CsvText::scanner() const {
  CsvScanner scanner(view(), delimiter, first_line);
  scanner.skip_lines(skipped_lines);
  return scanner;
}

std::vector<std::string> null_spellings(const ReadOptions& options) {
  std::vector<std::string> spellings = options.null_spellings;
  if (spellings.empty()) spellings = {"NULL", "null", "NA", "N/A"};
  spellings.emplace_back();
  return spellings;
}

std::vector<std::size_t> places_of(const std::vector<std::string>& columns, const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  std::vector<std::size_t> found;
  for (const std::string& column : columns) {
    const auto place = places.find(column);
    found.push_back(place == places.end() ? names.size() : place->second);
  }
  return found;
}

std::vector<std::string> csv_names(const CsvText& text, const ReadOptions& options) {
  return layout_of(text, options).names;
}

std::optional<CsvHeader> csv_header(const CsvText& prefix, const ReadOptions& options) {
  const std::string_view view = prefix.view();
  CsvScanner scanner = prefix.scanner();
  if (!scanner.next() || scanner.unterminated() || scanner.end() >= view.size()) return std::nullopt;
  // An empty last field may be one that all records have after a trailing delimiter.
  if (scanner.fields().size() > 1 && scanner.fields().back().raw.empty()) return std::nullopt;
  CsvText first_record = prefix;
  first_record.bytes = arrow::SliceBuffer(prefix.bytes, 0, static_cast<std::int64_t>(scanner.end()));
  CsvLayout layout = layout_of(first_record, options);
  CsvHeader header{std::move(layout.names), layout.shape.fields};
  if (layout.shape.data_begin == 0) return header;
  header.begin = layout.shape.data_begin - 1;
  header.first_line = count_line_breaks(view.substr(0, layout.shape.data_begin));
  return header;
}

std::shared_ptr<arrow::Table> csv_block(const CsvText& records, const CsvHeader& header,
                                        const std::vector<std::string>& columns, const ReadOptions& options,
                                        const GivenTypes& given) {
  CsvLayout layout{{0, header.fields}, header.names};
  layout.has_rows = CsvScanner(records.view(), records.delimiter, records.first_line).next();
  ReadOptions narrowed = options;
  narrowed.columns = columns;
  ReadMeter unheard({});
  CsvReading reading(records, narrowed, unheard, std::move(layout));
  reading.take_as_part();
  return reading.table(given);
}

std::shared_ptr<arrow::Table> csv_table(const CsvText& text, const ReadOptions& options, const GivenTypes& given,
                                        ReadMeter& meter) {
  return CsvReading(text, options, meter).table(given);
}

}  // namespace skyrank::datasets

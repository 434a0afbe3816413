#include "datasets/csv/csv_form.hpp"

#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/value_parsing.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "datasets/arrow/number_text.hpp"
#include "datasets/csv/csv_scan.hpp"

namespace skyrank::datasets {
namespace {

using Fields = std::vector<std::string>;

constexpr std::size_t kRecordsLookedAt = 200;

/// A text, and the lines of it that are no records.
struct SampleText {
  std::string_view text;
  bool is_whole = false;
  std::int64_t skipped_lines = 0;
};

/// Returns the first whole records.
std::vector<Fields> first_records(const SampleText& sample, char delimiter) {
  std::vector<Fields> records;
  CsvScanner scanner(sample.text, delimiter);
  scanner.skip_lines(sample.skipped_lines);
  while (records.size() < kRecordsLookedAt && scanner.next()) {
    const bool may_go_on = scanner.end() == sample.text.size() && !sample.is_whole;
    if (scanner.unterminated() || (may_go_on && !records.empty())) break;
    Fields& record = records.emplace_back();
    for (const CsvField& field : scanner.fields()) record.push_back(field.text());
  }
  return records;
}

/// Returns the number of fields that all records have; 0 where they have different ones.
std::size_t common_fields(const std::vector<Fields>& records) {
  if (records.empty()) return 0;
  const std::size_t fields = records.front().size();
  const bool alike = std::ranges::all_of(records, [&](const Fields& record) { return record.size() == fields; });
  return alike ? fields : 0;
}

char delimiter_of(const SampleText& sample, char usual) {
  if (common_fields(first_records(sample, usual)) > 1) return usual;
  char best = usual;
  std::size_t most = 1;
  for (const char candidate : {',', ';', '\t', '|'}) {
    const std::size_t fields = candidate == usual ? 0 : common_fields(first_records(sample, candidate));
    if (fields > most) {
      best = candidate;
      most = fields;
    }
  }
  return best;
}

/// Returns the line of a text that begins at `begin`, without its line break.
std::string_view line_at(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin);
  return rest.substr(0, rest.find_first_of("\r\n"));
}

/// Returns the offset behind the line break of the line that `begin` is in.
std::size_t end_of_line(std::string_view text, std::size_t begin) {
  const std::size_t end = text.find_first_of("\r\n", begin);
  if (end == std::string_view::npos) return text.size();
  return end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
}

/// Returns the delimiter that a first line such as `sep=;` names, as spreadsheets write it.
std::optional<char> stated_separator(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string_view line = line_at(text, 0);
  const bool is_stated = line.size() == 5 && (line.starts_with("sep=") || line.starts_with("SEP="));
  return is_stated ? std::optional(line[4]) : std::nullopt;
}

/// Returns the number of lines at the start that are comments: they begin with '#' and have other fields than the line
/// behind them, which names beginning with '#' would not have.
std::int64_t comment_lines(const SampleText& sample, char usual) {
  std::string_view text = sample.text;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::int64_t lines = 0;
  std::string_view last;
  while (text.starts_with('#')) {
    last = line_at(text, 0);
    text.remove_prefix(last.size());
    if (text.empty()) return 0;
    text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
    ++lines;
  }
  if (lines == 0) return 0;
  const SampleText behind{text, sample.is_whole, 0};
  const char delimiter = delimiter_of(behind, usual);
  const std::size_t fields = common_fields(first_records(behind, delimiter));
  const std::size_t fields_of_last = first_records({last, true, 0}, delimiter).front().size();
  const bool is_header = fields_of_last == fields && (fields > 1 || !last.starts_with("# "));
  return is_header ? lines - 1 : lines;
}

/// Returns the number of lines up to the first empty one where they are a title: one field each, before three records
/// or more that all have the same, larger number of fields.
std::int64_t title_lines(const SampleText& sample, char usual) {
  constexpr std::int64_t kMaxLines = 20;
  constexpr std::size_t kMinRecords = 3;
  std::string_view rest = sample.text;
  for (std::int64_t lines = 0; lines < kMaxLines && !rest.empty(); ++lines) {
    const std::string_view line = line_at(rest, 0);
    if (line.empty()) {
      const SampleText title{sample.text.substr(0, sample.text.size() - rest.size()), true, 0};
      const SampleText behind{rest, sample.is_whole, 0};
      const char delimiter = delimiter_of(behind, usual);
      const std::vector<Fields> records = first_records(behind, delimiter);
      const bool is_title = lines > 0 && common_fields(first_records(title, delimiter)) == 1;
      return is_title && records.size() >= kMinRecords && common_fields(records) > 1 ? lines : 0;
    }
    rest.remove_prefix(end_of_line(rest, 0));
  }
  return 0;
}

/// Returns true for digits around a comma, such as -1,5.
bool is_comma_number(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const std::string_view behind = text.substr(comma + 1);
  return is_integer(text.substr(0, comma)) && is_integer(behind) && behind[0] != '-' && behind[0] != '+';
}

bool spells_number(std::string_view text, char decimal) {
  double value = 0;
  const std::string number = decimal == ',' ? with_decimal_point(text) : std::string(text);
  return arrow::internal::ParseValue<arrow::DoubleType>(number.data(), number.size(), &value);
}

/// Returns true for a number whose digits are separated in groups of three, such as -1,234.5.
bool is_grouped_number(std::string_view text, char decimal) {
  const char separator = decimal == ',' ? '.' : ',';
  const std::string_view whole = text.substr(0, text.find(decimal));
  std::size_t at = whole.find(separator);
  if (at == 0 || at > 4) return false;  // also where there is none
  std::string plain(text.substr(0, at));
  for (; at < whole.size(); at += 4) {
    if (whole[at] != separator || whole.size() - at < 4) return false;
    plain += whole.substr(at + 1, 3);
  }
  plain += text.substr(whole.size());
  return plain.find(separator) == std::string::npos && spells_number(plain, decimal);
}

/// Says which column has such numbers, which are read as text.
std::string grouped_note(const std::vector<Fields>& records, const CsvForm& form) {
  for (std::size_t i = 0; i < common_fields(records); ++i) {
    std::string_view grouped;
    bool others = false;
    for (std::size_t row = form.header ? 1 : 0; row < records.size(); ++row) {
      const std::string_view text = trim_blanks(records[row][i]);
      if (text.empty() || spells_number(text, form.decimal)) continue;
      if (is_grouped_number(text, form.decimal)) {
        grouped = text;
      } else {
        others = true;
      }
    }
    if (others || grouped.empty()) continue;
    const std::string name = form.header ? records[0][i] : "c" + std::to_string(i);
    return "column '" + name + "' has separators of thousands, as in '" + std::string(grouped) +
           "', so that it is text and ranks as such; export it without them";
  }
  return {};
}

/// Returns a comma where some columns hold numbers with one, and none holds numbers with a point.
char decimal_of(const std::vector<Fields>& records) {
  bool has_commas = false;
  for (std::size_t i = 0; i < common_fields(records); ++i) {
    bool commas = false;
    bool points = false;
    bool others = false;
    for (std::size_t row = 1; row < records.size(); ++row) {
      const std::string_view text = trim_blanks(records[row][i]);
      if (text.empty() || is_integer(text)) continue;
      const bool comma = is_comma_number(text);
      commas = commas || comma;
      const bool number = !comma && spells_number(text, '.');
      points = points || (number && text.find('.') != std::string_view::npos);
      others = others || (!comma && !number);
    }
    if (points && !others) return '.';
    has_commas = has_commas || (commas && !others && !points);
  }
  return has_commas ? ',' : '.';
}

/// Returns the number of lines before the header, or before the first record.
std::int64_t lines_before(const SampleText& sample, char usual) {
  const std::int64_t comments = comment_lines(sample, usual);
  return comments > 0 ? comments : title_lines(sample, usual);
}

/// Returns false where the first of several records has numbers alone, as names never do.
bool begins_with_names(const std::vector<Fields>& records, char decimal) {
  if (records.size() < 2) return true;
  return !std::ranges::all_of(records.front(),
                              [&](const std::string& text) { return spells_number(trim_blanks(text), decimal); });
}

std::string delimiter_text(char delimiter) { return delimiter == '\t' ? "tab" : std::string("'") + delimiter + "'"; }

/// Says what was recognised rather than stated.
std::string note_of(const CsvForm& form, char usual, const ReadOptions& options) {
  std::vector<std::pair<std::string, std::string>> found;  // what, and the option that states it
  if (!options.delimiter && form.delimiter != usual)
    found.emplace_back("delimiter " + delimiter_text(form.delimiter), "delimiter");
  if (!options.decimal && form.decimal != '.') found.emplace_back("decimal comma", "decimal");
  if (!options.skip && form.skipped_lines > 0) {
    found.emplace_back(
        std::to_string(form.skipped_lines) + (form.skipped_lines == 1 ? " line" : " lines") + " before the records",
        "skip");
  }
  if (!options.header && !form.header) found.emplace_back("no header", "header");
  if (found.empty()) return {};
  std::string what;
  std::string stated;
  for (std::size_t i = 0; i < found.size(); ++i) {
    what += (i == 0 ? "" : ", ") + found[i].first;
    stated += (i == 0 ? "" : i + 1 == found.size() ? " or " : ", ") + ("'" + found[i].second + "'");
  }
  return "recognised " + what + "; state " + stated + " if this is wrong";
}

}  // namespace

std::shared_ptr<arrow::Buffer> without_comments(const arrow::Buffer& text, const std::string& comment,
                                                const CsvForm& form) {
  const std::string_view whole(text);
  std::string kept;
  kept.reserve(whole.size());
  std::size_t at = whole.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (std::int64_t line = 0; line < form.skipped_lines && at < whole.size(); ++line) at = end_of_line(whole, at);
  kept.append(whole.substr(0, at));
  while (at < whole.size()) {
    const std::string_view rest = whole.substr(at);
    std::size_t end = end_of_line(whole, at);
    if (rest.starts_with(comment)) {
      at += line_at(whole, at).size();  // an empty line is no record
    } else if (whole.substr(at, end - at).find('"') != std::string_view::npos) {
      // The record may go on in other lines. It begins here: an empty line has no quote.
      CsvScanner scanner(rest, form.delimiter, /*first_line=*/2);
      if (scanner.next()) end = at + scanner.end();
    }
    kept.append(whole.substr(at, end - at));
    at = end;
  }
  return arrow::Buffer::FromString(std::move(kept));
}

std::string with_decimal_point(std::string_view number) {
  std::string text(number);
  for (char& c : text) c = c == ',' ? '.' : c == '.' ? ',' : c;
  return text;
}

CsvForm recognise_csv(std::string_view start, bool is_whole, char usual, const ReadOptions& options) {
  CsvForm form;
  const auto separator = options.skip ? std::nullopt : stated_separator(start);
  const SampleText whole{start, is_whole, 0};
  form.skipped_lines = separator ? 1 : options.skip ? *options.skip : lines_before(whole, usual);
  const SampleText sample{start, is_whole, form.skipped_lines};
  form.delimiter = options.delimiter ? *options.delimiter : separator ? *separator : delimiter_of(sample, usual);
  const std::vector<Fields> records = first_records(sample, form.delimiter);
  const bool may_have_commas = !options.decimal && form.delimiter != ',';
  form.decimal = may_have_commas ? decimal_of(records) : options.decimal.value_or('.');
  form.header = options.header ? *options.header : begins_with_names(records, form.decimal);
  form.note = note_of(form, usual, options);
  const std::string grouped = grouped_note(records, form);
  form.note += (form.note.empty() || grouped.empty() ? "" : "; ") + grouped;
  return form;
}

}  // namespace skyrank::datasets

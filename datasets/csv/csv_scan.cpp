#include "datasets/csv/csv_scan.hpp"

namespace skyrank::datasets {

std::int64_t count_line_breaks(std::string_view text) {
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool second_half = text[i] == '\n' && i > 0 && text[i - 1] == '\r';
    lines += (text[i] == '\n' || text[i] == '\r') && !second_half ? 1 : 0;
  }
  return lines;
}

std::string CsvField::text() const {
  if (!quoted) return std::string(raw);
  std::string value;
  value.reserve(raw.size());
  std::size_t i = 1;
  for (; i < raw.size(); ++i) {
    if (raw[i] == '"') {
      if (i + 1 >= raw.size() || raw[i + 1] != '"') break;
      ++i;
    }
    value.push_back(raw[i]);
  }
  // What follows the closing quote belongs to the value as it stands.
  if (i + 1 < raw.size()) value.append(raw.substr(i + 1));
  return value;
}

CsvScanner::CsvScanner(std::string_view text, char delimiter, std::int64_t first_line)
    : text_(text), delimiter_(delimiter), next_line_(first_line) {
  if (first_line == 1 && text_.starts_with("\xEF\xBB\xBF")) position_ = 3;
}

bool CsvScanner::next() {
  while (skip_line_break()) {
  }
  if (at_end()) return false;
  fields_.clear();
  unterminated_ = false;
  line_ = next_line_;
  scan_field();
  while (!at_end() && text_[position_] == delimiter_) {
    ++position_;
    scan_field();
  }
  for (const CsvField& field : fields_) {
    if (field.quoted) next_line_ += count_line_breaks(field.raw);
  }
  skip_line_break();
  return true;
}

std::int64_t CsvScanner::line_of(std::size_t field) const {
  std::int64_t line = line_;
  for (std::size_t i = 0; i < field; ++i) line += count_line_breaks(fields_[i].raw);
  return line;
}

bool CsvScanner::skip_line_break() {
  if (at_end() || (text_[position_] != '\n' && text_[position_] != '\r')) return false;
  const bool pair = text_.substr(position_).starts_with("\r\n");
  position_ += pair ? 2 : 1;
  ++next_line_;
  return true;
}

void CsvScanner::scan_field() {
  const std::size_t begin = position_;
  const bool quoted = !at_end() && text_[position_] == '"';
  if (quoted) scan_quoted();
  while (!at_end() && !ends_field(text_[position_])) ++position_;
  fields_.push_back({text_.substr(begin, position_ - begin), quoted});
}

void CsvScanner::scan_quoted() {
  ++position_;
  for (;;) {
    const std::size_t quote = text_.find('"', position_);
    if (quote == std::string_view::npos) {
      position_ = text_.size();
      unterminated_ = true;
      return;
    }
    position_ = quote + 1;
    if (at_end() || text_[position_] != '"') return;
    ++position_;
  }
}

}  // namespace skyrank::datasets

#include "datasets/csv/csv_scan.hpp"

#include <algorithm>

namespace skyrank::datasets {
namespace {

bool has_line_break(std::string_view text) {
  return text.find('\n') != std::string_view::npos || text.find('\r') != std::string_view::npos;
}

}  // namespace

std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  for (;;) {
    const std::size_t quote = text.find('"', begin);
    if (quote == std::string_view::npos) return quote;
    if (quote + 1 >= text.size() || text[quote + 1] != '"') return quote + 1;
    begin = quote + 2;
  }
}

CsvQuotes look_at_quotes(std::string_view text, char delimiter) {
  const auto is_limit = [&](char c) { return c == delimiter || c == '\n' || c == '\r'; };
  CsvQuotes quotes;
  std::size_t position = text.find('"');
  while (position != std::string_view::npos) {
    quotes.any = true;
    // Other quotes are characters of a field that began without one.
    const bool opens = position == 0 || is_limit(text[position - 1]);
    std::size_t next = position + 1;
    if (opens) {
      next = end_of_quoted(text, position + 1);
      quotes.unterminated = next == std::string_view::npos;
      if (quotes.unterminated) return quotes;
      quotes.line_breaks = quotes.line_breaks || has_line_break(text.substr(position, next - position));
      const bool has_no_characters = next == position + 2;
      quotes.empty = quotes.empty || (has_no_characters && (next == text.size() || is_limit(text[next])));
    }
    position = text.find('"', next);
  }
  return quotes;
}

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
  // The text behind the closing quote belongs to the value as it stands.
  if (i + 1 < raw.size()) value.append(raw.substr(i + 1));
  return value;
}

CsvScanner::CsvScanner(std::string_view text, char delimiter, std::int64_t first_line)
    : text_(text), delimiter_(delimiter), next_line_(first_line) {
  if (first_line == 1 && text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

void CsvScanner::skip_lines(std::int64_t lines) {
  for (; lines > 0 && !at_end(); --lines) {
    position_ = std::min(text_.find_first_of("\r\n", position_), text_.size());
    skip_line_break();
  }
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
  spans_lines_ = next_line_ != line_;
  skip_line_break();
  return true;
}

std::int64_t CsvScanner::line_of(std::size_t field) const {
  std::int64_t line = line_;
  if (!spans_lines_) return line;
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
  if (quoted) {
    const std::size_t end = end_of_quoted(text_, position_ + 1);
    unterminated_ = end == std::string_view::npos;
    position_ = unterminated_ ? text_.size() : end;
  }
  while (!at_end() && !ends_field(text_[position_])) ++position_;
  fields_.push_back({text_.substr(begin, position_ - begin), quoted});
}

}  // namespace skyrank::datasets

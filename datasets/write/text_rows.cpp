#include "datasets/write/text_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace skyrank::datasets {
namespace {

// Spellings that our reader, or another in wide use, takes for NULL or for nothing.
bool reads_as_null(std::string_view text) {
  constexpr std::array<std::string_view, 5> kSpellings{"", "NULL", "null", "NA", "N/A"};
  return std::find(kSpellings.begin(), kSpellings.end(), text) != kSpellings.end();
}

bool needs_quotes(std::string_view text) {
  return reads_as_null(text) || text.find_first_of(",\"\r\n") != std::string_view::npos ||
         text.starts_with("\xEF\xBB\xBF");
}

void append_csv_string(std::string& out, std::string_view text) {
  if (!needs_quotes(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

// Plain text of a value that is not NULL and no string.
void append_value(std::string& out, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    append_integer(out, *integer);
  } else if (number != nullptr && *number == 0 && std::signbit(*number)) {
    out += "-0.0";  // -0 would read back as an integer, which has no sign at zero
  } else {
    out += to_string(value);
  }
}

void append_json_value(std::string& out, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && !std::isfinite(*number)) {
    out += std::isnan(*number) ? "\"NaN\"" : *number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  const bool text = std::holds_alternative<Date>(value) || std::holds_alternative<Timestamp>(value);
  if (text) out += '"';
  append_value(out, value);
  if (text) out += '"';
}

void append_csv_cell(std::string& out, const Column& column, std::int64_t row, bool only_column) {
  if (column.is_null(row)) {
    // An empty line is no record.
    if (only_column) out += "NULL";
  } else if (column.type().type == Type::string) {
    append_csv_string(out, column.data().string_at(row));
  } else {
    append_value(out, column.value(row));
  }
}

void append_json_cell(std::string& out, const Column& column, std::int64_t row) {
  if (column.is_null(row)) {
    out += "null";
  } else if (column.type().type == Type::string) {
    append_json_string(out, column.data().string_at(row));
  } else {
    append_json_value(out, column.value(row));
  }
}

}  // namespace

std::string csv_header(const Table& table) {
  std::string out;
  for (const Column& column : table.columns()) {
    if (!out.empty()) out += ',';
    append_csv_string(out, column.name());
  }
  if (!out.empty()) out += '\n';
  return out;
}

std::string csv_rows(const Table& table, std::int64_t begin, std::int64_t end) {
  std::string out;
  for (std::int64_t row = begin; row < end; ++row) {
    for (int c = 0; c < table.num_columns(); ++c) {
      if (c > 0) out += ',';
      append_csv_cell(out, table.column(c), row, table.num_columns() == 1);
    }
    out += '\n';
  }
  return out;
}

std::string jsonl_rows(const Table& table, std::int64_t begin, std::int64_t end) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns()) {
    keys.emplace_back(keys.empty() ? "" : ",");
    append_json_string(keys.back(), column.name());
    keys.back() += ':';
  }
  std::string out;
  for (std::int64_t row = begin; row < end; ++row) {
    out += '{';
    for (int c = 0; c < table.num_columns(); ++c) {
      out += keys[static_cast<std::size_t>(c)];
      append_json_cell(out, table.column(c), row);
    }
    out += "}\n";
  }
  return out;
}

}  // namespace skyrank::datasets

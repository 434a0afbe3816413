#include <algorithm>
#include <ostream>
#include <skyrank/error.hpp>
#include <string>
#include <variant>
#include <vector>

#include "datasets/write/display.hpp"
#include "datasets/write/writer.hpp"
#include "engine/text.hpp"

namespace skyrank::datasets {
namespace {

// A cell shows at most this many bytes of a string before it is cut to its width.
constexpr std::size_t kBytesPerColumn = 16;

bool aligns_right(const Column& column) { return is_numeric(column.type().type); }

std::string cell(const Column& column, std::int64_t row, int width) {
  if (column.is_null(row)) return "NULL";
  if (column.type().type == Type::float32) {
    return format_number(static_cast<float>(std::get<double>(column.value(row))));  // as few digits as the type needs
  }
  if (column.type().type != Type::string) return to_string(column.value(row));
  const std::string_view text = column.data().string_at(row);
  return truncate(printable(text.substr(0, kBytesPerColumn * (static_cast<std::size_t>(width) + 1))), width);
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? space + text : text + space;
}

/// For each thousandth row or so.
void check_stop(std::int64_t row, const TextOptions& options) {
  constexpr std::int64_t kRowsBetweenChecks = 1024;
  if (row % kRowsBetweenChecks == 0 && options.stop.stop_requested()) throw CancelledError("printing was cancelled");
}

void write_line(std::ostream& out, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

/// The rows that are shown: [0, head) and [tail, end).
struct ShownRows {
  std::int64_t head = 0;
  std::int64_t tail = 0;
  std::int64_t end = 0;

  std::int64_t left_out() const { return tail - head; }

  /// Calls `visit` with each row shown, in order, and `gap` between the two runs where rows are left out.
  template <class Visit, class Gap>
  void for_each(Visit visit, Gap gap) const {
    for (std::int64_t row = 0; row < head; ++row) visit(row);
    if (left_out() > 0) gap();
    for (std::int64_t row = tail; row < end; ++row) visit(row);
  }
};

ShownRows shown_rows(std::int64_t rows, std::int64_t max_rows) {
  if (max_rows < 0 || rows <= max_rows) return {rows, rows, rows};
  return {max_rows - max_rows / 2, rows - max_rows / 2, rows};
}

}  // namespace

void write_text(const Table& table, std::ostream& out, const TextOptions& options) {
  const ShownRows shown = shown_rows(table.num_rows(), options.max_rows);
  const int widest = std::max(1, options.max_cell_width);
  std::vector<int> widths;
  std::vector<std::string> header;
  std::vector<std::string> rule;
  for (const Column& column : table.columns()) {
    const std::string name = truncate(printable(column.name()), widest);
    int width = display_width(name);
    shown.for_each(
        [&](std::int64_t row) {
          check_stop(row, options);
          width = std::max(width, display_width(cell(column, row, widest)));
        },
        [] {});
    widths.push_back(width);
    header.push_back(padded(name, width, aligns_right(column)));
    rule.emplace_back(static_cast<std::size_t>(width), '-');
  }
  write_line(out, header);
  write_line(out, rule);
  std::vector<std::string> cells(widths.size());
  const auto write_row = [&](std::int64_t row) {
    check_stop(row, options);
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const Column& column = table.column(static_cast<int>(c));
      cells[c] = padded(cell(column, row, widest), widths[c], aligns_right(column));
    }
    write_line(out, cells);
  };
  shown.for_each(write_row, [&] {
    out << "(" << shown.left_out() << (shown.left_out() == 1 ? " row" : " rows") << " left out)\n";
  });
  out.flush();
  if (!out) throw ResourceError("the output stream cannot be written to");
}

}  // namespace skyrank::datasets

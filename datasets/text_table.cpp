#include <algorithm>
#include <ostream>
#include <skyrank/error.hpp>
#include <string>
#include <variant>
#include <vector>

#include "datasets/display.hpp"
#include "datasets/writer.hpp"
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

void write_line(std::ostream& out, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace

void write_text(const Table& table, std::ostream& out, const TextOptions& options) {
  const std::int64_t shown = options.max_rows < 0 ? table.num_rows() : std::min(options.max_rows, table.num_rows());
  const int widest = std::max(1, options.max_cell_width);
  std::vector<int> widths;
  std::vector<std::string> header;
  std::vector<std::string> rule;
  for (const Column& column : table.columns()) {
    const std::string name = truncate(printable(column.name()), widest);
    int width = display_width(name);
    for (std::int64_t row = 0; row < shown; ++row) width = std::max(width, display_width(cell(column, row, widest)));
    widths.push_back(width);
    header.push_back(padded(name, width, aligns_right(column)));
    rule.emplace_back(static_cast<std::size_t>(width), '-');
  }
  write_line(out, header);
  write_line(out, rule);
  std::vector<std::string> cells(widths.size());
  for (std::int64_t row = 0; row < shown; ++row) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const Column& column = table.column(static_cast<int>(c));
      cells[c] = padded(cell(column, row, widest), widths[c], aligns_right(column));
    }
    write_line(out, cells);
  }
  if (shown < table.num_rows()) out << "(" << table.num_rows() - shown << " more rows)\n";
  out.flush();
  if (!out) throw ResourceError("the output stream cannot be written to");
}

}  // namespace skyrank::datasets

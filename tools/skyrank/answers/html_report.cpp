#include "tools/skyrank/answers/html_report.hpp"

#include <cmath>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <skyrank/version.hpp>

#include "engine/files/output_file.hpp"
#include "tools/skyrank/answers/json.hpp"

namespace skyrank::tools {
namespace {

constexpr std::string_view kPage =
#include "html_report.inc"
    ;
constexpr std::string_view kPlaceOfData = "DATA</script>";

/// Appends JSON as it may stand in an element `script`, which no text can end: "<" only occurs within strings.
void append_escaped(std::string& text, std::string_view json) {
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
}

/// Returns a number where JavaScript has the same one, null for NULL, and else the text that the CSV writer writes.
Json json_of_cell(const Value& value) {
  constexpr std::int64_t kLargestExact = std::int64_t{1} << 53;
  if (std::holds_alternative<Null>(value)) return nullptr;
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isfinite(*number)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value);
      number != nullptr && *number >= -kLargestExact && *number <= kLargestExact) {
    return *number;
  }
  return to_string(value);
}

bool is_number(Type type) { return is_numeric(type) || type == Type::decimal64 || type == Type::decimal128; }

/// Appends the columns of an answer of which a preference speaks.
void collect_axes(const Preference& preference, const Table& table, Json& axes) {
  for (const Preference& child : preference.children) collect_axes(child, table, axes);
  if (!preference.is_term() || axes.size() == 2) return;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const Column& column = table.columns()[i];
    const bool is_new = std::ranges::find(axes, Json(i)) == axes.end();
    if (is_new && is_number(column.type().type) && preference.expression->text() == column.name()) axes.push_back(i);
  }
}

class HtmlReport : public AnswerWriter {
 public:
  HtmlReport(std::unique_ptr<AnswerWriter> writer, const std::filesystem::path& file, const std::stop_token& stop)
      : writer_(std::move(writer)), file_(file, stop) {
    file_.write(kPage.substr(0, kPage.find(kPlaceOfData)));
    file_.write("{\"skyrank\": \"" + std::string(version()) + "\", \"queries\": [");
  }

  void write(const Answer& answer) override {
    writer_->write(answer);
    const Table& table = answer.result.table;
    Json about = {{"name", answer.query.name()}, {"sql", to_sql(answer.query)}};
    about["columns"] = Json::array();
    for (const Column& column : table.columns()) {
      about["columns"].push_back({{"name", column.name()}, {"numeric", is_number(column.type().type)}});
    }
    about["axes"] = Json::array();
    if (answer.query.prefer()) collect_axes(*answer.query.prefer(), table, about["axes"]);
    about["timing"] = to_json(answer.result.timing);
    about["timing"]["read_ms"] = answer.read_ms;
    about["plan"] = to_string(answer.result.plan);
    about["why"] = answer.why;
    about["ids"] = answer.result.rows;
    begin_item();
    std::string text = to_line(about);
    text.back() = ',';
    text += "\"cells\": [";
    std::string escaped;
    append_escaped(escaped, text);
    for (const Column& column : table.columns()) write_cells(column, table.num_rows(), escaped);
    file_.write(escaped + "]}");
  }

  void write_error(const Query& query, const std::exception& error) override {
    writer_->write_error(query, error);
    begin_item();
    std::string escaped;
    append_escaped(escaped, to_line({{"name", query.name()}, {"error", error.what()}}));
    file_.write(escaped);
  }

  void finish() override {
    writer_->finish();
    file_.write("]}");
    file_.write(kPage.substr(kPage.find(kPlaceOfData) + std::string_view("DATA").size()));
    file_.commit();
  }

 private:
  void begin_item() { file_.write(std::exchange(first_, false) ? "\n" : ",\n"); }

  /// Writes a column as an array, behind the text that is there so far.
  void write_cells(const Column& column, std::int64_t rows, std::string& text) {
    constexpr std::size_t kFlushed = std::size_t{1} << 16;
    text += text.back() == '[' ? "[" : ",[";
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row > 0) text += ',';
      append_escaped(text, to_line(json_of_cell(column.value(row))));
      if (text.size() > kFlushed) file_.write(std::exchange(text, ""));
    }
    text += ']';
  }

  std::unique_ptr<AnswerWriter> writer_;
  exec::OutputFile file_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<AnswerWriter> with_html_report(std::unique_ptr<AnswerWriter> writer, const std::filesystem::path& file,
                                               const std::stop_token& stop) {
  return std::make_unique<HtmlReport>(std::move(writer), file, stop);
}

}  // namespace skyrank::tools

#include "datasets/csv/csv_errors.hpp"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <skyrank/error.hpp>

#include "datasets/arrow/number_text.hpp"
#include "datasets/csv/csv_form.hpp"
#include "datasets/csv/csv_scan.hpp"

namespace skyrank::datasets {
namespace {

std::string fields_text(std::size_t n) { return std::to_string(n) + (n == 1 ? " field" : " fields"); }

/// Calls use(n, field, scanner) for each field of the columns `indices` behind the header, where n is the place of the
/// column among them. The walk over the text adds to what `meter` expects.
template <class Use>
void for_each_field(const CsvText& text, const CsvShape& shape, const std::vector<std::size_t>& indices,
                    ReadMeter& meter, const Use& use) {
  meter.expect(text.view().size());
  MeteredPass pass(meter, text.view().size());
  CsvScanner scanner = text.scanner();
  while (scanner.next()) {
    pass.reach(scanner.end());
    if (scanner.end() <= shape.data_begin) continue;
    for (std::size_t n = 0; n < indices.size(); ++n) {
      if (indices[n] < scanner.fields().size()) use(n, scanner.fields()[indices[n]], scanner);
    }
  }
  pass.finish();
}

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

}  // namespace

void refuse_malformed_records(const CsvText& text, const CsvShape& shape) {
  CsvScanner scanner = text.scanner();
  while (scanner.next()) {
    if (scanner.unterminated()) {
      throw DataError("a quoted field that begins here is never closed by a quote",
                      {text.name, scanner.line_of(scanner.fields().size() - 1), 0});
    }
    if (scanner.fields().size() == shape.fields) continue;
    throw DataError("expected " + fields_text(shape.fields) + " as in the first line, found " +
                        std::to_string(scanner.fields().size()) + "; quote fields that hold the delimiter",
                    {text.name, scanner.line(), 0});
  }
}

void refuse_invalid_utf8(const CsvText& text, std::size_t index, const std::string& column) {
  arrow::util::InitializeUTF8();
  CsvScanner scanner = text.scanner();
  while (scanner.next()) {
    if (index >= scanner.fields().size() || arrow::util::ValidateUTF8(scanner.fields()[index].raw)) continue;
    throw DataError(
        "column '" + column +
            "' is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or convert it to UTF-8",
        {text.name, scanner.line_of(index), 0});
  }
}

std::vector<bool> has_quoted_empty_only(const CsvText& text, const CsvShape& shape,
                                        const std::vector<std::size_t>& indices, const std::vector<std::string>& nulls,
                                        ReadMeter& meter) {
  std::vector<bool> empty(indices.size());
  std::vector<bool> excluded(indices.size());
  // Most texts with quotes have no empty ones; columns without candidates need no walk.
  if (indices.empty() || text.view().find("\"\"") == std::string_view::npos) return empty;
  for_each_field(text, shape, indices, meter, [&](std::size_t n, const CsvField& field, const CsvScanner& /*place*/) {
    if (!field.quoted) return;
    const std::string value = field.text();
    if (value.empty()) {
      empty[n] = true;
    } else if (contains(nulls, value)) {
      excluded[n] = true;
    }
  });
  for (std::size_t n = 0; n < indices.size(); ++n) empty[n] = empty[n] && !excluded[n];
  return empty;
}

std::vector<NumberFacts> number_facts(const CsvText& text, const CsvShape& shape,
                                      const std::vector<std::size_t>& indices, const std::vector<std::string>& nulls,
                                      ReadMeter& meter) {
  std::vector<NumberFacts> facts(indices.size());
  for_each_field(text, shape, indices, meter, [&](std::size_t n, const CsvField& field, const CsvScanner& place) {
    const std::string unquoted = field.quoted ? field.text() : std::string();
    if (field.quoted ? unquoted.empty() : contains(nulls, field.raw)) return;
    const std::string_view spelled = trim_blanks(field.quoted ? std::string_view(unquoted) : field.raw);
    const std::string pointed = text.decimal == '.' ? std::string() : with_decimal_point(spelled);
    const std::string_view number = text.decimal == '.' ? spelled : pointed;
    facts[n].has_codes = facts[n].has_codes || is_code(number);
    facts[n].add(number, [&] { return TextPlace{place.line_of(indices[n]), 0}; });
  });
  return facts;
}

CsvPlace field_in_record(const CsvText& text, const CsvShape& shape, std::size_t index, std::int64_t record) {
  CsvScanner scanner = text.scanner();
  while (scanner.next()) {
    if (scanner.end() <= shape.data_begin || record-- > 0) continue;
    if (index >= scanner.fields().size()) break;
    return {scanner.fields()[index].text(), scanner.line_of(index)};
  }
  return {};
}

}  // namespace skyrank::datasets

#include "tools/skyrank/answers/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "datasets/write/text_rows.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/text/words.hpp"

namespace skyrank::tools {
namespace {

std::string row_of(const Result& answer, std::size_t at) {
  const auto row = static_cast<std::int64_t>(at);
  std::string text = datasets::jsonl_rows(answer.table, row, row + 1);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Returns rows of an answer as objects of JSON, by their ids: those of ascending ids, or all.
std::map<RowId, std::string> rows_of(const Result& answer, const std::vector<RowId>* ids) {
  std::map<RowId, std::string> rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    if (ids != nullptr && !std::ranges::binary_search(*ids, answer.rows[i])) continue;
    rows.emplace(answer.rows[i], row_of(answer, i));
  }
  return rows;
}

/// Returns true if a row that stays in the answer of rows that only come and go may have other values: of groups,
/// levels and functions of other rows.
bool may_change_values(const Query& query) {
  if (query.has_groups() || query.levels() || query.at_least() || query.skyband()) return true;
  return std::ranges::any_of(query.select(), [](const SelectItem& item) {
    const std::string text = item.expression.text();
    return text.find('(') != std::string::npos || text == "level";
  });
}

std::string with_values(RowId id, const std::string& values) {
  return fmt::format(R"({{"id":{},"values":{}}})", id, values);
}

}  // namespace

ChangesAsJson::ChangesAsJson(Console& console, const Query& query)
    : console_(console), has_changing_values_(may_change_values(query)) {}

void ChangesAsJson::begin(const StandingQuery& standing) {
  shown_ = standing.answer();
  if (has_changing_values_) rows_ = rows_of(*shown_, nullptr);
}

void ChangesAsJson::write(const StandingQuery& standing, const Changes& changes) {
  if (!has_changing_values_ && changes == Changes()) return;
  std::shared_ptr<const Result> answer = standing.answer();
  if (answer == shown_) return;
  std::map<RowId, std::string> rows = rows_of(*answer, has_changing_values_ ? nullptr : &changes.entered);
  std::vector<std::string> entered;
  for (const RowId id : changes.entered) entered.push_back(with_values(id, rows.at(id)));
  std::vector<std::string> changed;
  for (const auto& [id, values] : rows_) {
    const auto now = rows.find(id);
    if (now != rows.end() && now->second != values) changed.push_back(with_values(id, now->second));
  }
  shown_ = std::move(answer);
  if (has_changing_values_) rows_ = std::move(rows);
  if (entered.empty() && changed.empty() && changes.left.empty()) return;
  std::string line = fmt::format(R"({{"next_id":{},"entered":[{}])", standing.next_id(), fmt::join(entered, ","));
  if (!changed.empty()) line += fmt::format(R"(,"changed":[{}])", fmt::join(changed, ","));
  console_.print(line + fmt::format(",\"left\":[{}]}}\n", fmt::join(changes.left, ",")));
}

void ChangesAsTable::begin(const StandingQuery& standing) {
  if (standing.next_id() > 0) write(standing, {});
}

void ChangesAsTable::write(const StandingQuery& standing, const Changes& /*changes*/) {
  constexpr std::int64_t kRowsOnTerminal = 40;
  const std::shared_ptr<const Result> answer = standing.answer();
  const bool redraws = console_.output_is_terminal();
  if (redraws) console_.print("\x1b[H\x1b[2J");
  console_.print(console_.strong(name_) + "\n");
  print_table(console_, answer->table, redraws ? kRowsOnTerminal : -1);
  const std::string counts =
      counted(std::ssize(answer->rows), "row", "rows") + " from " + with_separators(standing.next_id()) + " so far";
  console_.print(console_.faint(counts) + (redraws ? "\n" : "\n\n"));
}

}  // namespace skyrank::tools

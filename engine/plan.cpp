#include <skyrank/plan.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

// Prints plans as trees for a terminal.
namespace skyrank {
inline namespace v0 {
namespace {

// Three significant digits, without exponents for what a person would read as time.
std::string milliseconds(double ms) {
  char buffer[48];
  const int decimals = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
  std::snprintf(buffer, sizeof buffer, ms < 1e15 ? "%.*f ms" : "%.*e ms", decimals, ms);
  return buffer;
}

/// A count with separators: "1,234,567".
std::string counted(double count) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, count < 1e15 ? "%.0f" : "%.3g", count);
  std::string text = buffer;
  if (count < 1e15) {
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  }
  return text;
}

std::string rows(double count) {
  const std::string text = counted(count);
  return text + (text == "1" ? " row" : " rows");
}

std::string path_line(const PlanNode& node) {
  std::string line = node.algorithm;
  if (!node.device.empty()) line += line.empty() ? "on " + node.device : " on " + node.device;
  for (std::size_t i = 0; i < node.parameters.size(); ++i) {
    line += i == 0 ? " with " : ", ";
    line += node.parameters[i].first + "=" + std::to_string(node.parameters[i].second);
  }
  if (!node.reason.empty()) line += line.empty() ? node.reason : ": " + node.reason;
  return line;
}

std::string bytes(double count) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; count >= 1000 && unit + 1 < std::size(kUnits); ++unit) count /= 1000;
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.3g %s", count, kUnits[unit]);
  return buffer;
}

/// The bounds of a node's rows, " (10 to 80)", where they tell something: more may come than expected, but not all.
std::string bounds_of_rows(const PlanNode& node) {
  const std::string high = counted(node.predicted_rows_high);
  if (node.children.empty() || node.predicted_rows_high >= node.children.front().predicted_rows_high) return "";
  if (high == counted(node.predicted_rows)) return "";
  return " (" + counted(node.predicted_rows_low) + " to " + high + ")";
}

std::string cost_line(const PlanNode& node) {
  std::string line =
      "predicted " + rows(node.predicted_rows) + bounds_of_rows(node) + " in " + milliseconds(node.predicted_ms);
  if (node.predicted_bytes > 0) line += ", " + bytes(node.predicted_bytes) + " of memory";
  if (!node.measured_rows && !node.measured_ms) return line;
  line += "; measured";
  if (node.measured_rows) line += " " + rows(static_cast<double>(*node.measured_rows));
  if (node.measured_ms) line += " in " + milliseconds(*node.measured_ms);
  return line;
}

std::string work_line(const Work& work) {
  const auto text = [](std::uint64_t count) { return counted(static_cast<double>(count)); };
  return "work: " + text(work.dominance_tests) + " dominance tests, " + text(work.mask_tests) + " mask tests, " +
         text(work.bytes_read) + " bytes read, " + text(work.bytes_written) + " bytes written, " +
         text(work.candidates) + " candidates";
}

std::string transfer_line(const Transferred& transferred) {
  return "transferred: " + bytes(static_cast<double>(transferred.to_device)) + " to the GPU, " +
         bytes(static_cast<double>(transferred.from_device)) + " from it";
}

std::string statistics_line(const PlanNode& node) {
  std::string line = "statistics:";
  for (const auto& [name, value] : node.statistics) {
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "%.4g", value);
    const std::string text = value >= 1000 ? counted(value) : buffer;
    line += (&name == &node.statistics.front().first ? " " : ", ") + name + " " + text;
  }
  return line;
}

/// One line each, the cheapest first; those that lost for the same reason, and without a cost, share one.
std::vector<std::string> alternative_lines(std::vector<Alternative> others) {
  const auto rank = [](const Alternative& other) {
    return other.predicted_ms > 0 ? other.predicted_ms : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(others, {}, rank);
  std::vector<std::string> lines;
  std::map<std::string, std::size_t> line_of_reason;
  for (const Alternative& other : others) {
    const bool costed = other.predicted_ms > 0;
    if (!costed && !other.reason.empty()) {
      const auto [found, is_new] = line_of_reason.try_emplace(other.reason, lines.size());
      if (is_new) lines.emplace_back("not ");
      lines[found->second] += (is_new ? "" : ", ") + other.algorithm;
      continue;
    }
    lines.push_back("not " + other.algorithm);
    if (costed) lines.back() += ", " + milliseconds(other.predicted_ms);
    if (!other.reason.empty()) lines.back() += ": " + other.reason;
  }
  for (const auto& [reason, line] : line_of_reason) lines[line] += ": " + reason;
  return lines;
}

/// One line a rule that was applied, and one for all that were not for the same reason. Those that the query has no use
/// for go without saying.
void append_rules(std::string& text, const std::vector<RuleOutcome>& outcomes) {
  if (outcomes.empty()) return;
  std::size_t width = 0;
  for (const RuleOutcome& outcome : outcomes) width = std::max(width, outcome.rule.size());
  text += "rules\n";
  for (const RuleOutcome& outcome : outcomes) {
    if (!outcome.applied) continue;
    text += "    " + outcome.rule + std::string(width - outcome.rule.size() + 2, ' ') + outcome.reason + '\n';
  }
  std::vector<Alternative> left_out;
  for (const RuleOutcome& outcome : outcomes) {
    if (!outcome.applied && !outcome.reason.empty()) left_out.push_back({outcome.rule, 0, outcome.reason});
  }
  for (const std::string& line : alternative_lines(left_out)) text += "    " + line + '\n';
}

/// One line a candidate, those of a choice below each other.
void append_decisions(std::string& text, const std::vector<PricedDecision>& decisions) {
  if (decisions.empty()) return;
  std::size_t subjects = 0;
  std::size_t names = 0;
  for (const PricedDecision& made : decisions) {
    subjects = std::max(subjects, made.subject.size());
    for (const PricedCandidate& it : made.candidates) names = std::max(names, it.name.size());
  }
  const auto padded = [](std::string word, std::size_t width) { return word.append(width + 2 - word.size(), ' '); };
  text += "candidates\n";
  for (const PricedDecision& made : decisions) {
    for (const PricedCandidate& it : made.candidates) {
      const bool first = &it == &made.candidates.front();
      text += "    " + padded(first ? made.subject : "", subjects) + padded(it.name, names) +
              milliseconds(it.predicted_ms) + ", at high " + milliseconds(it.predicted_ms_high) +
              (it.taken ? "  taken\n" : "\n");
    }
  }
}

/// `first` stands before the operator's own line, `rest` before everything below it.
void append(std::string& text, const PlanNode& node, const std::string& first, const std::string& rest) {
  text += first + node.op + (node.detail.empty() ? "" : "  " + node.detail) + '\n';
  const std::string body = rest + (node.children.empty() ? "    " : "│   ");
  const auto add = [&](const std::string& line) { text += body + line + '\n'; };
  if (const std::string path = path_line(node); !path.empty()) add(path);
  if (!node.fallback.empty()) add("otherwise: " + node.fallback);
  if (!node.guard.empty()) add("guard: " + node.guard);
  add(cost_line(node));
  if (node.work) add(work_line(*node.work));
  if (node.transferred) add(transfer_line(*node.transferred));
  if (!node.statistics.empty()) add(statistics_line(node));
  for (const std::string& line : alternative_lines(node.alternatives)) add(line);
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool last = i + 1 == node.children.size();
    append(text, node.children[i], rest + (last ? "└─ " : "├─ "), rest + (last ? "   " : "│  "));
  }
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  dominance_tests += other.dominance_tests;
  mask_tests += other.mask_tests;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  candidates += other.candidates;
  return *this;
}

std::string to_string(const PlanNode& plan) {
  std::string text;
  append(text, plan, "", "");
  append_rules(text, plan.rules);
  append_decisions(text, plan.decisions);
  return text;
}

}  // namespace v0
}  // namespace skyrank

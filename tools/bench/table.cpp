#include "tools/bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace skyrank::bench {
namespace {

using Row = std::vector<std::string>;

/// Columns padded to equal widths, two spaces apart and after an indentation of two: the first to the left, the others
/// to the right. Columns without a word below their heading are left out.
std::string aligned(const std::vector<Row>& rows) {
  std::string text;
  std::vector<std::size_t> widths(rows.front().size());
  for (std::size_t c = 0; c < widths.size(); ++c) {
    const bool used =
        std::ranges::any_of(rows.begin() + 1, rows.end(), [&](const Row& row) { return !row[c].empty(); });
    for (const Row& row : rows) widths[c] = used ? std::max(widths[c], row[c].size()) : 0;
  }
  for (const Row& row : rows) {
    text += fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (widths[c] > 0) text += fmt::format("  {:>{}}", row[c], widths[c]);
    }
    text += '\n';
  }
  return text;
}

std::string with_separators(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

/// Three significant digits with a unit: 1.14 M, 390 M, 8.84 G. Empty for 0.
std::string short_count(std::uint64_t count) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T", " P"};
  if (count == 0) return "";
  double value = static_cast<double>(count);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  if (unit == 0) return std::to_string(count);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string rounded_milliseconds(double ms) { return fmt::format("{:.{}f}", ms, ms < 1 ? 4 : ms < 100 ? 2 : 0); }

std::string ratio(double value) { return fmt::format("{:.{}f}", value, value < 100 ? 2 : 0); }

std::vector<Measurement> fastest_first(std::vector<Measurement> measured) {
  std::ranges::stable_sort(measured, {}, [](const Measurement& it) { return it.times.median_ms; });
  return measured;
}

Row row_of(const Measurement& it, const CellResult& result, double best_ms) {
  const double key_bytes = static_cast<double>(result.key_bytes);
  return {it.algorithm,
          std::to_string(it.runs),
          rounded_milliseconds(it.times.median_ms),
          rounded_milliseconds(it.times.min_ms),
          ratio(it.times.median_ms / best_ms),
          it.floor ? ratio(it.times.median_ms / it.floor->median_ms) : "",
          it.extra_memory ? ratio(static_cast<double>(*it.extra_memory) / key_bytes) : "",
          short_count(it.work.dominance_tests),
          short_count(it.work.mask_tests),
          short_count(it.work.candidates),
          it.fault.empty() ? "yes" : "NO"};
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

/// One algorithm over all cells.
struct Standing {
  std::string algorithm;
  std::vector<double> ratios;  ///< to the best of each cell
  std::vector<double> floors;  ///< to the floor, where there is one
};

std::vector<Standing> standings(const std::vector<CellResult>& results, Op op) {
  std::vector<Standing> list;
  for (const CellResult& result : results) {
    if (result.cell.op != op || result.measured.empty()) continue;
    const double best_ms = fastest_first(result.measured).front().times.median_ms;
    for (const Measurement& it : result.measured) {
      auto standing = std::ranges::find(list, it.algorithm, &Standing::algorithm);
      if (standing == list.end()) standing = list.insert(list.end(), Standing{it.algorithm, {}, {}});
      standing->ratios.push_back(it.times.median_ms / best_ms);
      if (it.floor) standing->floors.push_back(it.times.median_ms / it.floor->median_ms);
    }
  }
  std::ranges::stable_sort(list, {}, [](const Standing& standing) { return geometric_mean(standing.ratios); });
  return list;
}

std::string summary_of(const std::vector<Standing>& list, Op op) {
  std::vector<Row> rows = {
      {"algorithm", "cells", "best in", "mean ratio", "worst ratio", "mean x floor", "worst x floor"}};
  for (const Standing& it : list) {
    rows.push_back({it.algorithm, std::to_string(it.ratios.size()), std::to_string(std::ranges::count(it.ratios, 1.0)),
                    ratio(geometric_mean(it.ratios)), ratio(std::ranges::max(it.ratios)),
                    it.floors.empty() ? "" : ratio(geometric_mean(it.floors)),
                    it.floors.empty() ? "" : ratio(std::ranges::max(it.floors))});
  }
  return fmt::format("{}: over all cells, geometric means\n{}", to_string(op), aligned(rows));
}

}  // namespace

std::string title(const Cell& cell) {
  std::string text =
      fmt::format("{}  {}  n {}  d {}", to_string(cell.op), cell.distribution, with_separators(cell.n), cell.d);
  if (cell.op == Op::topk) text += fmt::format("  k {}  ties {}", with_separators(cell.k), to_string(cell.ties));
  if (cell.file.empty()) text += fmt::format("  {}", to_string(cell.type));
  text += fmt::format("  {} {}", cell.threads, cell.threads == 1 ? "thread" : "threads");
  return cell.parameters.empty() ? text : text + "  " + to_string(cell.parameters);
}

std::string table(const CellResult& result) {
  std::string text;
  if (!result.measured.empty()) {
    const std::vector<Measurement> measured = fastest_first(result.measured);
    std::vector<Row> rows = {{"algorithm", "runs", "median ms", "min ms", "ratio", "x floor", "x keys",
                              "dominance tests", "mask tests", "candidates", "correct"}};
    for (const Measurement& it : measured) rows.push_back(row_of(it, result, measured.front().times.median_ms));
    text += aligned(rows);
    for (const Measurement& it : measured) {
      if (!it.fault.empty()) text += fmt::format("  {} is WRONG: {}\n", it.algorithm, it.fault);
    }
  }
  for (const Skipped& it : result.skipped) text += fmt::format("  {} left out: {}\n", it.algorithm, it.reason);
  return text;
}

std::string summary(const std::vector<CellResult>& results) {
  std::string text;
  for (const Op op : {Op::skyline, Op::topk}) {
    const std::vector<Standing> list = standings(results, op);
    if (!list.empty()) text += (text.empty() ? "" : "\n") + summary_of(list, op);
  }
  return text;
}

}  // namespace skyrank::bench

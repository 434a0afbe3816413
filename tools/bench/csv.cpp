#include "tools/bench/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace skyrank::bench {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string op_name(const Cell& cell) {
  const std::string name(to_string(cell.op));
  const bool plain = cell.op == Op::skyline || cell.ties == kernels::TieRule::first;
  return plain ? name : fmt::format("{} ties={}", name, to_string(cell.ties));
}

std::string milliseconds(double ms) { return fmt::format("{:.4f}", ms); }

/// The work W of Definition 3 of Bøgh et al., PVLDB 2015.
std::uint64_t definition_3(const kernels::Work& work, int d) {
  return 3 * work.mask_tests + (6 * static_cast<std::uint64_t>(d) + 4) * work.dominance_tests;
}

/// A JSON list of the stages.
std::string stages_text(const std::vector<kernels::StageWork>& stages) {
  std::vector<std::string> texts;
  for (const kernels::StageWork& it : stages) {
    texts.push_back(fmt::format(R"({{"stage": "{}", "ms": {}, "rows": {}, "dominance_tests": {}, "mask_tests": {}}})",
                                it.name, milliseconds(it.ms), it.rows, it.dominance_tests, it.mask_tests));
  }
  return texts.empty() ? "" : fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string line(const Measurement& it, const CellResult& result, const RunInfo& info) {
  const Cell& cell = result.cell;
  const std::string values[] = {
      quoted(info.suite),
      it.algorithm,
      it.device == kernels::Device::cpu ? "cpu" : "cuda",
      op_name(cell),
      cell.file.empty() ? std::string(to_string(cell.type)) : "of the file",
      "row id",
      cell.distribution + (cell.high && cell.file.empty() ? " high" : ""),
      std::to_string(cell.n),
      std::to_string(cell.d),
      cell.op == Op::topk ? std::to_string(cell.k) : "",
      std::to_string(cell.threads),
      to_string(cell.parameters),
      milliseconds(it.times.median_ms),
      milliseconds(it.times.min_ms),
      milliseconds(it.times.max_ms),
      std::to_string(it.runs),
      it.floor ? milliseconds(it.floor->median_ms) : "",
      it.floor ? fmt::format("{:.3f}", it.times.median_ms / it.floor->median_ms) : "",
      it.h2d_ms == 0 ? "0" : milliseconds(it.h2d_ms),
      it.d2h_ms == 0 ? "0" : milliseconds(it.d2h_ms),
      it.predicted_ms ? milliseconds(*it.predicted_ms) : "",
      std::to_string(it.work.bytes_read),
      std::to_string(it.work.bytes_written),
      std::to_string(it.work.dominance_tests),
      std::to_string(it.work.mask_tests),
      std::to_string(it.cell_tests),
      cell.op == Op::skyline ? std::to_string(definition_3(it.work, cell.d)) : "",
      std::to_string(it.work.candidates),
      it.extra_memory ? std::to_string(*it.extra_memory) : "",
      quoted(stages_text(it.stages)),
      std::to_string(it.result_size),
      it.fault.empty() ? "yes" : "no",
      quoted(info.commit),
      quoted(info.machine),
  };
  return fmt::format("{}\n", fmt::join(values, ","));
}

}  // namespace

std::string csv_header() {
  return "suite,algorithm,device,op,type,payload,dist,n,d,k,threads,parameters,median_ms,min_ms,max_ms,runs,floor_ms,x_"
         "floor,h2d_"
         "ms,d2h_ms,predicted_ms,bytes_read,bytes_written,dominance_tests,mask_tests,cell_tests,work,candidates,"
         "extra_bytes,stages,result_size,correct,commit,machine\n";
}

std::string csv_lines(const CellResult& result, const RunInfo& info) {
  std::string lines;
  for (const Measurement& it : result.measured) lines += line(it, result, info);
  return lines;
}

}  // namespace skyrank::bench

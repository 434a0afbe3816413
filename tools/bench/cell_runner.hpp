#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/data/data.hpp"
#include "tools/bench/data/grid.hpp"
#include "tools/bench/measure.hpp"

namespace skyrank::bench {

/// Measures the registered algorithms on one cell after the other.
class CellRunner {
 public:
  explicit CellRunner(MeasureOptions options) : options_(std::move(options)) {}

  /// Makes the data of a cell, which stay for the next cells that have the same. Throws what make_data throws.
  void prepare(const Cell& cell);

  /// Prepares and measures. Throws kernels::Cancelled after a stop request, std::bad_alloc, and what make_data throws.
  CellResult run(const Cell& cell);

  /// The algorithms that `run` would try, and those it would not.
  std::vector<std::string> candidates(const Cell& cell, std::vector<Skipped>& skipped) const;

 private:
  struct Overrun {
    std::string algorithm;
    Cell cell;
  };

  /// Why an algorithm need not be tried, from the cells so far.
  std::optional<std::string> known_overrun(std::string_view algorithm, const Cell& cell) const;
  template <class Algorithm>
  std::vector<const Algorithm*> contenders(const Cell& cell, std::vector<Skipped>& skipped) const;
  template <class Algorithm>
  void run(CellResult& result);

  MeasureOptions options_;
  std::optional<Cell> data_cell_;
  Data data_;
  KeptData kept_;
  std::vector<Overrun> overruns_;
};

}  // namespace skyrank::bench

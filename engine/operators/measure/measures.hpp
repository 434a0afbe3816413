#pragma once

#include <cstdint>
#include <optional>

#include <skyrank/table.hpp>

#include "engine/operators/candidates.hpp"
#include "engine/operators/measure/levels_measured.hpp"
#include "engine/operators/skyline/skyband.hpp"
#include "engine/operators/skyline/skyline_stage.hpp"

// Measures of the rows that a preference keeps, by the rows of their partition from which it chose.
namespace skyrank::exec {

/// Makes the measures of candidates, each of which is a column with a value for each candidate.
class Measurer {
 public:
  /// `from` has the places of the candidates among the keys. The GPU counts rows if `on_device`. All references must
  /// outlive the measurer.
  Measurer(const query::BoundQuery& query, const Table& table, const ChosenFrom& from, const Candidates& candidates,
           bool on_device, const ExecutionContext& context)
      : query_(query), table_(table), from_(from), candidates_(candidates), on_device_(on_device), context_(context) {}

  Column column(const query::BoundMeasure& measure);

  const kernels::Work& work() const { return work_; }

 private:
  Column levels() const;
  Vector<std::int64_t> numbers_of_dominators();
  Vector<std::int64_t> numbers_of_dominated();
  AskingRows rows_by_segment() const;

  const query::BoundQuery& query_;
  const Table& table_;
  const ChosenFrom& from_;
  const Candidates& candidates_;
  bool on_device_;
  const ExecutionContext& context_;
  std::optional<MeasuredLevels> levels_;  ///< once they are asked for
  kernels::Work work_;
};

}  // namespace skyrank::exec

#pragma once

#include <numeric>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>

#include "engine/operators/gather/gather.hpp"

// Tables in parts, for the tests of partial answers.
namespace skyrank {

/// An engine that answers on one thread of the CPU.
inline const Engine& sequential_engine() {
  static const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  return engine;
}

/// Returns the rows [begin, end) of a table.
inline Table rows_of(const Table& table, RowId begin, RowId end) {
  std::vector<RowId> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return exec::gather(table, rows);
}

/// Returns the partial answers of the parts between ascending cuts, from row 0 to the last row.
inline std::vector<Partial> partials_of(const Engine& engine, const Query& query, const Table& table,
                                        std::vector<RowId> cuts) {
  cuts.push_back(table.num_rows());
  std::vector<Partial> partials;
  RowId begin = 0;
  for (const RowId cut : cuts) {
    partials.push_back(engine.partial(query, rows_of(table, begin, cut), begin));
    begin = cut;
  }
  return partials;
}

/// Sends a partial answer through the Arrow C data interface.
inline Partial through_arrow(const Partial& partial) {
  ArrowArray array{};
  ArrowSchema schema{};
  partial.export_arrow(&array, &schema);
  return Partial::import_arrow(&array, &schema);
}

}  // namespace skyrank

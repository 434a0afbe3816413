#include "engine/operators/partition/partition_stage.hpp"

#include <utility>

#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/partition/partition.hpp"

namespace skyrank::exec {

RowSlots number_partitions(Execution& execution, const SourceTable& source, const Rows& rows) {
  // Groups of a grouped table are not those that were sampled.
  const Numbering numbering = source.grouped ? Numbering::by_values : execution.plan.numbering;
  RowSlots slots = slots_of(source.table, execution.query().partition_columns, rows, numbering);
  execution.record.of(*execution.plan.operators.partition).note = slots.describe();
  return slots;
}

Segments partition_rows(Execution& execution, const SourceTable& source, const RowSet& rows,
                        std::optional<Segments> split) {
  if (!execution.plan.operators.partition) return one_segment(rows.size());
  const Operator& op = *execution.plan.operators.partition;
  if (!split) {
    split =
        execution.timed(op, [&] { return segments_of(classify(number_partitions(execution, source, rows.view()))); });
  }
  execution.record.of(op).rows = rows.size();
  execution.record.of(op).partitions = split->count();
  return std::move(*split);
}

}  // namespace skyrank::exec

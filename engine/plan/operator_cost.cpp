#include "engine/plan/operator_cost.hpp"

#include <algorithm>
#include <cmath>

#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {
namespace {

using planner::cost::kCudaByte;
using planner::cost::kCudaLaunch;
using planner::cost::kCudaWait;
using planner::cost::kTransferByte;
using query::Op;

// Seconds for a row, from `skyrank explain --analyze` over 10^6 rows with 1 and 2 threads of an AMD EPYC.
constexpr double kNode = 0.5e-9;       // an operation of a condition or a score on numbers
constexpr double kText = 8e-9;         // one on strings
constexpr double kFunction = 8e-9;     // a logarithm or an exponential
constexpr double kListedLoad = 2e-9;   // a value of a row that does not lie next to the one before
constexpr double kListRow = 2e-9;      // the id of a row that passed
constexpr double kKey = 1e-9;          // a key out of a value
constexpr double kGatherValue = 8e-9;  // a value of the answer
constexpr double kGatherText = 40e-9;
constexpr double kStart = 2e-6;

// The same for groups, from 10^7 rows in 500 to 10^7 groups with one thread of an Intel Xeon.
constexpr double kByValue = 3e-9;           // a number of a group out of a value
constexpr double kHash = 12e-9;             // one by hashing, for each of the columns
constexpr double kHashText = 60e-9;         // the same of strings
constexpr double kGroup = 120e-9;           // a group that was not there before
constexpr double kAggregate = 5e-9;         // a value on its group
constexpr double kGroupAggregate = 100e-9;  // an aggregate of a group
constexpr double kListed = 10e-9;           // a row beside those of its partition

constexpr double kHomeValue = 30e-9;  // a value of a group that a GPU made, by one thread: a guess

// Seconds that one operation of an expression takes for a row on an H200, beside the time of the memory.
constexpr double kDeviceOperation = 0.7e-12;
constexpr double kSector = 32;  // bytes that memory there is read by

bool is_text(const Operation& operation) { return operation.type.type == Type::string; }

/// Seconds for the value of one row of an operation whose operands are there.
double seconds_of(const Ir& ir, const Operation& operation) {
  if (is_literal(operation)) return 0;
  if (operation.op == Op::column) return is_text(operation) ? kText / 2 : kNode / 2;
  if (operation.op == Op::log || operation.op == Op::exp) return kFunction;
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    if (is_text(ir.operand(operation, i))) return kText;
  }
  return kNode;
}

/// Seconds for the value of one row.
double evaluation(const Ir& ir) {
  double seconds = 0;
  for (const Operation& operation : ir.operations()) seconds += seconds_of(ir, operation);
  return seconds;
}

/// Operations for the value of one row.
double operations(const Ir& ir) {
  return static_cast<double>(
      std::ranges::count_if(ir.operations(), [](const Operation& operation) { return !operation.operands.empty(); }));
}

/// Seconds of one thread for the numbers of all rows.
double numbering(const GroupingShape& shape) {
  double row = 0;
  for (const DataType type : shape.types) row += type.type == Type::string ? kHashText : kHash;
  if (shape.numbering == Numbering::by_values) row = static_cast<double>(shape.types.size()) * kByValue;
  return shape.rows * row + shape.groups * kGroup;
}

/// Bytes of the numbers, and of the hashes while these are made.
double number_bytes(const GroupingShape& shape) {
  constexpr double kHashed = sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t);
  return shape.numbering == Numbering::by_hashing ? shape.rows * kHashed : 0;
}

double start_and(double seconds, int threads) { return kStart + seconds / std::max(threads, 1); }

}  // namespace

OperatorCost filter_cost(const Ir& condition, double rows, double kept, int threads) {
  return {start_and(rows * evaluation(condition) + kept * kListRow, threads), kept * sizeof(std::int64_t)};
}

OperatorCost group_cost(const query::BoundGroup& group, const GroupingShape& shape, int threads) {
  double row = 0;
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    if (aggregate.argument) row += kAggregate + evaluation(lower(*aggregate.argument->root));
  }
  const auto aggregates = static_cast<double>(group.aggregates.size());
  const auto columns = static_cast<double>(shape.types.size()) + aggregates;
  const double seconds = numbering(shape) + shape.rows * row + shape.groups * aggregates * kGroupAggregate;
  return {start_and(seconds, threads), number_bytes(shape) + shape.groups * columns * sizeof(std::int64_t)};
}

OperatorCost missing_cost(const std::vector<const query::BoundExpression*>& expressions, double rows, int threads) {
  double row = kListRow;
  for (const query::BoundExpression* expression : expressions) row += kNode + evaluation(lower(*expression->root));
  return {start_and(rows * row, threads), rows * sizeof(std::int64_t)};
}

OperatorCost partition_cost(const GroupingShape& shape, int threads) {
  return {start_and(numbering(shape), threads) + shape.rows * kListed,
          number_bytes(shape) + 2 * shape.rows * sizeof(std::int64_t)};
}

OperatorCost numbering_cost(const GroupingShape& shape, int threads) {
  return {start_and(numbering(shape), threads), number_bytes(shape)};
}

// Codes and their range are two passes over the columns. A radix sort moves pairs of 4 and 4 bytes once for 8 bits, and
// once before; two passes over the codes find where partitions begin. Keys are read here and there.
OperatorCost device_partition_cost(double rows, double groups, double column_bytes, double key_bytes) {
  constexpr double kLaunches = 20;
  constexpr double kWaits = 6;
  constexpr double kPair = 8;
  constexpr double kCode = 4;
  const double passes = std::ceil(std::log2(std::max(groups, 2.0)) / 8) + 1;
  const double row = 2 * column_bytes + 2 * kCode + 2 * kPair * passes + 2 * kCode + kCode + kSector + key_bytes;
  return {kLaunches * kCudaLaunch + kWaits * kCudaWait + rows * row * kCudaByte, 2 * rows * kPair};
}

bool selects_candidates(const PartitionedShape& shape) {
  constexpr double kMaxGroups = 65'536;
  constexpr double kMaxWanted = 256;
  constexpr double kSampledRows = 64;  // for each wanted row of a group
  return shape.groups <= kMaxGroups && shape.wanted <= kMaxWanted &&
         shape.groups * std::max(shape.wanted, 16.0) * kSampledRows <= shape.rows;
}

double candidate_rows(const PartitionedShape& shape) {
  constexpr double kStride = 80;  // rows for each that the sample looks at, and what bounds leave room for
  return std::min(shape.rows / 4, shape.groups * shape.wanted * kStride);
}

// One pass for the range of the codes, and one over both columns. The rows that are left are sorted.
OperatorCost device_candidates_cost(const PartitionedShape& shape) {
  constexpr double kLaunches = 12;
  constexpr double kWaits = 3;
  const OperatorCost sorted = device_partition_cost(candidate_rows(shape), shape.groups, sizeof(std::uint32_t), 0);
  const double row = 2 * shape.column_bytes + shape.key_bytes;
  return {sorted.seconds + kLaunches * kCudaLaunch + kWaits * kCudaWait + shape.rows * row * kCudaByte,
          sorted.bytes + shape.rows * sizeof(std::uint32_t) / 4};
}

// Values are read here and there. Totals of groups come to the host, which makes columns of them. Where a ranking wants
// the best groups alone, its keys are sorted there before.
OperatorCost device_group_cost(const DeviceGroupingShape& shape) {
  constexpr double kTotal = 40;  // bytes of a group
  constexpr double kFirst = 12;
  constexpr double kSortedKey = 2 * 8 * 9;  // bytes that a radix sort moves
  const OperatorCost sorted = device_partition_cost(shape.rows, shape.groups, shape.column_bytes, 0);
  const double added = shape.totals * (2 * kCudaLaunch + kCudaWait + shape.rows * kSector * kCudaByte);
  const double left =
      shape.host_groups < shape.groups ? 12 * kCudaLaunch + kCudaWait + shape.groups * kSortedKey * kCudaByte : 0;
  const double sent = shape.host_groups * (kFirst + shape.totals * kTotal) * kTransferByte;
  return {sorted.seconds + added + left + sent + shape.host_groups * shape.columns * kHomeValue,
          sorted.bytes + shape.groups * shape.totals * kTotal};
}

OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes, double rows,
                       bool listed, int threads) {
  double row = 0;
  for (const query::BoundExpression* expression : expressions) {
    row += kKey + evaluation(lower(*expression->root)) + (listed ? kListedLoad : 0);
  }
  return {start_and(rows * row, threads), rows * bytes};
}

// Bits of the rows, sums of these, ids, and two waits of the host: whether a row failed, and how many pass.
OperatorCost device_filter_cost(const Ir& condition, double column_bytes, double rows, double kept) {
  constexpr double kLaunches = 5;
  constexpr double kBits = 0.5;  // bytes of bits and their sums, written and read
  const double written = kept * sizeof(std::int64_t);
  const double moved = rows * (column_bytes + kBits) + written;
  return {kLaunches * kCudaLaunch + 2 * kCudaWait + moved * kCudaByte + rows * operations(condition) * kDeviceOperation,
          written};
}

// Values of rows here and there take as much as whole columns do, as long as these have a row in each piece of memory.
OperatorCost device_keys_cost(const std::vector<const query::BoundExpression*>& expressions, double column_bytes,
                              double bytes, double rows, double share) {
  const auto terms = static_cast<double>(expressions.size());
  const double read = std::min(column_bytes / std::max(share, 1e-9), terms * kSector);
  const double id = share < 1 ? terms * sizeof(std::int64_t) : 0;
  double computed = 0;
  for (const query::BoundExpression* expression : expressions) computed += operations(lower(*expression->root));
  return {terms * kCudaLaunch + rows * ((read + id + bytes) * kCudaByte + computed * kDeviceOperation), rows * bytes};
}

OperatorCost gather_cost(const std::vector<query::BoundOutput>& outputs, double rows) {
  double seconds = 0;
  double bytes = 0;
  for (const query::BoundOutput& output : outputs) {
    const bool stored = output.kind == query::BoundOutput::Kind::expression && output.expression.root != nullptr;
    const bool text = stored && output.expression.type.type == Type::string;
    seconds += rows * (text ? kGatherText : kGatherValue);
    bytes += rows * (text || !stored ? 8 : std::max(1, width_in_bytes(output.expression.type.type)));
  }
  return {kStart + seconds, bytes};
}

}  // namespace skyrank::exec

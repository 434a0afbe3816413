#include "engine/operators/group/slots/numbering_cost.hpp"

namespace skyrank::exec {

double numbering_seconds(const GroupingShape& shape) {
  double row = 0;
  for (const DataType type : shape.types) row += type.type == Type::string ? unit_cost::kHashText : unit_cost::kHash;
  if (shape.numbering == Numbering::by_values) row = static_cast<double>(shape.types.size()) * unit_cost::kByValue;
  return shape.rows * row + shape.groups * unit_cost::kGroup;
}

double number_bytes(const GroupingShape& shape) {
  constexpr double kHashed = sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t);
  return shape.numbering == Numbering::by_hashing ? shape.rows * kHashed : 0;
}

OperatorCost numbering_cost(const GroupingShape& shape, int threads) {
  return {start_and(numbering_seconds(shape), threads), number_bytes(shape)};
}

}  // namespace skyrank::exec

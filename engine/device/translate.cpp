#include "engine/device/translate.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/expression/numeric.hpp"
#include "engine/runtime/column_cache.hpp"

// Writes a compiled expression as a program of the device in postfix order, from the root down. A part without a form
// on the device is evaluated by the host and sent as a column, from the highest node that has no form on. Truths are
// the numbers 0 and 1 there, times are their ticks, and decimals are the integers that they are stored as, where that
// gives the same result.
namespace skyrank::exec {

using kernels::Instruction;
using kernels::Number;
using kernels::Opcode;
using kernels::cuda::expression::DeviceExpression;
using query::Op;

namespace {

/// The type that the device computes with; truths are numbers 0 and 1 there, times their ticks.
Number number_of(Type type) {
  if (type == Type::float64) return Number::float64;
  return type == Type::uint64 ? Number::uint64 : Number::int64;
}

Opcode opcode_of(Op op) {
  switch (op) {
    case Op::add: return Opcode::add;
    case Op::subtract: return Opcode::subtract;
    case Op::multiply: return Opcode::multiply;
    case Op::divide: return Opcode::divide;
    case Op::modulo: return Opcode::modulo;
    case Op::equal: return Opcode::equal;
    case Op::not_equal: return Opcode::not_equal;
    case Op::less:
    case Op::greater: return Opcode::less;
    case Op::less_equal:
    case Op::greater_equal: return Opcode::less_equal;
    case Op::logical_and: return Opcode::logical_and;
    case Op::logical_or: return Opcode::logical_or;
    case Op::logical_not: return Opcode::logical_not;
    case Op::min: return Opcode::lesser;
    case Op::max: return Opcode::greater;
    case Op::abs: return Opcode::absolute;
    case Op::sqrt: return Opcode::square_root;
    case Op::floor: return Opcode::round_down;
    case Op::ceil: return Opcode::round_up;
    default: break;
  }
  return Opcode::negate;
}

std::uint64_t bits_of(const Constant& constant) {
  return std::visit(
      []<class T>(const T& stored) -> std::uint64_t {
        if constexpr (std::is_same_v<T, double>) {
          return kernels::with_bits_of<std::uint64_t>(stored);
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          return 0;
        } else {
          return static_cast<std::uint64_t>(stored);
        }
      },
      constant.stored);
}

/// Ascending, with one zero.
std::vector<std::uint64_t> bits_of(const MemberSet& members) {
  std::vector<std::uint64_t> bits;
  std::visit(
      [&]<class T>(const std::vector<T>& values) {
        if constexpr (!std::is_same_v<T, std::string_view>) {
          for (const T value : values) {
            if constexpr (std::is_same_v<T, double>) {
              bits.push_back(value == 0 ? 0 : kernels::with_bits_of<std::uint64_t>(value));
            } else {
              bits.push_back(static_cast<std::uint64_t>(value));
            }
          }
        }
      },
      members);
  std::sort(bits.begin(), bits.end());
  return bits;
}

bool is_string(const Operation& operation) { return operation.type.type == Type::string; }

bool is_decimal(const Operation& operation) { return skyrank::is_decimal(operation.type.type); }

/// Returns true where the operands of a comparison are decimals that compare as the integers they are stored as.
bool compare_as_stored(const Ir& ir, const Operation& operation) {
  const DataType first = ir.operand(operation, 0).type;
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    const DataType type = ir.operand(operation, i).type;
    if (type.type != Type::decimal64 || type.scale != first.scale) return false;
  }
  return true;
}

/// Returns true if an operand of an operation satisfies a predicate.
template <class Predicate>
bool any_operand(const Ir& ir, const Operation& operation, Predicate predicate) {
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    if (predicate(ir.operand(operation, i))) return true;
  }
  return false;
}

/// Returns true where the device computes a result without knowing of decimals: it has none, or integers will do.
bool decimals_have_form(const Ir& ir, const Operation& operation) {
  const bool from_decimals = any_operand(ir, operation, is_decimal);
  if (is_comparison(operation.op)) return !from_decimals || compare_as_stored(ir, operation);
  switch (operation.op) {
    case Op::literal:
    case Op::column: return operation.type.type != Type::decimal128;
    case Op::between:
    case Op::in: return !from_decimals || compare_as_stored(ir, operation);
    case Op::is_null: return ir.operand(operation, 0).type.type != Type::decimal128;
    default: return !from_decimals && !is_decimal(operation);
  }
}

class Translator {
 public:
  Translator(DeviceQueryState& device_state, const Program& program)
      : device_state_(device_state), program_(program), ir_(program.ir) {}

  DeviceExpression run() {
    emit(ir_.root());
    const Type type = ir_.root().type.type;
    result_.result = type == Type::boolean   ? kernels::Stored::truth_bytes
                     : type == Type::float64 ? kernels::Stored::float64
                     : type == Type::uint64  ? kernels::Stored::uint64
                                             : kernels::Stored::int64;
    return std::move(result_);
  }

 private:
  /// Returns true if an operation, its operands apart, has a form on the device.
  bool has_form(const Operation& operation) const {
    if (operation.answers != nullptr) return true;
    if (!decimals_have_form(ir_, operation)) return false;
    if (operation.op >= Op::year && operation.op <= Op::upper) return false;  // parts of times, and texts
    if (operation.op == Op::subtract && operation.type != operand(operation, 0).type &&
        operand(operation, 0).type.type == Type::uint64 && operand(operation, 1).type.type == Type::uint64) {
      return false;  // the device subtracts unsigned numbers as such
    }
    switch (operation.op) {
      case Op::literal: return operation.type.type != Type::string;
      case Op::column: return operation.type.type != Type::string && ResidentColumn::is_possible(*operation.data);
      case Op::bucket:
      case Op::log_bucket:
      case Op::log:
      case Op::exp:
      case Op::round:
      case Op::like:
      case Op::concat:
      case Op::cast: return false;
      case Op::coalesce: return operation.type.type != Type::string && all_but_last_are_columns(operation);
      case Op::in:
        if (operation.members == nullptr) return false;
        break;
      case Op::is_null:
        if (operand(operation, 0).op == Op::column) return ResidentColumn::is_possible(*operand(operation, 0).data);
        break;
      default: break;
    }
    return operation.type.type != Type::string && !any_operand(ir_, operation, is_string);
  }

  /// The device tests operands for NULL before it reads them, which takes no more than a column's validity.
  bool all_but_last_are_columns(const Operation& operation) const {
    for (std::size_t i = 0; i + 1 < operation.operands.size(); ++i) {
      const Operation& tested = operand(operation, i);
      if (tested.op != Op::column || !ResidentColumn::is_possible(*tested.data)) return false;
    }
    return true;
  }

  void emit(const Operation& operation) {
    if (!has_form(operation)) return emit_of_host(operation);
    if (operation.answers != nullptr) return emit_answers(operation);
    switch (operation.op) {
      case Op::literal: return emit_literal(operation);
      case Op::column: return emit_column(*operation.data);
      case Op::logical_and:
      case Op::logical_or: return emit_chain(operation, {.op = opcode_of(operation.op)});
      case Op::case_when: return emit_choice(operation);
      case Op::coalesce: return emit_coalesce(operation);
      case Op::is_null: return emit_is_null(operation);
      case Op::in: return emit_member(operation);
      case Op::between: return emit_between(operation);
      case Op::min:
      case Op::max: return emit_extremum(operation);
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal: return emit_comparison(operation, operand(operation, 0), operand(operation, 1));
      case Op::greater:
      case Op::greater_equal: return emit_comparison(operation, operand(operation, 1), operand(operation, 0));
      default: return query::is_arithmetic(operation.op) ? emit_arithmetic(operation) : emit_unary(operation);
    }
  }

  void add(const Instruction& instruction) { result_.instructions.push_back(instruction); }

  std::uint32_t index_of(const ColumnData& column) {
    result_.columns.push_back(device_state_.column(column));
    return static_cast<std::uint32_t>(result_.columns.size() - 1);
  }

  void emit_literal(const Operation& operation) {
    add({.op = Opcode::constant, .flag = is_null_literal(operation), .bits = bits_of(*operation.constant)});
  }

  void emit_column(const ColumnData& column) { add({.op = Opcode::column, .index = index_of(column)}); }

  void emit_answers(const Operation& operation) {
    const EntryAnswers& answers = *operation.answers;
    std::vector<std::uint8_t> table(answers.value.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<std::uint8_t>((answers.value[i] & 1) | (answers.valid[i] != 0 ? 2 : 0));
    }
    add({.op = Opcode::answer, .index = index_of(*operation.data), .table = device_state_.upload(table)});
    const std::size_t null_entry = answers.null_entry();
    if (answers.valid[null_entry] == 0) return;
    // `answer` gives NULL for a NULL row; `or` with truth and `and` with falsehood decide it.
    const bool truth = answers.value[null_entry] != 0;
    emit_column(*operation.data);
    add({.op = Opcode::is_null, .flag = !truth});
    add({.op = truth ? Opcode::logical_or : Opcode::logical_and});
  }

  /// The values of all rows of the table, so that a row's place is its id.
  void emit_of_host(const Operation& operation) {
    const Rows rows{program_.rows, nullptr};
    ColumnData column = evaluate_all(compile_part(program_, operation), rows, "computed by the host").data();
    drop_kept(column);  // no later query can ask for this column, so its copy is this query's alone
    emit_column(column);
  }

  void emit_chain(const Operation& operation, const Instruction& link) {
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      emit(operand(operation, i));
      if (i > 0) add(link);
    }
  }

  /// Emits an operation and its conversion. With `saturates` a number beyond int64 may become any other such number.
  void emit_converted(const Operation& operation, DataType type, bool saturates = false) {
    emit(operation);
    if (operation.type == type) return;
    if (type.type == Type::float64) {
      add({.op = Opcode::to_float, .left = number_of(operation.type.type)});
    } else if (operation.type.type == Type::uint64) {
      add({.op = Opcode::to_int, .left = Number::uint64, .flag = saturates});
    } else {
      add({.op = Opcode::scale, .left_factor = nanoseconds_per_tick(operation.type) / nanoseconds_per_tick(type)});
    }
  }

  void emit_choice(const Operation& operation) {
    const std::size_t count = operation.operands.size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_condition = i % 2 == 0 && i + 1 < count;
      if (is_condition) {
        emit(operand(operation, i));
      } else {
        emit_converted(operand(operation, i), operation.type);
      }
    }
    add({.op = Opcode::choose, .count = static_cast<std::uint32_t>(count)});
  }

  /// `case when a is not null then a ... else z end`.
  void emit_coalesce(const Operation& operation) {
    const std::size_t last = operation.operands.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      emit_column(*operand(operation, i).data);
      add({.op = Opcode::is_null, .flag = true});
      emit_converted(operand(operation, i), operation.type);
    }
    emit_converted(operand(operation, last), operation.type);
    if (last > 0) add({.op = Opcode::choose, .count = static_cast<std::uint32_t>(2 * last + 1)});
  }

  void emit_is_null(const Operation& operation) {
    const Operation& child = operand(operation, 0);
    if (child.op == Op::column) {
      emit_column(*child.data);
    } else {
      emit(child);
    }
    add({.op = Opcode::is_null, .flag = operation.negated});
  }

  void emit_member(const Operation& operation) {
    const Operation& tested = operand(operation, 0);
    emit(tested);
    const std::vector<std::uint64_t> members = bits_of(operation.members->values);
    add({.op = Opcode::member,
         .left = number_of(tested.type.type),
         .flag = operation.negated,
         .has_null = operation.members->has_null,
         .count = static_cast<std::uint32_t>(members.size()),
         .table = device_state_.upload(members)});
  }

  static bool of_two_units(const Operation& a, const Operation& b) {
    return is_temporal(a.type.type) && a.type != b.type;
  }

  /// Times are compared in nanoseconds; numbers have no factor.
  static std::int64_t factor_of(const Operation& operation) {
    return is_temporal(operation.type.type) ? nanoseconds_per_tick(operation.type) : 1;
  }

  void emit_between(const Operation& operation) {
    const Operation& value = operand(operation, 0);
    const Operation& lower = operand(operation, 1);
    const Operation& upper = operand(operation, 2);
    emit(value);
    emit(lower);
    emit(upper);
    add({.op = Opcode::between,
         .left = number_of(value.type.type),
         .right = number_of(upper.type.type),
         .middle = number_of(lower.type.type),
         .flag = operation.negated,
         .times = of_two_units(value, lower) || of_two_units(value, upper),
         .left_factor = factor_of(value),
         .right_factor = factor_of(upper),
         .middle_factor = factor_of(lower)});
  }

  void emit_comparison(const Operation& operation, const Operation& a, const Operation& b) {
    emit(a);
    emit(b);
    add({.op = opcode_of(operation.op),
         .left = number_of(a.type.type),
         .right = number_of(b.type.type),
         .times = of_two_units(a, b),
         .left_factor = factor_of(a),
         .right_factor = factor_of(b)});
  }

  void emit_extremum(const Operation& operation) {
    const bool saturates = operation.op == Op::min && is_integer(operation.type.type);
    const Number type = number_of(operation.type.type);
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      emit_converted(operand(operation, i), operation.type, saturates);
      if (i > 0) add({.op = opcode_of(operation.op), .left = type, .right = type});
    }
  }

  void emit_arithmetic(const Operation& operation) {
    const Operation& a = operand(operation, 0);
    const Operation& b = operand(operation, 1);
    const bool floats = operation.type.type == Type::float64;
    const bool times = a.type.type == Type::timestamp;
    const DataType finer(Type::timestamp, std::max(a.type.unit, b.type.unit));
    emit_converted(a, floats ? DataType(Type::float64) : times ? finer : a.type);
    emit_converted(b, floats ? DataType(Type::float64) : times ? finer : b.type);
    add({.op = opcode_of(operation.op),
         .left = floats ? Number::float64 : number_of(a.type.type),
         .right = floats ? Number::float64 : number_of(b.type.type),
         .flag = operation.type.type == Type::date});
  }

  void emit_unary(const Operation& operation) {
    const Operation& child = operand(operation, 0);
    const bool rounds = operation.op == Op::floor || operation.op == Op::ceil;
    const bool integer = child.type.type != Type::float64;
    if (integer && (rounds || (operation.op == Op::abs && child.type.type == Type::uint64))) return emit(child);
    const bool widens = integer && operation.type.type == Type::float64;
    emit_converted(child, widens ? DataType(Type::float64) : child.type);
    add({.op = opcode_of(operation.op), .left = widens ? Number::float64 : number_of(child.type.type)});
  }

  const Operation& operand(const Operation& operation, std::size_t i) const { return ir_.operand(operation, i); }

  DeviceQueryState& device_state_;
  const Program& program_;
  const Ir& ir_;
  DeviceExpression result_;
};

int deepest(const DeviceExpression& expression) {
  int depth = 0;
  int most = 0;
  for (const Instruction& how : expression.instructions) {
    depth += 1 - kernels::operands_of(how);
    most = std::max(most, depth);
  }
  return most;
}

}  // namespace

std::optional<DeviceExpression> translate(DeviceQueryState& device_state, const Program& program) {
  if (program.ir.root().type.type == Type::decimal128) return std::nullopt;  // the device has no values of 128 bits
  try {
    DeviceExpression expression = Translator(device_state, program).run();
    if (deepest(expression) > kernels::kMaxStacked) return std::nullopt;
    return expression;
  } catch (const DataError&) {
    // A part that the host evaluated fails for some row, which need not be one that the query looks at.
    return std::nullopt;
  }
}

}  // namespace skyrank::exec

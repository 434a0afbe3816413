#include "engine/expression/program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"

namespace skyrank::exec {

using query::BoundNode;
using query::Op;

namespace {

using OperationPtr = std::unique_ptr<const Operation>;

template <class T>
Value value_of(T stored, DataType type) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return stored != 0;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return std::string(stored);
  } else if constexpr (std::is_same_v<T, Int128>) {
    return Decimal{stored, type.scale};
  } else {
    if (type.type == Type::decimal64) return Decimal{static_cast<Int128>(stored), type.scale};
    if (type.type == Type::date) return Date{static_cast<std::int32_t>(stored)};
    if (type.type == Type::timestamp) return Timestamp{static_cast<std::int64_t>(stored), type.unit};
    return stored;
  }
}

[[gnu::noinline]] OperationPtr make_literal(Value value, DataType type) {
  auto constant = std::make_unique<Constant>();
  constant->value = std::move(value);
  with_evaluation_type(type.type, [&]<class T>(T) { constant->stored = stored_value<T>(constant->value); });
  auto operation = std::make_unique<Operation>();
  operation->op = Op::literal;
  operation->type = type;
  operation->constant = std::move(constant);
  return operation;
}

bool is_literal(const OperationPtr& operation) { return operation->op == Op::literal; }

bool is_comparison(Op op) { return op >= Op::equal && op <= Op::greater_equal; }

/// Brings the literal `of` to the type of the non-literal `beside` where it has exactly that value there, so that they
/// compare in the fast loops.
void match_type(OperationPtr& of, const OperationPtr& beside) {
  if (!is_literal(of) || is_literal(beside) || of->type == beside->type) return;
  if (auto value = convert_exactly(of->constant->value, beside->type)) of = make_literal(*value, beside->type);
}

/// The members of `in` that a value of the operand's type can equal.
void collect_members(Operation& operation) {
  const DataType type = operation.children.front()->type;
  with_evaluation_type(type.type, [&]<class T>(T) {
    std::vector<T> members;
    for (std::size_t i = 1; i < operation.children.size(); ++i) {
      OperationPtr& child = operation.children[i];
      if (std::holds_alternative<Null>(child->constant->value)) {
        operation.null_member = true;
      } else if (auto value = convert_exactly(child->constant->value, type)) {
        child = make_literal(*value, type);
        members.push_back(std::get<T>(child->constant->stored));
      }
    }
    if constexpr (std::is_same_v<T, double>) std::erase_if(members, [](double member) { return std::isnan(member); });
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    operation.members = std::make_unique<MemberSet>(std::move(members));
  });
}

class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program) {}

  OperationPtr compile(const BoundNode& node) {
    if (node.op == Op::literal) return make_literal(node.value, node.type);
    auto operation = std::make_unique<Operation>();
    operation->op = node.op;
    operation->type = node.type;
    operation->node = &node;
    operation->negated = node.negated;
    if (node.op == Op::column) {
      operation->column = &program_.table.column(node.column).data();
      return operation;
    }
    for (const query::BoundPtr& child : node.children) operation->children.push_back(compile(*child));
    return finish(std::move(operation));
  }

 private:
  // Not inlined, so that its memory does not add up along the recursion.
  [[gnu::noinline]] static OperationPtr finish(std::unique_ptr<Operation> operation) {
    auto& children = operation->children;
    if (is_comparison(operation->op)) {
      match_type(children[0], children[1]);
      match_type(children[1], children[0]);
    } else if (operation->op == Op::between) {
      match_type(children[1], children[0]);
      match_type(children[2], children[0]);
    } else if (operation->op == Op::in && std::all_of(children.begin() + 1, children.end(), is_literal)) {
      collect_members(*operation);
    }
    if (std::all_of(children.begin(), children.end(), is_literal)) {
      if (OperationPtr folded = fold(*operation)) return folded;
    }
    answer_by_entry(*operation);
    return operation;
  }

  /// The value of an operation on literals; null when it fails, which it then does for the rows that need it.
  static OperationPtr fold(const Operation& operation) {
    Interpreter interpreter;
    const Vec vec = interpreter.spread(interpreter.run(operation, Rows{1, nullptr}, 0, 1), 1);
    if (interpreter.failure()) return nullptr;
    if (vec.valid != nullptr && vec.valid[0] == 0) return make_literal(Null{}, operation.type);
    return with_evaluation_type(operation.type.type, [&]<class T>(T) {
      return make_literal(value_of(*vec.as<T>(), operation.type), operation.type);
    });
  }

  /// A comparison of a dictionary column with literals is computed for each entry instead of each row.
  static void answer_by_entry(Operation& operation) {
    if (!is_comparison(operation.op) && operation.op != Op::in && operation.op != Op::between) return;
    auto& children = operation.children;
    if (std::count_if(children.begin(), children.end(), is_literal) + 1 !=
        static_cast<std::ptrdiff_t>(children.size())) {
      return;
    }
    OperationPtr& operand = *std::find_if_not(children.begin(), children.end(), is_literal);
    if (operand->op != Op::column || operand->column->layout != Layout::dictionary) return;
    const ColumnData& column = *operand->column;
    const std::int64_t entries = column.dictionary->length;
    if (entries > column.length) return;

    auto dictionary = std::make_unique<ColumnData>(*column.dictionary);
    dictionary->validity = {};
    auto entry = std::make_unique<Operation>();
    entry->op = Op::column;
    entry->type = operand->type;
    entry->column = dictionary.get();
    operand = std::move(entry);
    operation.answers = answers(operation, *dictionary);
    operation.column = &column;
    children.clear();
    operation.members.reset();
  }

  /// Evaluates `operation` for the entries of `dictionary`, the column it reads, and for NULL.
  static std::unique_ptr<const EntryAnswers> answers(const Operation& operation, ColumnData& dictionary) {
    const std::int64_t entries = dictionary.length;
    const auto n = static_cast<std::size_t>(entries) + 1;
    auto answers = std::make_unique<EntryAnswers>(EntryAnswers{Vector<std::uint8_t>(n), Vector<std::uint8_t>(n)});
    for (std::int64_t begin = 0; begin < entries; begin += kBlockRows) {
      store_answers(operation, begin, std::min(kBlockRows, entries - begin), begin, *answers);
    }
    constexpr std::uint8_t kNull = 0;
    dictionary.validity.bits = &kNull;
    store_answers(operation, 0, 1, entries, *answers);
    dictionary.validity.bits = nullptr;
    return answers;
  }

  /// Stores the values of rows [begin, begin + size) at place `out` of the answers.
  static void store_answers(const Operation& operation, std::int64_t begin, std::int64_t size, std::int64_t out,
                            EntryAnswers& answers) {
    Interpreter interpreter;
    const Vec vec = interpreter.spread(interpreter.run(operation, Rows{begin + size, nullptr}, begin, size), size);
    std::copy_n(vec.as<std::uint8_t>(), size, answers.value.begin() + out);
    if (vec.valid == nullptr) {
      std::fill_n(answers.valid.begin() + out, size, std::uint8_t{1});
    } else {
      std::copy_n(vec.valid, size, answers.valid.begin() + out);
    }
  }

  Program& program_;
};

}  // namespace

std::shared_ptr<const Program> compile(const query::BoundExpression& expression, const Table& table) {
  auto program = std::make_shared<Program>();
  program->table = table;
  program->expression = expression;
  program->root = Compiler(*program).compile(*expression.root);
  return program;
}

}  // namespace skyrank::exec

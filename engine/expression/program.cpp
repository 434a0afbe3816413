#include "engine/expression/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/expression/interpreter.hpp"

namespace skyrank::exec {

using query::Op;

namespace {

/// Stores the values of rows [begin, begin + size) of a predicate at place `out` of the answers.
void store_answers(const Ir& predicate, std::int64_t begin, std::int64_t size, std::int64_t out,
                   EntryAnswers& answers) {
  Interpreter interpreter;
  const Vec vec =
      interpreter.spread(interpreter.run(predicate.operations(), Rows{begin + size, nullptr}, begin, size), size);
  std::copy_n(vec.as<std::uint8_t>(), size, answers.value.begin() + out);
  if (vec.valid == nullptr) {
    std::fill_n(answers.valid.begin() + out, size, std::uint8_t{1});
  } else {
    std::copy_n(vec.valid, size, answers.valid.begin() + out);
  }
}

/// Evaluates a predicate for the entries of `dictionary`, the column it reads, and for NULL.
std::shared_ptr<const EntryAnswers> answer_entries(const Ir& predicate, ColumnData& dictionary) {
  const std::int64_t entries = dictionary.length;
  const auto n = static_cast<std::size_t>(entries) + 1;
  auto answers = std::make_shared<EntryAnswers>(EntryAnswers{Vector<std::uint8_t>(n), Vector<std::uint8_t>(n)});
  for (std::int64_t begin = 0; begin < entries; begin += kBlockRows) {
    store_answers(predicate, begin, std::min(kBlockRows, entries - begin), begin, *answers);
  }
  constexpr std::uint8_t kNull = 0;
  dictionary.validity.bits = &kNull;
  store_answers(predicate, 0, 1, entries, *answers);
  dictionary.validity.bits = nullptr;
  return answers;
}

/// A test of a dictionary column against literals is computed for each entry instead of each row.
void answer_by_entry(const Ir& ir, Operation& operation) {
  const Op op = operation.op;
  if (!is_comparison(op) && op != Op::in && op != Op::between && op != Op::like) return;
  const Operation* column = nullptr;
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    const Operation& operand = ir.operand(operation, i);
    if (is_literal(operand)) continue;
    if (column != nullptr || operand.op != Op::column) return;
    column = &operand;
  }
  if (column == nullptr || column->data->layout != Layout::dictionary) return;
  if (column->data->dictionary->length > column->data->length) return;

  ColumnData dictionary = *column->data->dictionary;
  dictionary.validity = {};
  Ir predicate = ir.part(operation);
  for (Operation& part : predicate.operations()) {
    if (part.op == Op::column) part.data = &dictionary;
  }
  operation.data = column->data;
  operation.answers = answer_entries(predicate, dictionary);
}

void link(Ir& ir, const std::map<int, Column>& columns) {
  for (Operation& operation : ir.operations()) {
    operation.answers.reset();
    operation.data = operation.op == Op::column ? &columns.at(operation.column).data() : nullptr;
    answer_by_entry(ir, operation);
  }
}

/// Keeps no more of a table than the columns that are read: of many expressions over a wide table each has its own.
template <class ColumnAt>
std::shared_ptr<const Program> linked(Ir ir, std::string text, Location location, std::int64_t rows,
                                      const ColumnAt& column_at) {
  auto program = std::make_shared<Program>(Program{{}, rows, std::move(ir), std::move(text), std::move(location)});
  for (const Operation& operation : program->ir.operations()) {
    if (operation.op == Op::column) program->columns.try_emplace(operation.column, column_at(operation.column));
  }
  link(program->ir, program->columns);
  return program;
}

}  // namespace

std::shared_ptr<const Program> compile(const query::BoundExpression& expression, const Table& table) {
  return compile(lower(*expression.root), expression, table);
}

std::shared_ptr<const Program> compile(Ir ir, const query::BoundExpression& expression, const Table& table) {
  return linked(std::move(ir), expression.text, expression.location, table.num_rows(),
                [&](int column) -> const Column& { return table.column(column); });
}

std::shared_ptr<const Program> compile_part(const Program& whole, const Operation& operation) {
  return linked(whole.ir.part(operation), whole.text, whole.location, whole.rows,
                [&](int column) -> const Column& { return whole.columns.at(column); });
}

}  // namespace skyrank::exec

#include "engine/expression/evaluate.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/expression/interpreter.hpp"
#include "engine/expression/program.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

struct Evaluator::State {
  std::shared_ptr<const Program> program;
  Interpreter interpreter = {};
  Vec result = {};  // after the interpreter, whose memory it uses
};

Evaluator::Evaluator(const query::BoundExpression& expression, const Table& table)
    : Evaluator(compile(expression, table)) {}

Evaluator::Evaluator(std::shared_ptr<const Program> program)
    : state_(std::make_unique<State>(State{std::move(program)})) {
  for (const Operation& operation : state_->program->ir.operations()) {
    if (operation.data != nullptr) copy_to_host(*operation.data);
  }
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

Block Evaluator::evaluate(const Rows& rows, std::int64_t begin, std::int64_t size, const std::uint8_t* needed) {
  auto& [program, interpreter, result] = *state_;
  result = Vec();
  result = interpreter.spread(interpreter.run(program->ir.operations(), rows, begin, size, needed), size);
  if (const auto& failure = interpreter.failure()) {
    throw RowError("row ", rows[begin + failure->position], ": " + failure->message + " (in '" + program->text + "')",
                   program->location);
  }
  return {size, result.type, result.data, result.valid};
}

void Block::store_truth(std::uint8_t* out) const {
  const auto* const truth = as<std::uint8_t>();
  if (valid == nullptr) {
    std::copy_n(truth, size, out);
  } else {
    std::transform(truth, truth + size, valid, out, std::bit_and<>());
  }
}

namespace {

/// Memory of a computed column, and what its strings point into.
template <class T>
struct ColumnMemory {
  ColumnCharge charge;
  std::unique_ptr<T[]> values;
  std::unique_ptr<std::uint8_t[]> valid;
  std::shared_ptr<const Program> program;
  std::mutex mutex;  // of `texts` and, while blocks are stored, of `charge`
  std::vector<std::unique_ptr<char[]>> texts;

  char* take_text(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    charge.add(bytes);
    return texts.emplace_back(std::make_unique_for_overwrite<char[]>(bytes)).get();
  }
};

/// Returns true if an expression makes strings, which live no longer than a block.
bool makes_strings(const Ir& ir) {
  return std::ranges::any_of(ir.operations(), [](const Operation& it) {
    const bool is_made = it.op == query::Op::lower || it.op == query::Op::upper || it.op == query::Op::concat;
    return is_made || (it.op == query::Op::cast && it.type.type == Type::string);
  });
}

/// Copies the bytes of a block's strings to memory of the column.
void keep_strings(const Block& block, ColumnMemory<std::string_view>& memory, std::string_view* strings) {
  std::size_t bytes = 0;
  for (std::int64_t i = 0; i < block.size; ++i) bytes += strings[i].size();
  if (bytes == 0) return;
  char* next = memory.take_text(bytes);
  for (std::int64_t i = 0; i < block.size; ++i) {
    const std::size_t size = strings[i].size();
    strings[i].copy(next, size);
    strings[i] = {next, size};
    next += size;
  }
}

/// Sets the validity bits of rows [begin, begin + size); `begin` is a multiple of 8. Whether any row is NULL.
bool store_validity(const std::uint8_t* valid, std::int64_t begin, std::int64_t size, std::uint8_t* bits) {
  const std::int64_t bytes = (size + 7) / 8;
  if (valid == nullptr) {
    std::fill_n(bits + begin / 8, bytes, std::uint8_t{0xff});
    return false;
  }
  std::fill_n(bits + begin / 8, bytes, std::uint8_t{0});
  bool any_null = false;
  for (std::int64_t i = 0; i < size; ++i) {
    bits[(begin + i) / 8] = static_cast<std::uint8_t>(bits[(begin + i) / 8] | (valid[i] << (i % 8)));
    any_null |= valid[i] == 0;
  }
  return any_null;
}

/// Calls f like with_evaluation_type, but with the stored types of the evaluation types: dates are int32.
template <class F>
Column with_result_type(Type type, F&& f) {
  return type == Type::date ? f(std::int32_t{}) : with_evaluation_type(type, std::forward<F>(f));
}

/// Gives computed times the zone of the columns that they are computed from.
Column with_zone(const Column& computed, const Ir& ir) {
  if (computed.type().type != Type::timestamp) return computed;
  std::vector<Column> times;
  for (const Operation& operation : ir.operations()) {
    if (operation.op != query::Op::column || operation.data->type.type != Type::timestamp) continue;
    times.emplace_back("", *operation.data);
  }
  return with_traits_of(computed, times);
}

}  // namespace

Column evaluate_all(const query::BoundExpression& expression, const Table& table, const Rows& rows, std::string name) {
  return evaluate_all(compile(expression, table), rows, std::move(name));
}

Column evaluate_all(std::shared_ptr<const Program> program, const Rows& rows, std::string name) {
  const DataType type = program->ir.root().type;
  const auto n = static_cast<std::size_t>(rows.n);
  [[maybe_unused]] const bool copies_strings = makes_strings(program->ir);
  return with_result_type(type.type, [&]<class T>(T) {
    auto memory = std::make_shared<ColumnMemory<T>>();
    memory->charge.add(n * sizeof(T) + (n + 7) / 8);
    memory->values = std::make_unique_for_overwrite<T[]>(n);
    memory->valid = std::make_unique_for_overwrite<std::uint8_t[]>((n + 7) / 8);
    memory->program = program;
    Vector<std::uint8_t> has_null(static_cast<std::size_t>(num_chunks(rows.n)));
    for_chunks(rows.n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      Evaluator evaluator(program);
      for (std::int64_t at = begin; at < end; at += kBlockRows) {
        const std::int64_t size = std::min(kBlockRows, end - at);
        const Block block = evaluator.evaluate(rows, at, size);
        using Stored = std::conditional_t<std::is_same_v<T, std::int32_t>, std::int64_t, T>;
        const auto* values = block.as<Stored>();
        std::transform(values, values + size, memory->values.get() + at, [](Stored v) { return static_cast<T>(v); });
        if constexpr (std::is_same_v<T, std::string_view>) {
          if (copies_strings) keep_strings(block, *memory, memory->values.get() + at);
        }
        if (store_validity(block.valid, at, size, memory->valid.get())) has_null[static_cast<std::size_t>(chunk)] = 1;
      }
    });
    ColumnData data;
    data.type = type;
    data.layout = std::is_same_v<T, std::string_view> ? Layout::views : Layout::plain;
    data.length = rows.n;
    data.values = memory->values.get();
    data.stride = sizeof(T);
    if (std::find(has_null.begin(), has_null.end(), 1) != has_null.end()) data.validity.bits = memory->valid.get();
    data.owner = std::move(memory);
    return with_zone(Column(std::move(name), std::move(data)), program->ir);
  });
}

namespace {

/// Eight bytes 0 or 1 as bits, least significant first.
std::uint8_t pack_bits(const std::uint8_t* bytes) {
  unsigned bits = 0;
  for (unsigned i = 0; i < 8; ++i) bits |= static_cast<unsigned>(bytes[i]) << i;
  return static_cast<std::uint8_t>(bits);
}

/// Stores which rows of a block are kept, 64 in a word; `words` has kBlockRows / 64 entries. Returns how many are kept.
std::int64_t store_kept(const Block& block, std::uint64_t* words) {
  std::uint8_t kept[kBlockRows];
  block.store_truth(kept);
  std::fill(kept + block.size, kept + kBlockRows, std::uint8_t{0});
  std::int64_t count = 0;
  for (std::int64_t word = 0; word * 64 < block.size; ++word) {
    std::uint64_t bits = 0;
    for (std::int64_t byte = 0; byte < 8; ++byte) {
      bits |= std::uint64_t{pack_bits(kept + word * 64 + byte * 8)} << (8 * byte);
    }
    words[word] = bits;
    count += std::popcount(bits);
  }
  return count;
}

}  // namespace

Vector<RowId> filter(const query::BoundExpression& condition, const Table& table, const Rows& rows) {
  const auto program = compile(condition, table);
  Vector<std::uint64_t> kept(static_cast<std::size_t>((rows.n + 63) / 64));
  Vector<std::int64_t> first(static_cast<std::size_t>(num_chunks(rows.n)) + 1, 0);
  for_chunks(rows.n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    Evaluator evaluator(program);
    std::int64_t count = 0;
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      count += store_kept(evaluator.evaluate(rows, at, std::min(kBlockRows, end - at)), kept.data() + at / 64);
    }
    first[static_cast<std::size_t>(chunk) + 1] = count;
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  Vector<RowId> result(static_cast<std::size_t>(first.back()));
  for_chunks(rows.n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    RowId* out = result.data() + first[static_cast<std::size_t>(chunk)];
    for (std::int64_t at = begin; at < end; at += 64) {
      for (std::uint64_t bits = kept[static_cast<std::size_t>(at / 64)]; bits != 0; bits &= bits - 1) {
        *out++ = rows[at + std::countr_zero(bits)];
      }
    }
  });
  return result;
}

}  // namespace skyrank::exec

#include "engine/operators/classes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "engine/operators/slot_states.hpp"
#include "engine/runtime/ranges.hpp"
#include "engine/runtime/stop.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::exec {
namespace {

using Codes = Vector<std::uint64_t>;

// Rows are spread over this many hash tables by the upper bits of their hashes; one table serves few rows.
constexpr int kTableBits = 6;
constexpr std::int64_t kRowsForManyTables = std::int64_t{1} << 14;
constexpr std::int64_t kMasksPerCode = 64;

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Equal floats get equal bits.
std::uint64_t canonical_bits(double value) {
  if (std::isnan(value)) return 0x7ff8000000000000ULL;
  return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
}

/// Open addressing with linear probing over positions; classes are numbered in order of insertion.
class ClassTable {
 public:
  template <class Equal>
  std::int64_t find_or_insert(std::int64_t position, std::uint64_t hash, const Equal& equal) {
    if (2 * first.size() >= slots_.size()) grow();
    for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.id < 0) {
        slot = {hash, static_cast<std::int64_t>(first.size())};
        first.push_back(position);
        return slot.id;
      }
      if (slot.hash == hash && equal(first[static_cast<std::size_t>(slot.id)], position)) return slot.id;
    }
  }

  Vector<std::int64_t> first;

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::int64_t id = -1;
  };

  void grow() {
    Vector<Slot> bigger(slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.id < 0) continue;
      std::size_t i = slot.hash & (bigger.size() - 1);
      while (bigger[i].id >= 0) i = (i + 1) & (bigger.size() - 1);
      bigger[i] = slot;
    }
    slots_ = std::move(bigger);
  }

  Vector<Slot> slots_ = Vector<Slot>(256);
};

/// Positions by the table their hash selects, ascending within each; bounds has one entry more than there are tables.
struct Spread {
  Vector<std::int64_t> bounds;
  Vector<std::int64_t> positions;
};

Spread spread(const Codes& hashes, int table_bits) {
  const auto n = static_cast<std::int64_t>(hashes.size());
  const std::int64_t tables = std::int64_t{1} << table_bits;
  const std::int64_t ranges = (n + kGrain - 1) / kGrain;
  const auto table_of = [&](std::int64_t i) { return static_cast<std::int64_t>(hashes[i] >> (64 - table_bits)); };
  Vector<std::int64_t> next(static_cast<std::size_t>(ranges * tables));
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* counts = next.data() + begin / kGrain * tables;
    for (std::int64_t i = begin; i < end; ++i) ++counts[table_of(i)];
  });
  Spread result{Vector<std::int64_t>(static_cast<std::size_t>(tables + 1)),
                Vector<std::int64_t>(static_cast<std::size_t>(n))};
  std::int64_t sum = 0;
  for (std::int64_t table = 0; table < tables; ++table) {
    result.bounds[table] = sum;
    for (std::int64_t range = 0; range < ranges; ++range) {
      sum += std::exchange(next[range * tables + table], sum);
    }
  }
  result.bounds[tables] = sum;
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* to = next.data() + begin / kGrain * tables;
    for (std::int64_t i = begin; i < end; ++i) result.positions[to[table_of(i)]++] = i;
  });
  return result;
}

template <class Hash>
Codes hash_all(std::int64_t n, const Hash& hash) {
  Codes hashes(static_cast<std::size_t>(n));
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) hashes[i] = hash(i);
  });
  return hashes;
}

template <class Equal>
Classes number_in_one_table(const Codes& hashes, const Equal& equal) {
  ClassTable table;
  Classes result;
  result.of.reserve(hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    result.of.push_back(table.find_or_insert(static_cast<std::int64_t>(i), hashes[i], equal));
  }
  result.first = std::move(table.first);
  return result;
}

/// Gives the classes of all tables one numbering, by first position. `of` holds numbers within the tables before.
Classes merge_tables(Vector<std::int64_t> of, const std::vector<ClassTable>& tables, const Spread& rows) {
  struct Class {
    std::int64_t first;
    std::int64_t index;
  };
  Vector<Class> classes;
  Vector<std::int64_t> base;
  const std::stop_token& stop = current_stop();
  for (const ClassTable& table : tables) {
    check(stop);
    base.push_back(static_cast<std::int64_t>(classes.size()));
    for (const std::int64_t first : table.first) classes.push_back({first, static_cast<std::int64_t>(classes.size())});
  }
  kernels::parallel_sort(
      classes.begin(), classes.end(), [](const Class& a, const Class& b) { return a.first < b.first; },
      kernels::Context{.stop = stop});
  Classes result{std::move(of), Vector<std::int64_t>(classes.size())};
  Vector<std::int64_t> number(classes.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    check_at(static_cast<std::int64_t>(i), stop);
    result.first[i] = classes[i].first;
    number[classes[i].index] = static_cast<std::int64_t>(i);
  }
  for_each_range(static_cast<std::int64_t>(tables.size()), 1, [&](std::int64_t table, std::int64_t) {
    for (std::int64_t i = rows.bounds[table]; i < rows.bounds[table + 1]; ++i) {
      std::int64_t& id = result.of[rows.positions[i]];
      id = number[base[table] + id];
    }
  });
  return result;
}

template <class Hash, class Equal>
Classes number_classes(std::int64_t n, const Hash& hash, const Equal& equal) {
  const Codes hashes = hash_all(n, hash);
  if (n < kRowsForManyTables) return number_in_one_table(hashes, equal);
  const Spread rows = spread(hashes, kTableBits);
  std::vector<ClassTable> tables(std::size_t{1} << kTableBits);
  Vector<std::int64_t> of(static_cast<std::size_t>(n));
  const std::stop_token& stop = current_stop();
  for_each_range(static_cast<std::int64_t>(tables.size()), 1, [&](std::int64_t table, std::int64_t) {
    for (std::int64_t i = rows.bounds[table]; i < rows.bounds[table + 1]; ++i) {
      check_at(i, stop);
      const std::int64_t position = rows.positions[i];
      of[position] = tables[table].find_or_insert(position, hashes[position], equal);
    }
  });
  return merge_tables(std::move(of), tables, rows);
}

/// Calls visit(block, begin) for all blocks of an expression's values, in parallel.
template <class Visit>
void for_each_block(const query::BoundExpression& expression, const Table& table, const Rows& rows,
                    const Visit& visit) {
  for_each_range(rows.n, 16 * kBlockRows, [&](std::int64_t begin, std::int64_t end) {
    Evaluator evaluator(expression, table);
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      visit(evaluator.evaluate(rows, at, std::min(kBlockRows, end - at)), at);
    }
  });
}

std::uint64_t code_at(const Block& block, std::int64_t i) {
  if (block.ints != nullptr) return static_cast<std::uint64_t>(block.ints[i]);
  if (block.uints != nullptr) return block.uints[i];
  if (block.wides != nullptr) return static_cast<std::uint64_t>(block.wides[i]);
  if (block.floats != nullptr) return canonical_bits(block.floats[i]);
  return block.bytes[i] != 0 ? 1 : 0;
}

bool is_valid(const Block& block, std::int64_t i) { return block.valid == nullptr || block.valid[i] != 0; }

/// The characters belong to the table; NULLs read as the empty string.
Vector<std::string_view> read_strings(const query::BoundExpression& column, const Table& table, const Rows& rows) {
  Vector<std::string_view> strings(static_cast<std::size_t>(rows.n));
  for_each_block(column, table, rows, [&](const Block& block, std::int64_t at) {
    for (std::int64_t i = 0; i < block.size; ++i) {
      if (is_valid(block, i)) strings[at + i] = block.strings[i];
    }
  });
  return strings;
}

Codes string_codes(const query::BoundExpression& column, const Table& table, const Rows& rows) {
  const Vector<std::string_view> strings = read_strings(column, table, rows);
  const Classes classes = number_classes(
      rows.n, [&](std::int64_t i) { return mix(std::hash<std::string_view>{}(strings[i])); },
      [&](std::int64_t a, std::int64_t b) { return strings[a] == strings[b]; });
  return {classes.of.begin(), classes.of.end()};
}

/// Codes that are equal exactly where values are (where the lower halves of values of 128 bits are); NULLs have the
/// code 0 (or that of the empty string).
Codes value_codes(const query::BoundExpression& column, const Table& table, const Rows& rows) {
  Codes codes(static_cast<std::size_t>(rows.n));
  for_each_block(column, table, rows, [&](const Block& block, std::int64_t at) {
    for (std::int64_t i = 0; i < block.size; ++i) codes[at + i] = is_valid(block, i) ? code_at(block, i) : 0;
  });
  return codes;
}

/// Upper halves of values of 128 bits; those of NULLs are 0.
Codes upper_codes(const query::BoundExpression& column, const Table& table, const Rows& rows) {
  Codes codes(static_cast<std::size_t>(rows.n));
  for_each_block(column, table, rows, [&](const Block& block, std::int64_t at) {
    for (std::int64_t i = 0; i < block.size; ++i) {
      codes[at + i] = is_valid(block, i) ? static_cast<std::uint64_t>(block.wides[i] >> 64) : 0;
    }
  });
  return codes;
}

/// One bit a column that may hold NULLs, up to 64 columns to a code.
std::vector<Codes> null_codes(const Table& table, std::span<const int> columns, const Rows& rows) {
  std::vector<Codes> masks;
  std::int64_t bits = 0;
  for (const int index : columns) {
    const Column& column = table.column(index);
    if (!column.may_have_nulls()) continue;
    if (bits % kMasksPerCode == 0) masks.emplace_back(static_cast<std::size_t>(rows.n));
    const std::uint64_t bit = std::uint64_t{1} << (bits++ % kMasksPerCode);
    Codes& mask = masks.back();
    for_each_range(rows.n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) mask[i] |= column.is_null(rows[i]) ? bit : 0;
    });
  }
  return masks;
}

DataType evaluation_type(DataType type) {
  if (is_signed_integer(type.type)) return Type::int64;
  if (is_unsigned_integer(type.type)) return Type::uint64;
  if (is_floating(type.type)) return Type::float64;
  return type;
}

}  // namespace

query::BoundExpression column_expression(const Table& table, int column) {
  auto node = std::make_shared<query::BoundNode>();
  node->op = query::Op::column;
  node->type = evaluation_type(table.column(column).type());
  node->column = column;
  return {.root = node,
          .type = table.column(column).type(),
          .column = column,
          .text = table.column(column).name(),
          .location = {}};
}

namespace {

Classes classify_by_hashing(const Table& table, std::span<const int> columns, const Rows& rows) {
  std::vector<Codes> codes = null_codes(table, columns, rows);
  for (const int index : columns) {
    const query::BoundExpression column = column_expression(table, index);
    codes.push_back(column.type.type == Type::string ? string_codes(column, table, rows)
                                                     : value_codes(column, table, rows));
    if (column.type.type == Type::decimal128) codes.push_back(upper_codes(column, table, rows));
  }
  const auto hash = [&](std::int64_t i) {
    std::uint64_t h = 0;
    for (const Codes& code : codes) h = mix(h + 0x9e3779b97f4a7c15ULL + code[i]);
    return h;
  };
  const auto equal = [&](std::int64_t a, std::int64_t b) {
    return std::all_of(codes.begin(), codes.end(), [&](const Codes& code) { return code[a] == code[b]; });
  };
  return number_classes(rows.n, hash, equal);
}

/// Slots that values are themselves, unless they are not to be or cannot.
std::optional<RowSlots> slots_of_values(const Table& table, std::span<const int> columns, const Rows& rows,
                                        Numbering numbering) {
  if (numbering == Numbering::by_hashing) return std::nullopt;
  return RowSlots::of_values(table, columns, rows);
}

}  // namespace

Classes classify(const RowSlots& slots) {
  const std::int64_t n = slots.rows();
  SlotStates<std::int64_t> numbers = fold_slots(
      slots, std::int64_t{-1}, [](std::int64_t& first, std::int64_t i) { first = first < 0 ? i : first; },
      [](std::int64_t& first, std::int64_t later) { first = first < 0 ? later : first; });
  SlotOrder order = order_slots(slots.count(), n, [&](std::int64_t slot) { return numbers[slot]; });
  for (std::int64_t c = 0; c < order.count(); ++c) numbers[order.slots[c]] = c;
  Classes result{Vector<std::int64_t>(static_cast<std::size_t>(n)), std::move(order.first)};
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t of[kBlockRows];
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      const std::int64_t size = std::min(kBlockRows, end - at);
      slots.load(at, size, of);
      for (std::int64_t i = 0; i < size; ++i) result.of[at + i] = numbers[of[i]];
    }
  });
  return result;
}

Classes classify(const Table& table, std::span<const int> columns, const Rows& rows, Numbering numbering) {
  if (const auto slots = slots_of_values(table, columns, rows, numbering)) return classify(*slots);
  return classify_by_hashing(table, columns, rows);
}

RowSlots slots_of(const Table& table, std::span<const int> columns, const Rows& rows, Numbering numbering) {
  if (auto slots = slots_of_values(table, columns, rows, numbering)) return std::move(*slots);
  Classes classes = classify_by_hashing(table, columns, rows);
  const std::int64_t count = classes.count();
  return {std::move(classes.of), count};
}

}  // namespace skyrank::exec

#include "engine/keys/device/make_device_keys.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/translate.hpp"
#include "engine/expression/lowering/compile_steps.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/expression/vec.hpp"
#include "engine/keys/device_keys.hpp"
#include "engine/keys/distance.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/query/values.hpp"
#include "engine/runtime/device_values.hpp"

// Makes keys on the device. Each kind of term has a function that turns it into a recipe for the kernels, with the
// range of its values where keys count from the lowest. A function returns nothing where the device cannot make the
// same keys as the host; the host then makes and sends them.
namespace skyrank::exec {

namespace cuda = kernels::cuda;
using kernels::IntegerRange;
using kernels::KeyRecipe;
using kernels::KeyWidth;
using kernels::Memory;
using kernels::Stored;
using query::BoundExpression;
using query::BoundPreference;
using Kind = Preference::Kind;

namespace {

constexpr std::uint64_t kMaxDeviceCode = std::numeric_limits<std::uint64_t>::max();

/// The values of a term on the device: in a table's column, or computed.
struct DeviceSource {
  kernels::StoredColumn column;
  cuda::expression::DeviceRows rows;  ///< rows of `column`
  DataType type;                      ///< type of its values
  cuda::expression::Computed computed;
  std::optional<IntegerRange> range = {};  ///< range of more rows than these, which their keys are to be of
};

/// Nothing where the host had better do it.
std::optional<DeviceSource> source_of(DeviceQueryState& device_state, const BoundExpression& expression,
                                      const Table& table, const RowSet& rows) {
  const cuda::expression::DeviceRows wanted = device_state.rows(rows);
  if (expression.column >= 0) {
    const Column& column = table.column(expression.column);
    if (!ResidentColumn::is_possible(column.data())) return std::nullopt;
    return DeviceSource{device_state.column(column.data()), wanted, column.type(), {}, {}};
  }
  const auto program = compile(expression, table);
  auto translated = translate(device_state, *program);
  if (!translated) return std::nullopt;
  compile_steps(*translated, cuda::expression::Leaves::number);
  cuda::expression::Computed computed = cuda::expression::evaluate(*translated, wanted);
  if (computed.failed) return std::nullopt;
  const kernels::StoredColumn column = computed.column;
  return DeviceSource{column, {wanted.n, nullptr}, program->ir.root().type, std::move(computed), {}};
}

/// Returns true if keys need room for NULL: the stored column may have some, or a computed value is one.
bool may_have_nulls(const DeviceSource& source) {
  if (source.range) return source.range->any_null;
  if (source.computed.values.data() == nullptr) return source.column.validity != nullptr;
  return cuda::expression::range_of(source.column, source.rows).any_null;
}

Keys encoded(const DeviceSource& source, const KeyRecipe& recipe, KeyWidth width) {
  cuda::DeviceArray keys = cuda::expression::make_keys(source.column, source.rows, recipe, width);
  return {{keys.data(), width}, keys.owner(), Memory::device};
}

/// Codes up to `max_code`, and one more for NULL where there are any; nothing where that is one too many.
std::optional<Keys> with_codes(const DeviceSource& source, KeyRecipe recipe, std::uint64_t max_code, bool any_null,
                               bool nulls_first) {
  if (any_null && max_code == kMaxDeviceCode) return std::nullopt;
  const NullableCodes codes(max_code, any_null, nulls_first);
  recipe.first = codes.first;
  recipe.null_key = codes.null;
  return encoded(source, recipe, width_for(codes.last));
}

/// The range of the values; [0, 0] when all are NULL. As bits, not in the order of `ordered`.
IntegerRange value_range(const DeviceSource& source) {
  IntegerRange range = source.range ? *source.range : cuda::expression::range_of(source.column, source.rows);
  const bool with_sign = kernels::is_signed(source.column.stored);
  range.lowest = range.any_value ? kernels::ordered(range.lowest, with_sign) : 0;
  range.highest = range.any_value ? kernels::ordered(range.highest, with_sign) : 0;
  return range;
}

std::optional<Keys> integer_keys(const DeviceSource& source, ValueOrder order) {
  const IntegerRange range = value_range(source);
  // Differences wrap around alike, whether or not the values have signs.
  const kernels::IntegerKey<std::uint64_t> code(order.high ? range.highest : range.lowest, order.high);
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::integer;
  recipe.flip = code.flip;
  recipe.base = code.base;
  return with_codes(source, recipe, range.highest - range.lowest, range.any_null, order.nulls_first);
}

template <class Bits>
Keys float_keys(const DeviceSource& source, KeyRecipe recipe, ValueOrder order) {
  recipe.inverted = order.high;
  recipe.null_key = order.nulls_first ? kernels::kNullFirstKey<Bits> : kernels::kNullKey<Bits>;
  return encoded(source, recipe, static_cast<KeyWidth>(sizeof(Bits)));
}

std::optional<Keys> value_keys(const DeviceSource& source, ValueOrder order) {
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::number;
  switch (source.column.stored) {
    case Stored::float16: return float_keys<std::uint16_t>(source, recipe, order);
    case Stored::float32: return float_keys<std::uint32_t>(source, recipe, order);
    case Stored::float64: return float_keys<std::uint64_t>(source, recipe, order);
    default: break;
  }
  return integer_keys(source, order);
}

std::optional<Keys> distance_keys(const DeviceSource& source, const Value& from, const Value& to, ValueOrder order) {
  KeyRecipe recipe;
  if (kernels::is_float(source.column.stored)) {
    recipe.kind = KeyRecipe::Kind::float_distance;
    recipe.from = *query::double_of(from);
    recipe.to = *query::double_of(to);
    return float_keys<std::uint64_t>(source, recipe, order);
  }
  const IntegerRange range = value_range(source);
  const bool with_sign = kernels::is_signed(source.column.stored);
  const auto wide = [&](std::uint64_t bits) {
    return with_sign ? int128{static_cast<std::int64_t>(bits)} : int128{bits};
  };
  recipe.kind = KeyRecipe::Kind::distance;
  recipe.inverted = order.high;
  recipe.base = range.lowest;
  recipe.distance = distance_key(from, to, source.type, wide(range.lowest), wide(range.highest));
  recipe.last = std::max(recipe.distance(0), recipe.distance(range.highest - range.lowest));
  return with_codes(source, recipe, recipe.last, range.any_null, order.nulls_first);
}

/// A listed value as the device looks it up.
template <class T>
std::uint64_t lookup_bits(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return kernels::float_key(kernels::with_bits_of<std::uint64_t>(value), false);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

std::vector<kernels::Level> listed_levels(const BoundPreference& term, DataType type) {
  std::vector<kernels::Level> levels;
  for (std::size_t level = 0; level < term.values.size(); ++level) {
    for (const Value& value : term.values[level]) {
      const std::optional<Value> converted = convert_exactly(value, type);
      if (!converted || std::holds_alternative<Null>(*converted)) continue;
      with_evaluation_type(type.type, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, std::string_view>) {
          levels.push_back({lookup_bits(stored_value<T>(*converted)), level});
        }
      });
    }
  }
  // A value that is listed twice has its first level.
  std::stable_sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  const auto same = [](const auto& a, const auto& b) { return a.value == b.value; };
  levels.erase(std::unique(levels.begin(), levels.end(), same), levels.end());
  return levels;
}

std::optional<Keys> number_level_keys(DeviceQueryState& device_state, const BoundPreference& term,
                                      const DeviceSource& source) {
  const std::vector<kernels::Level> levels = listed_levels(term, term.expression.root->type);
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::level;
  recipe.inverted = term.inverted;
  recipe.last = term.values.size();
  recipe.levels = device_state.upload(levels);
  recipe.level_count = levels.size();
  const std::uint64_t nan_code = kernels::is_float(source.column.stored) ? 1 : 0;
  return with_codes(source, recipe, recipe.last + nan_code, may_have_nulls(source), term.nulls_first);
}

/// Entries of a dictionary are looked up once each.
std::optional<Keys> string_level_keys(DeviceQueryState& device_state, const BoundPreference& term,
                                      const ColumnData& column, const DeviceSource& source) {
  const ColumnData& dictionary = *column.dictionary;
  const std::uint64_t last = term.values.size();
  std::vector<std::uint64_t> entries(static_cast<std::size_t>(dictionary.length) + 1);
  for (std::int64_t i = 0; i < dictionary.length; ++i) {
    if (!dictionary.validity(i)) continue;
    const Value value = std::string(dictionary.string_at(i));
    entries[static_cast<std::size_t>(i)] = term.inverted ? 0 : last;
    for (std::size_t level = 0; level < term.values.size(); ++level) {
      if (std::find(term.values[level].begin(), term.values[level].end(), value) == term.values[level].end()) continue;
      entries[static_cast<std::size_t>(i)] = term.inverted ? last - level : level;
      break;
    }
  }
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::entry;
  recipe.entries = device_state.upload(entries);
  return with_codes(source, recipe, last, may_have_nulls(source), term.nulls_first);
}

std::optional<Keys> level_keys(DeviceQueryState& device_state, const BoundPreference& term, const Table& table,
                               const DeviceSource& source) {
  if (source.type.type != Type::string) return number_level_keys(device_state, term, source);
  const ColumnData& column = table.column(term.expression.column).data();
  const bool small = column.dictionary->length <= column.length;
  return small ? string_level_keys(device_state, term, column, source) : std::nullopt;
}

Keys condition_keys(const DeviceSource& source, bool inverted) {
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::truth;
  recipe.inverted = inverted;
  recipe.null_key = inverted ? 0 : 1;
  return encoded(source, recipe, KeyWidth::bytes1);
}

std::optional<Keys> term_keys(DeviceQueryState& device_state, const BoundPreference& term, const Table& table,
                              const DeviceSource& source) {
  const ValueOrder order{(term.kind == Kind::high) != term.inverted, term.nulls_first};
  switch (term.kind) {
    case Kind::low:
    case Kind::high: return value_keys(source, order);
    case Kind::around: return distance_keys(source, term.target, term.target, order);
    case Kind::between: return distance_keys(source, term.target, term.upper, order);
    case Kind::in: return level_keys(device_state, term, table, source);
    case Kind::where: return condition_keys(source, term.inverted);
    case Kind::pareto:
    case Kind::prior:
    case Kind::inverse: break;
  }
  throw std::logic_error("keys of a composed preference");
}

/// Returns true if keys are ranks of strings, which only the host makes.
bool are_ranks(const BoundExpression& expression) { return expression.root->type.type == Type::string; }

/// Keys of the host's making, sent to the device.
template <class Term>
Keys sent_keys(DeviceQueryState& device_state, const Term& term, const Table& table, const RowSet& rows) {
  for (const int column : columns_of({&term.expression})) copy_to_host(table.column(column).data());
  const Keys keys = make_keys(term, table, rows.view());
  Stopwatch watch;
  Keys there = to_device(keys, rows.size());
  device_state.add_transfer(watch.lap());
  return there;
}

bool is_by_value(const BoundPreference& term) { return term.kind == Kind::low || term.kind == Kind::high; }

}  // namespace

std::optional<IntegerRange> range_of_term(DeviceQueryState& device_state, const BoundPreference& term,
                                          const Table& table, const RowSet& rows) {
  if (is_by_value(term) && are_ranks(term.expression)) return std::nullopt;
  const auto source = source_of(device_state, term.expression, table, rows);
  if (!source) return std::nullopt;
  IntegerRange range;
  if (term.kind == Kind::in) {
    range.any_null = may_have_nulls(*source);
  } else if (term.kind != Kind::where && !kernels::is_float(source->column.stored)) {
    range = cuda::expression::range_of(source->column, source->rows);
  }
  return range;
}

std::optional<Keys> make_keys_of_range(DeviceQueryState& device_state, const BoundPreference& term, const Table& table,
                                       const RowSet& rows, const IntegerRange& range) {
  if (is_by_value(term) && are_ranks(term.expression)) return std::nullopt;
  auto source = source_of(device_state, term.expression, table, rows);
  if (!source) return std::nullopt;
  source->range = range;
  return term_keys(device_state, term, table, *source);
}

Keys make_keys(DeviceQueryState& device_state, const BoundPreference& term, const Table& table, const RowSet& rows) {
  if (is_by_value(term) && are_ranks(term.expression)) return sent_keys(device_state, term, table, rows);
  if (const auto source = source_of(device_state, term.expression, table, rows)) {
    if (auto keys = term_keys(device_state, term, table, *source)) return std::move(*keys);
  }
  return sent_keys(device_state, term, table, rows);
}

Keys make_keys(DeviceQueryState& device_state, const query::BoundRankTerm& term, const Table& table,
               const RowSet& rows) {
  if (are_ranks(term.expression)) return sent_keys(device_state, term, table, rows);
  if (const auto source = source_of(device_state, term.expression, table, rows)) {
    if (auto keys = value_keys(*source, {term.high, term.nulls_first})) return std::move(*keys);
  }
  return sent_keys(device_state, term, table, rows);
}

}  // namespace skyrank::exec

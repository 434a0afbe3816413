#include "engine/keys/keys.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "engine/expression/load.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/expression/source.hpp"
#include "engine/expression/vec.hpp"
#include "engine/keys/blocks/block_keys.hpp"
#include "engine/keys/distance.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/keys/ranks.hpp"
#include "engine/keys/special_keys.hpp"
#include "engine/keys/value_range.hpp"
#include "engine/query/values.hpp"
#include "engine/runtime/parallel.hpp"
#include "kernels/common/keys.hpp"

namespace skyrank::exec {

using query::BoundExpression;
using query::BoundPreference;
using Kind = Preference::Kind;

namespace {

constexpr std::uint64_t kMaxCode = std::numeric_limits<std::uint64_t>::max();

/// Takes the codes of rows: into keys of some width, or to where they are ranked.
struct CodeWriter {
  void (*write)(const CodeWriter& to, std::int64_t begin, std::int64_t size, const std::uint64_t* codes,
                const std::uint8_t* valid) = nullptr;
  void* out = nullptr;
  const NullableCodes* keys = nullptr;
  std::uint8_t* present = nullptr;
};

template <class Key>
void write_keys(const CodeWriter& to, std::int64_t begin, std::int64_t size, const std::uint64_t* codes,
                const std::uint8_t* valid) {
  Key* const out = static_cast<Key*>(to.out) + begin;
  const auto first = static_cast<Key>(to.keys->first);
  for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<Key>(first + static_cast<Key>(codes[i]));
  write_null(valid, size, static_cast<Key>(to.keys->null), out);
}

void keep_codes(const CodeWriter& to, std::int64_t begin, std::int64_t size, const std::uint64_t* codes,
                const std::uint8_t* valid) {
  std::copy_n(codes, size, static_cast<std::uint64_t*>(to.out) + begin);
  if (valid != nullptr) std::copy_n(valid, size, to.present + begin);
}

/// Codes of values, at most `max`, and one more for NULL where there are any.
struct CodeRange {
  std::uint64_t max = 0;
  bool any_null = false;
  bool nulls_first = false;

  /// One code too many for 64 bits.
  bool overflows() const { return any_null && max == kMaxCode; }
};

/// Keys of the codes that `fill` writes, or, where they overflow, as many ranks as there are different ones.
Keys keys_of_codes(std::int64_t n, const CodeRange& range, const std::function<void(const CodeWriter&)>& fill) {
  if (range.overflows()) {
    KeyMemory<std::uint64_t> codes(n);
    Vector<std::uint8_t> present(static_cast<std::size_t>(n), 1);
    fill({keep_codes, codes.data(), nullptr, present.data()});
    return ranks_of_present(present, range.nulls_first, [&](RowId a, RowId b) { return codes[a] < codes[b]; });
  }
  const NullableCodes codes(range.max, range.any_null, range.nulls_first);
  return with_width(width_for(codes.last), [&]<class Key>(Key) {
    KeyMemory<Key> keys(n);
    fill({write_keys<Key>, keys.data(), &codes, nullptr});
    return std::move(keys).keys();
  });
}

/// Keys of `code(value)`, in steps that are each compiled for few types: widths of keys know nothing of values.
template <class T, class Code>
Keys encode(const Source& source, const CodeRange& range, const Code& code) {
  return keys_of_codes(source.rows.n, range, [&](const CodeWriter& to) {
    for_blocks<T>(source, [&](std::int64_t begin, std::int64_t size, const T* values, const std::uint8_t* valid) {
      std::uint64_t codes[kBlockRows];
      for (std::int64_t i = 0; i < size; ++i) codes[i] = static_cast<std::uint64_t>(code(values[i]));
      to.write(to, begin, size, codes, valid);
    });
  });
}

/// The same in one step, for columns as they are, which most queries rank by.
template <class T>
Keys integer_keys(const Source& source, ValueOrder order) {
  const ValueRange<T> range = range_of<T>(source);
  const kernels::IntegerKey<T> code(order.high ? range.highest : range.lowest, order.high);
  const CodeRange wanted{code(order.high ? range.lowest : range.highest), range.any_null, order.nulls_first};
  if (wanted.overflows()) return encode<T>(source, wanted, code);
  const NullableCodes codes(wanted.max, wanted.any_null, wanted.nulls_first);
  return with_width(width_for(codes.last), [&]<class Key>(Key) {
    KeyMemory<Key> keys(source.rows.n);
    for_blocks<T>(source, [&](std::int64_t begin, std::int64_t size, const T* values, const std::uint8_t* valid) {
      Key* out = keys.data() + begin;
      const auto first = static_cast<Key>(codes.first);
      for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<Key>(first + static_cast<Key>(code(values[i])));
      write_null(valid, size, static_cast<Key>(codes.null), out);
    });
    return std::move(keys).keys();
  });
}

template <class Bits>
constexpr Bits float_null_key(bool nulls_first) {
  return nulls_first ? kernels::kNullFirstKey<Bits> : kernels::kNullKey<Bits>;
}

template <class Bits>
void encode_block(const Bits* values, std::int64_t size, bool high, Bits* out) {
  if constexpr (sizeof(Bits) >= sizeof(std::uint32_t)) {
    encode_floats(values, static_cast<std::size_t>(size), high, out);
  } else {
    for (std::int64_t i = 0; i < size; ++i) out[i] = kernels::float_key(values[i], high);
  }
}

template <class Bits>
Keys float_keys(const Source& source, ValueOrder order) {
  KeyMemory<Bits> keys(source.rows.n);
  const Bits null_key = float_null_key<Bits>(order.nulls_first);
  for_blocks<Bits>(source, [&](std::int64_t begin, std::int64_t size, const Bits* values, const std::uint8_t* valid) {
    Bits* out = keys.data() + begin;
    encode_block(values, size, order.high, out);
    write_null(valid, size, null_key, out);
  });
  return std::move(keys).keys();
}

/// `low` and `high`.
Keys value_keys(const BoundExpression& expression, const Table& table, const Rows& rows, ValueOrder order) {
  const Source source(expression, table, rows);
  if (source.type() == Type::string) return string_value_keys(source, order);
  return with_stored_type(source.type(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, Float16>) {
      return float_keys<std::uint16_t>(source, order);
    } else if constexpr (std::is_same_v<T, float>) {
      return float_keys<std::uint32_t>(source, order);
    } else if constexpr (std::is_same_v<T, double>) {
      return float_keys<std::uint64_t>(source, order);
    } else if constexpr (std::is_same_v<T, Int128>) {
      return wide_value_keys(source, order.high, order.nulls_first);
    } else {
      return integer_keys<T>(source, order);
    }
  });
}

double to_double(Float16 value) { return static_cast<double>(static_cast<float>(value)); }
double to_double(double value) { return value; }

template <class T>
Keys float_distance_keys(const Source& source, double from, double to, ValueOrder order) {
  KeyMemory<std::uint64_t> keys(source.rows.n);
  const auto null_key = float_null_key<std::uint64_t>(order.nulls_first);
  for_blocks<T>(source, [&](std::int64_t begin, std::int64_t size, const T* values, const std::uint8_t* valid) {
    std::uint64_t* out = keys.data() + begin;
    for (std::int64_t i = 0; i < size; ++i) {
      const double x = to_double(values[i]);
      const double outside = x < from ? from - x : x - to;
      const double distance = x >= from && x <= to ? 0.0 : outside;  // NaN stays NaN
      out[i] = kernels::float_key(std::bit_cast<std::uint64_t>(distance), order.high);
    }
    write_null(valid, size, null_key, out);
  });
  return std::move(keys).keys();
}

template <class T>
Keys integer_distance_keys(const Source& source, const Value& from, const Value& to, ValueOrder order) {
  const ValueRange<T> range = range_of<T>(source);
  const kernels::DistanceKey distance = distance_key(from, to, source.column.type(), range.lowest, range.highest);
  const kernels::IntegerKey<T> offset(range.lowest, false);
  // Keys grow away from the range, so the largest is at an end.
  const std::uint64_t max_code = std::max(distance(0), distance(static_cast<std::uint64_t>(offset(range.highest))));
  return encode<T>(source, {max_code, range.any_null, order.nulls_first}, [&](T value) {
    const std::uint64_t code = distance(static_cast<std::uint64_t>(offset(value)));
    return order.high ? max_code - code : code;
  });
}

/// `around` (from == to) and `between`.
Keys distance_keys(const BoundPreference& term, const Value& from, const Value& to, const Table& table,
                   const Rows& rows) {
  const Source source(term.expression, table, rows);
  const ValueOrder order{term.inverted, term.nulls_first};  // of the distances
  return with_stored_type(source.type(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      return integer_distance_keys<T>(source, from, to, order);
    } else if constexpr (std::is_same_v<T, Int128>) {
      return wide_distance_keys(source, from, to, order.high, order.nulls_first);
    } else {
      return float_distance_keys<T>(source, *query::double_of(from), *query::double_of(to), order);
    }
  });
}

/// Levels of the listed values, as values of an evaluation type. The last level is that of all other values.
template <class T>
class Levels {
 public:
  Levels(const std::vector<std::vector<Value>>& sets, DataType type) : num_sets_(sets.size()) {
    for (std::size_t level = 0; level < sets.size(); ++level) {
      for (const Value& value : sets[level]) add(value, type, level);
    }
  }

  std::uint64_t last() const { return num_sets_; }
  std::uint64_t operator()(const T& value) const {
    const auto found = levels_.find(value);
    return found == levels_.end() ? last() : found->second;
  }

 private:
  void add(const Value& value, DataType type, std::size_t level) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      // Views the preference's own text, which outlives the levels; a converted copy would not.
      if (const auto* text = std::get_if<std::string>(&value)) levels_.emplace(*text, level);
    } else {
      const std::optional<Value> converted = convert_exactly(value, type);
      if (converted && !std::holds_alternative<Null>(*converted)) levels_.emplace(stored_value<T>(*converted), level);
    }
  }

  struct Hash {
    std::size_t operator()(const T& value) const {
      if constexpr (std::is_same_v<T, Int128>) {
        return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(value) ^ static_cast<std::uint64_t>(value >> 64));
      } else {
        return std::hash<T>()(value);
      }
    }
  };

  std::unordered_map<T, std::uint64_t, Hash> levels_;
  std::uint64_t num_sets_;
};

/// Keys of `in`: a level, then NaN, then NULL, unless that is first.
struct LevelCodes {
  std::uint64_t last = 0;
  bool inverted = false;
  bool nulls_first = false;

  std::uint64_t nan() const { return last + 1; }
  std::uint64_t operator()(std::uint64_t level) const { return inverted ? last - level : level; }
};

template <class T, class Stored>
Keys number_level_keys(const Source& source, const Levels<T>& levels, LevelCodes codes) {
  constexpr bool is_float = std::is_same_v<T, double>;
  const CodeRange range{is_float ? codes.nan() : codes.last, source.column.may_have_nulls(), codes.nulls_first};
  return encode<Stored>(source, range, [&](Stored stored) {
    if constexpr (is_float) {
      const double value = to_double(stored);
      return value != value ? codes.nan() : codes(levels(value));
    } else {
      return codes(levels(static_cast<T>(stored)));
    }
  });
}

Keys string_level_keys(const Source& source, const Levels<std::string_view>& levels, LevelCodes codes) {
  const auto code = [&](std::string_view text) { return codes(levels(text)); };
  return string_code_keys(source, codes.last, codes.nulls_first, code);
}

Keys level_keys(const BoundPreference& term, const Table& table, const Rows& rows) {
  const Source source(term.expression, table, rows);
  const LevelCodes codes{term.values.size(), term.inverted, term.nulls_first};
  const DataType type = term.expression.root->type;
  return with_evaluation_type(type.type, [&]<class T>(T) {
    const Levels<T> levels(term.values, type);
    if constexpr (std::is_same_v<T, std::string_view>) {
      return string_level_keys(source, levels, codes);
    } else {
      return with_stored_type(source.type(), [&]<class Stored>(Stored) -> Keys {
        // The evaluation type widens the stored one in these pairs alone.
        constexpr bool is_float = std::is_floating_point_v<Stored> || std::is_same_v<Stored, Float16>;
        if constexpr (is_float == std::is_same_v<T, double>) {
          return number_level_keys<T, Stored>(source, levels, codes);
        } else {
          throw std::logic_error("an expression is not of its evaluation type: " + term.expression.text);
        }
      });
    }
  });
}

/// Makes the keys of `where`: NULL counts as not true.
Keys condition_keys(const BoundPreference& term, const Table& table, const Rows& rows) {
  const Source source(term.expression, table, rows);
  const std::uint8_t inverted = term.inverted ? 1 : 0;
  KeyMemory<std::uint8_t> keys(rows.n);
  for_blocks<std::uint8_t>(
      source, [&](std::int64_t begin, std::int64_t size, const std::uint8_t* truth, const std::uint8_t* valid) {
        std::uint8_t* out = keys.data() + begin;
        for (std::int64_t i = 0; i < size; ++i) {
          const std::uint8_t is_true = valid == nullptr ? truth[i] : truth[i] & valid[i];
          out[i] = static_cast<std::uint8_t>((is_true ^ 1) ^ inverted);
        }
      });
  return std::move(keys).keys();
}

}  // namespace

Keys make_keys(const BoundPreference& term, const Table& table, const Rows& rows) {
  switch (term.kind) {
    case Kind::low: return value_keys(term.expression, table, rows, {term.inverted, term.nulls_first});
    case Kind::high: return value_keys(term.expression, table, rows, {!term.inverted, term.nulls_first});
    case Kind::around: return distance_keys(term, term.target, term.target, table, rows);
    case Kind::between: return distance_keys(term, term.target, term.upper, table, rows);
    case Kind::in: return level_keys(term, table, rows);
    case Kind::where: return condition_keys(term, table, rows);
    case Kind::pareto:
    case Kind::prior:
    case Kind::inverse: break;
  }
  throw std::logic_error("keys of a composed preference");
}

Keys make_keys(const query::BoundRankTerm& term, const Table& table, const Rows& rows) {
  return value_keys(term.expression, table, rows, {term.high, term.nulls_first});
}

}  // namespace skyrank::exec

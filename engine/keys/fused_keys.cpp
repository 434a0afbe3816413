#include "engine/keys/fused_keys.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/expression/load.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/expression/program.hpp"
#include "engine/expression/vec.hpp"
#include "engine/keys/blocks/block_keys.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/parallel.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/cpu/topk/zones.hpp"

// Makes the keys of a ranking a block at a time, when a kernel asks for them, so that neither keys nor rows that pass
// the filter are written to memory. A block's keys are made in the cheapest way that gives the keys of make_keys: from
// the stored column, as a weighted sum, or by the interpreter.
namespace skyrank::exec {

using kernels::KeyWidth;
using query::BoundRankTerm;

namespace {

static_assert(kernels::kKeyBlockRows == kBlockRows);

/// Values of a type that leaves room for NULL use neither the first nor the last key.
template <class Key>
constexpr Key null_key(bool nulls_first) {
  return nulls_first ? Key{0} : static_cast<Key>(~Key{0});
}

/// Keys of one block. Integers count from the lowest that the key's width has, so that only those as wide as the key
/// use all keys.
template <class Key, class T>
void encode(const T* values, std::int64_t size, bool high, Key* out) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    static_assert(sizeof(T) == sizeof(Key));
    encode_floats(reinterpret_cast<const Key*>(values), static_cast<std::size_t>(size), high, out);
  } else if constexpr (std::is_same_v<T, Float16>) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = kernels::float_key(values[i].bits, high);
  } else {
    using Signed = std::make_signed_t<Key>;
    constexpr bool kFull = std::is_unsigned_v<T> && sizeof(T) == sizeof(Key);
    constexpr Key kOffset = kFull ? Key{0} : static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    const Key flip = high ? static_cast<Key>(~kOffset) : kOffset;
    for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<Key>(static_cast<Signed>(values[i])) ^ flip;
  }
}

/// Stored types by the width of their keys: floats keep their own, integers of 32 bits too unless NULL needs room.
template <class Key, class T>
constexpr bool kHasKeys = std::is_floating_point_v<T> ? sizeof(T) == sizeof(Key) : sizeof(T) <= sizeof(Key);

/// Keys of one ranking term and rows that pass a condition, for one thread.
template <class Key>
class Reader final : public kernels::KeyReader {
 public:
  Reader(std::int64_t n, const BoundRankTerm& term, const ColumnData* column, const WeightedSum* sum,
         const std::shared_ptr<const Program>& score, const std::shared_ptr<const Program>& condition)
      : rows_{n, nullptr}, high_(term.high), null_(null_key<Key>(term.nulls_first)), column_(column), sum_(sum) {
    if (column == nullptr && sum == nullptr) score_.emplace(score);
    if (condition != nullptr) condition_.emplace(condition);
  }

  kernels::KeyBlock read(std::size_t first, std::size_t last) override {
    const std::uint8_t* taking = nullptr;
    if (condition_) {
      condition_->evaluate(rows_, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first))
          .store_truth(taking_.data());
      taking = taking_.data();
      if (std::memchr(taking, 1, last - first) == nullptr) return {nullptr, nullptr, true};
    }
    return score(first, last, taking);
  }

  kernels::KeyBlock read_unfiltered(std::size_t first, std::size_t last) override {
    return score(first, last, nullptr);
  }

  void filter(std::span<const RowId> rows, std::uint8_t* taking) override {
    const auto size = static_cast<std::int64_t>(rows.size());
    condition_->evaluate(Rows{size, rows.data()}, 0, size).store_truth(taking);
  }

 private:
  kernels::KeyBlock score(std::size_t first, std::size_t last, const std::uint8_t* taking) {
    const auto begin = static_cast<std::int64_t>(first);
    const auto size = static_cast<std::int64_t>(last - first);
    if (column_ != nullptr) {
      read_column(begin, size);
    } else if (sum_ != nullptr) {
      if constexpr (sizeof(Key) == sizeof(double)) sum_->encode(begin, size, high_, keys_.data());
    } else {
      read_block(score_->evaluate(rows_, begin, size, taking));
    }
    return {keys_.data(), taking, false};
  }

  void read_column(std::int64_t begin, std::int64_t size) {
    with_stored_type(column_->type.type, [&]<class T>(T) {
      if constexpr (kHasKeys<Key, T>) {
        T scratch[kBlockRows];
        if (column_->type.type == Type::boolean) {
          std::uint8_t truths[kBlockRows];
          encode(load_booleans(*column_, rows_, begin, size, truths), size, high_, keys_.data());
        } else {
          encode(load_values(*column_, rows_, begin, size, scratch), size, high_, keys_.data());
        }
      }
    });
    std::uint8_t validity[kBlockRows];
    write_null(load_validity(*column_, rows_, begin, size, validity), size, null_, keys_.data());
  }

  void read_block(const Block& block) {
    with_evaluation_type(block.type.type, [&]<class T>(T) {
      // Computed values but booleans take 64 bits, and so do their keys.
      if constexpr (std::is_same_v<T, std::uint8_t> || sizeof(T) == sizeof(Key)) {
        encode(block.as<T>(), block.size, high_, keys_.data());
      }
    });
    write_null(block.valid, block.size, null_, keys_.data());
  }

  Rows rows_;
  bool high_;
  Key null_;
  const ColumnData* column_;
  const WeightedSum* sum_;
  std::optional<Evaluator> score_;
  std::optional<Evaluator> condition_;
  std::array<std::uint8_t, kBlockRows> taking_;
  alignas(64) std::array<Key, kBlockRows> keys_;
};

/// Returns true if all keys of 64 bits stand for values, so that none is left for NULL.
bool uses_all_keys(const query::BoundExpression& expression) {
  const Type type = expression.type.type;
  return type == Type::int64 || type == Type::decimal64 || type == Type::uint64 || type == Type::timestamp;
}

/// Returns the term of a column whose values lie next to each other; nothing for other columns.
std::optional<SumTerm> host_term(const WeightedColumn& term, const Table& table) {
  const ColumnData& data = table.column(term.column).data();
  const auto width = static_cast<std::size_t>(width_in_bytes(data.type.type));
  const bool contiguous =
      data.stride == static_cast<std::int64_t>(width) && reinterpret_cast<std::uintptr_t>(data.values) % width == 0;
  if (!contiguous) return std::nullopt;
  if (data.type.type == Type::float32) return SumTerm{static_cast<const float*>(data.values), nullptr, term.weight};
  return SumTerm{nullptr, static_cast<const double*>(data.values), term.weight};
}

}  // namespace

std::optional<WeightedSum> WeightedSum::match(const Ir& expression, const Table& table) {
  if (expression.root().op == query::Op::column) return std::nullopt;
  WeightedSum sum;
  for (const WeightedColumn& column : weighted_columns(expression, table)) {
    const auto term = host_term(column, table);
    if (!term) return std::nullopt;
    sum.terms_.push_back(*term);
  }
  return sum.terms_.empty() ? std::nullopt : std::optional(std::move(sum));
}

void WeightedSum::encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const {
  encode_sums(terms_, static_cast<std::size_t>(begin), static_cast<std::size_t>(size), high, keys);
}

bool FusedKeys::fits(const query::BoundQuery& query, const Table& table) {
  const bool simple = query.ranking.size() == 1 && query.limit && !query.group && !query.preference &&
                      query.partition_columns.empty() && !query::drops_or_refuses(query.nan_rule) &&
                      !query::drops_or_refuses(query.null_rule);
  if (!simple || query.limit == 0) return false;
  const query::BoundExpression& expression = query.ranking.front().expression;
  // Keys of one pass have at most 64 bits, and are made of each value alone.
  if (expression.type.type == Type::decimal128 || expression.type.type == Type::string) return false;
  return !uses_all_keys(expression) || never_null(lower(*expression.root), table);
}

bool FusedKeys::puts_null_first(const query::BoundQuery& query, const Table& table) {
  const BoundRankTerm& term = query.ranking.front();
  return term.nulls_first && !never_null(lower(*term.expression.root), table);
}

KeyWidth FusedKeys::width_of(const BoundRankTerm& term, const Table& table) {
  const query::BoundExpression& expression = term.expression;
  const Type type = expression.type.type;
  if (type == Type::boolean) return KeyWidth::bytes4;
  if (expression.column < 0) return KeyWidth::bytes8;
  const bool null_needs_room = !is_floating(type) && table.column(expression.column).may_have_nulls();
  return width_in_bytes(type) + (null_needs_room ? 1 : 0) <= 4 ? KeyWidth::bytes4 : KeyWidth::bytes8;
}

FusedKeys::FusedKeys(const query::BoundQuery& query, const Table& table, const FusedOptions& options)
    : term_(query.ranking.front()), n_(table.num_rows()), options_(options), width_(width_of(term_, table)) {
  const query::BoundExpression& expression = term_.expression;
  Ir score = lower(*expression.root);
  const bool score_never_fails = never_fails(score);
  if (expression.column >= 0) {
    column_ = &table.column(expression.column).data();
  } else {
    if (options.weighted_sum) sum_ = WeightedSum::match(score, table);
    if (!sum_) score_ = compile(std::move(score), expression, table);
  }
  if (!query.condition) return;
  condition_ = compile(*query.condition, table);
  can_filter_late_ = score_never_fails && never_fails(condition_->ir);
}

std::optional<kernels::FloatColumn> FusedKeys::floats() const {
  if (!options_.raw_floats || column_ == nullptr) return std::nullopt;
  if (column_->validity.bits != nullptr || column_->layout != Layout::plain) return std::nullopt;
  const Type type = column_->type.type;
  const auto width = static_cast<std::uintptr_t>(width_);
  const bool aligned = reinterpret_cast<std::uintptr_t>(column_->values) % width == 0;
  if ((type != Type::float32 && type != Type::float64) || column_->stride != static_cast<std::int64_t>(width) ||
      !aligned) {
    return std::nullopt;
  }
  return kernels::FloatColumn{column_->values, width_, term_.high};
}

bool FusedKeys::zone_map_is_sound() const {
  // A row that is not read cannot fail.
  return column_ != nullptr && !has_null_first() && (condition_ == nullptr || can_filter_late_);
}

bool FusedKeys::has_null_first() const {
  return term_.nulls_first && column_ != nullptr && column_->validity.bits != nullptr;
}

bool FusedKeys::has_room_for_zone_map() const {
  const kernels::MemoryAccount* const account = kernels::current_account();
  const std::size_t bytes =
      kernels::topk::Zones::count(static_cast<std::size_t>(n_)) * static_cast<std::size_t>(width_);
  // It is kept, and the query that makes it goes on to need memory.
  return account == nullptr || bytes <= account->left() / 2;
}

const void* FusedKeys::zone_map(std::size_t k) const {
  if (!options_.zone_maps || !zone_map_is_sound()) return nullptr;
  zone_map_ = cache_of(*column_)->zone_map(term_.high);
  const auto n = static_cast<std::size_t>(n_);
  const bool worth_it = condition_ == nullptr && kernels::topk::Zones::can_bound(k, n) && has_room_for_zone_map();
  if (zone_map_ == nullptr && worth_it) zone_map_ = cache_of(*column_)->keep_zone_map(term_.high, make_zone_map());
  return zone_map_.get();
}

std::shared_ptr<const void> FusedKeys::make_zone_map() const {
  static_assert(kBlockRows % kernels::kZoneRows == 0 && kChunkRows % kBlockRows == 0);
  const auto make = [&]<class Key>(Key) -> std::shared_ptr<const void> {
    const auto zones = (static_cast<std::size_t>(n_) + kernels::kZoneRows - 1) / kernels::kZoneRows;
    const auto map = std::make_shared<kernels::Array<Key>>(zones);
    const auto floats = this->floats();
    for_chunks(n_, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      Key* const out = map->get() + static_cast<std::size_t>(begin) / kernels::kZoneRows;
      if (floats) {
        const auto* const bits = static_cast<const Key*>(floats->data) + begin;
        return least_float_keys(bits, static_cast<std::size_t>(end - begin), floats->high, out);
      }
      const auto keys = reader();
      for (std::int64_t at = begin; at < end; at += kBlockRows) {
        const std::int64_t last = std::min(end, at + kBlockRows);
        const auto block = keys->read_unfiltered(static_cast<std::size_t>(at), static_cast<std::size_t>(last));
        kernels::topk::fill_zone_map(static_cast<const Key*>(block.keys), static_cast<std::size_t>(last - at),
                                     out + static_cast<std::size_t>(at - begin) / kernels::kZoneRows);
      }
    });
    return {map, map->get()};
  };
  return width_ == KeyWidth::bytes4 ? make(std::uint32_t{}) : make(std::uint64_t{});
}

FusedUse::Entry FusedKeys::use_of_late_filter() const {
  if (condition_ == nullptr) return {false, "there is no condition"};
  if (can_filter_late_) return {true, "where a sample says that few rows can be among the best"};
  return {false, "the condition or the ranking may fail on a row, which must not go unseen"};
}

FusedUse::Entry FusedKeys::use_of_zone_maps(std::size_t k) const {
  if (column_ == nullptr) return {false, "the ranking is no plain column"};
  if (has_null_first()) return {false, "NULL comes first, and the zone maps of columns hold it last"};
  if (!zone_map_is_sound()) return {false, "the condition may fail on a row, which must not go unseen"};
  if (cache_of(*column_)->zone_map(term_.high) != nullptr) return {true, "made by an earlier query"};
  if (condition_ != nullptr) return {false, "a query with a condition makes none, and none is there"};
  if (!has_room_for_zone_map()) return {false, "the engine's limit of memory leaves no room for one"};
  if (kernels::topk::Zones::can_bound(k, static_cast<std::size_t>(n_))) {
    return {true, "made by this query, for later ones too"};
  }
  return {false, "too few rows for so long an answer"};
}

FusedUse FusedKeys::use_of(std::size_t k) const {
  const bool is_sum = sum_.has_value();
  const bool is_float = floats().has_value();
  return {use_of_late_filter(),
          use_of_zone_maps(k),
          {is_sum, is_sum ? "the ranking is a sum of weighted columns"
                          : "the ranking is no sum of weighted columns of floats without NULLs"},
          {is_float, is_float ? "the ranking is a column of floats without NULLs"
                              : "the ranking is no column of floats without NULLs"}};
}

std::unique_ptr<kernels::KeyReader> FusedKeys::reader() const {
  const auto make = [&]<class Key>(Key) -> std::unique_ptr<kernels::KeyReader> {
    return std::make_unique<Reader<Key>>(n_, term_, column_, sum_ ? &*sum_ : nullptr, score_, condition_);
  };
  return width_ == KeyWidth::bytes4 ? make(std::uint32_t{}) : make(std::uint64_t{});
}

}  // namespace skyrank::exec

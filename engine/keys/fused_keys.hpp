#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/expression/ir.hpp"
#include "engine/keys/blocks/block_keys.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::exec {

struct Program;

/// A score like `0.3 * a + b - 2 * c` over contiguous float32 and float64 columns without NULLs. It makes keys of a
/// block of rows in one loop. They equal the keys of the evaluator's values bit for bit: the operations are the same,
/// in the same order, each rounded.
class WeightedSum {
 public:
  /// Nothing if the expression is not such a sum, from left to right, of columns and products of a number and a column.
  static std::optional<WeightedSum> match(const Ir& expression, const Table& table);

  /// Keys of the values of rows [begin, begin + size), at most kBlockRows.
  void encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const;

 private:
  std::vector<SumTerm> terms_;
};

/// Options of a source of fused keys. None of them changes an answer.
struct FusedOptions {
  bool late_filter = true;   ///< filter only rows whose keys may be in the answer
  bool zone_maps = true;     ///< skip zones of a column by their best value
  bool weighted_sum = true;  ///< make keys of a weighted sum without interpreting it
  bool raw_floats = true;    ///< compare the stored floats of a column
};

/// Options that apply to one query, each with the reason why or why not.
struct FusedUse {
  struct Entry {
    bool used = false;
    std::string reason;
  };
  Entry late_filter;
  Entry zone_maps;
  Entry weighted_sum;
  Entry raw_floats;
};

/// A source of keys for a top-k kernel that evaluates the condition and the one ranking term of a query. Only rows that
/// pass the condition have keys, which order rows as those of make_keys do.
class FusedKeys final : public kernels::KeySource {
 public:
  /// `query` fits.
  FusedKeys(const query::BoundQuery& query, const Table& table, const FusedOptions& options = {});

  /// Returns true if a query is no more than a condition and the best rows of one ranking term, and there are keys for
  /// all values of the term and for NULL if that may occur.
  static bool fits(const query::BoundQuery& query, const Table& table);

  /// Returns true if the one ranking term of a query that fits may be NULL, and NULL comes first.
  static bool puts_null_first(const query::BoundQuery& query, const Table& table);

  /// Bytes of the keys of a ranking term that fits.
  static kernels::KeyWidth width_of(const query::BoundRankTerm& term, const Table& table);

  kernels::KeyWidth width() const override { return width_; }
  bool has_filter() const override { return condition_ != nullptr; }
  bool can_filter_late() const override { return can_filter_late_ && options_.late_filter; }
  std::optional<kernels::FloatColumn> floats() const override;
  /// Returns the zone map of a ranking by a column; null without one. Makes it, and keeps it with the column, if it is
  /// expected to exclude most zones.
  const void* zone_map(std::size_t k) const override;
  std::unique_ptr<kernels::KeyReader> reader() const override;

  /// Returns the options that a kernel which selects k rows can use. `floats` and zone maps serve only kernels that
  /// look for a threshold.
  FusedUse use_of(std::size_t k) const;

 private:
  FusedUse::Entry use_of_late_filter() const;
  FusedUse::Entry use_of_zone_maps(std::size_t k) const;
  bool zone_map_is_sound() const;
  bool has_null_first() const;
  bool has_room_for_zone_map() const;
  std::shared_ptr<const void> make_zone_map() const;

  query::BoundRankTerm term_;
  std::int64_t n_;
  FusedOptions options_;
  const ColumnData* column_ = nullptr;  ///< set if the term is a column
  std::optional<WeightedSum> sum_;      ///< set if the term is a weighted sum
  std::shared_ptr<const Program> score_;
  std::shared_ptr<const Program> condition_;  ///< null: all rows take part
  kernels::KeyWidth width_;
  mutable std::shared_ptr<const void> zone_map_;  ///< the one that this query uses
  bool can_filter_late_ = false;                  ///< neither the condition nor the term can fail for any row
};

}  // namespace skyrank::exec

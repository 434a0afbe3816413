#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <skyrank/table.hpp>

// Columns carry properties that types do not tell: the order of their categories, and their time zone.
namespace skyrank::exec {

/// Texts in an order of their own, such as S, M, L: the entries of a dictionary that is ordered. Each text is there
/// once.
class Categories {
 public:
  /// Throws std::invalid_argument where a text is there twice.
  explicit Categories(std::vector<std::string> texts);
  Categories(const Categories&) = delete;
  Categories& operator=(const Categories&) = delete;

  /// Returns the texts in their order.
  const std::vector<std::string>& texts() const { return texts_; }
  /// Returns the place of a text in the order, or nothing where it is none of the texts.
  std::optional<std::uint64_t> rank(std::string_view text) const;

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, std::uint64_t> ranks_;
};

/// Returns one order of all texts that agrees with both; null where they contradict each other. Texts between which
/// neither tells come in the order of `a`, then of `b`.
std::shared_ptr<const Categories> united(const std::shared_ptr<const Categories>& a,
                                         const std::shared_ptr<const Categories>& b);

/// The properties of a column's values that its type does not tell. They change no value.
struct ColumnTraits {
  std::string zone;                         ///< timestamps: the zone in which they are shown; empty for none
  std::shared_ptr<const Categories> order;  ///< strings: the order by which they rank; null for that of their bytes
};

/// Returns the traits of a column, null where it has none.
std::shared_ptr<const ColumnTraits> traits_of(const ColumnData& column);
/// Returns the order by which a column of strings ranks, null for that of its bytes.
std::shared_ptr<const Categories> order_of(const ColumnData& column);
/// Returns the zone of a column of timestamps, empty for none.
std::string zone_of(const ColumnData& column);

/// Returns the same column with other traits.
Column with_traits(const Column& column, std::shared_ptr<const ColumnTraits> traits);
/// Returns the column with the traits that columns have in common whose rows it holds: the zone if all have the same,
/// and one order of all their texts. Throws DataError where their orders contradict each other.
Column with_traits_of(const Column& column, const std::vector<Column>& pieces);

}  // namespace skyrank::exec

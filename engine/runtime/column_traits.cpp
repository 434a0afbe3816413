#include "engine/column_traits.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/runtime/column_cache.hpp"

namespace skyrank::exec {
namespace {

using OrderPtr = std::shared_ptr<const Categories>;

/// Appends the texts up to the next one that `other` has too, and moves behind that one.
void append_own(const std::vector<std::string>& texts, std::size_t& at, const Categories& other,
                std::vector<std::string>& all) {
  while (at < texts.size() && !other.rank(texts[at])) all.push_back(texts[at++]);
}

/// Returns the pieces that have rows, or all of them where none has.
std::vector<const ColumnData*> with_rows(const std::vector<Column>& pieces) {
  std::vector<const ColumnData*> found;
  for (const bool empty : {false, true}) {
    if (!found.empty()) break;
    for (const Column& piece : pieces) {
      if (empty || piece.size() > 0) found.push_back(&piece.data());
    }
  }
  return found;
}

/// Returns the zone of times of several zones: UTC, or none where one has none.
std::string common_zone(const std::string& a, const std::string& b) {
  if (a == b) return a;
  return a.empty() || b.empty() ? "" : "UTC";
}

}  // namespace

Categories::Categories(std::vector<std::string> texts) : texts_(std::move(texts)) {
  ranks_.reserve(texts_.size());
  for (const std::string& text : texts_) {
    if (!ranks_.emplace(text, ranks_.size()).second) {
      throw std::invalid_argument("the category '" + text + "' is there twice");
    }
  }
}

std::optional<std::uint64_t> Categories::rank(std::string_view text) const {
  const auto found = ranks_.find(text);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

OrderPtr united(const OrderPtr& a, const OrderPtr& b) {
  if (a == b || a->texts() == b->texts()) return a;
  const std::vector<std::string>& left = a->texts();
  const std::vector<std::string>& right = b->texts();
  std::vector<std::string> all;
  all.reserve(std::max(left.size(), right.size()));
  std::size_t i = 0;
  std::size_t j = 0;
  for (;;) {
    append_own(left, i, *b, all);
    append_own(right, j, *a, all);
    if (i == left.size() || j == right.size()) break;
    if (left[i] != right[j]) return nullptr;
    all.push_back(left[i]);
    ++i;
    ++j;
  }
  return std::make_shared<const Categories>(std::move(all));
}

std::shared_ptr<const ColumnTraits> traits_of(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  return kept != nullptr ? kept->traits : nullptr;
}

OrderPtr order_of(const ColumnData& column) {
  const auto traits = traits_of(column);
  return traits != nullptr ? traits->order : nullptr;
}

std::string zone_of(const ColumnData& column) {
  const auto traits = traits_of(column);
  return traits != nullptr ? traits->zone : std::string();
}

Column with_traits(const Column& column, std::shared_ptr<const ColumnTraits> traits) {
  if (traits == traits_of(column.data())) return column;
  ColumnData data = column.data();
  set_kept(data, pinned_of(data), spread_of(data), lent_of(data), std::move(traits));
  return {column.name(), std::move(data)};
}

Column with_traits_of(const Column& column, const std::vector<Column>& pieces) {
  const std::vector<const ColumnData*> parts = with_rows(pieces);
  if (parts.empty()) return column;
  const std::shared_ptr<const ColumnTraits> first = traits_of(*parts.front());
  if (std::ranges::all_of(parts, [&](const ColumnData* part) { return traits_of(*part) == first; })) {
    return with_traits(column, first);
  }
  ColumnTraits common{zone_of(*parts.front()), order_of(*parts.front())};
  for (const ColumnData* part : parts) {
    common.zone = common_zone(common.zone, zone_of(*part));
    const OrderPtr order = order_of(*part);
    const bool both = common.order != nullptr && order != nullptr;
    common.order = both ? united(common.order, order) : nullptr;
    if (both && common.order == nullptr) {
      throw DataError("column '" + column.name() +
                      "' has parts whose ordered categories contradict each other; give all parts one order");
    }
  }
  return with_traits(column, std::make_shared<const ColumnTraits>(std::move(common)));
}

}  // namespace skyrank::exec

#include "kernels/common/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace skyrank::kernels {
namespace {

/// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view wrong, std::span<const std::string_view> names) {
  if (names.empty()) return {};
  const auto nearest = std::ranges::min_element(names, {}, [&](auto name) { return edit_distance(wrong, name); });
  if (edit_distance(wrong, *nearest) <= std::max<std::size_t>(1, nearest->size() / 2)) {
    return "; did you mean '" + std::string(*nearest) + "'?";
  }
  std::string all = "; there are: ";
  for (const std::string_view name : names) {
    if (name.data() != names.front().data()) all += ", ";
    all += name;
  }
  return all;
}

}  // namespace skyrank::kernels

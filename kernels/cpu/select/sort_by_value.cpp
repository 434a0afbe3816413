#include "kernels/cpu/select/sort_by_value.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/common/keys.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/select/scan.hpp"

namespace skyrank::kernels {
namespace {

/// Rows that one thread sorts by vectors sooner than all threads by comparisons.
constexpr std::size_t kMaxVectorRows = std::size_t{1} << 17;

std::uint64_t key_of(double value) {
  return float_key(std::bit_cast<std::uint64_t>(value + 0.0), /*high=*/false);  // no -0.0
}

}  // namespace

void sort_by_value(std::span<RowId> rows, std::span<const double> values, const Context& context) {
  context.check();
  const auto value = [&](RowId row) { return values[static_cast<std::size_t>(row)]; };
  if (rows.size() > kMaxVectorRows || !select::has_vectors()) {  // Highway has no sort of 128 bits without vectors
    parallel_sort(
        rows.begin(), rows.end(), [&](RowId a, RowId b) { return value(a) != value(b) ? value(a) < value(b) : a < b; },
        context);
    return;
  }
  Scratch<hwy::uint128_t> items(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    items[i].lo = static_cast<std::uint64_t>(rows[i]);
    items[i].hi = key_of(value(rows[i]));
  }
  const hwy::Sorter sorter;  // not shared: it may hold memory that a sort works in
  sorter(items.data(), items.size(), hwy::SortAscending());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<RowId>(items[i].lo);
}

}  // namespace skyrank::kernels

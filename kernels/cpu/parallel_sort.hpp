#pragma once

#include <tbb/parallel_sort.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// Sorts [begin, end) by a strict total order. Throws Cancelled soon after the context asks for it.
template <class T, class Less>
void sort_array(T* begin, T* end, const Less& less, const Context& context) {
  constexpr std::ptrdiff_t kSerial = 1 << 14;
  if (end - begin <= kSerial) {
    std::sort(begin, end, less);
    return;
  }
  tbb::task_group_context group_context;
  tbb::task_group group(group_context);
  const std::stop_callback stop(context.stop, [&] { group_context.cancel_group_execution(); });
  const auto status = group.run_and_wait([&] { tbb::parallel_sort(begin, end, less); });
  if (status == tbb::canceled) throw Cancelled{};
}

// TBB's sort takes seconds to compile, so the order of row ids is compiled once.
extern template void sort_array(RowId*, RowId*, const std::less<>&, const Context&);

/// The same for iterators of consecutive elements.
template <class Iterator, class Less>
void parallel_sort(Iterator begin, Iterator end, const Less& less, const Context& context) {
  sort_array(std::to_address(begin), std::to_address(end), less, context);
}

}  // namespace skyrank::kernels

#include "kernels/cpu/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/team.hpp"

namespace skyrank::kernels {

std::size_t concurrency() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

bool is_group_cancelled() { return tbb::is_current_task_group_canceling(); }

void run_ranges(std::size_t n, std::size_t grain, RangeBody body) {
  if (Team* const team = Team::current()) {
    team->run(n, std::min((n + grain - 1) / grain, 4 * concurrency()), body);
    return;
  }
  tbb::task_group_context group;
  MemoryAccount* const account = current_account();
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, n, grain),
      [&](const auto& range) {
        const AccountScope counted(account);
        body(range.begin(), range.end());
      },
      tbb::auto_partitioner{}, group);
  if (group.is_group_execution_cancelled()) throw Cancelled{};
}

template void sort_array(RowId*, RowId*, const std::less<>&, const Context&);

}  // namespace skyrank::kernels

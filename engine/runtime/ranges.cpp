#include "engine/runtime/ranges.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

void for_each_range(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (n <= 0) return;
  const std::stop_token& stop = current_stop();
  check(stop);
  if (n <= grain) return body(0, n);
  kernels::MemoryAccount* const account = kernels::current_account();
  const kernels::cuda::SelectedDevice device = kernels::cuda::selected_device();
  kernels::TransferTally* const tally = kernels::current_tally();
  tbb::parallel_for(std::int64_t{0}, (n + grain - 1) / grain, [&](std::int64_t range) {
    const StopScope stops(stop);
    const kernels::AccountScope counted(account);
    const kernels::cuda::DeviceScope on_device(device);
    const kernels::TallyScope tallied(tally);
    check(stop);
    body(range * grain, std::min(n, (range + 1) * grain));
  });
}

}  // namespace skyrank::exec

#include "engine/parts/gpus/prefetch.hpp"

#include <exception>
#include <system_error>

#include "engine/device/resident.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/runtime/thread_state.hpp"

namespace skyrank::exec {

TurnPart turn_part(const Table& table, RowRange rows) {
  return {rows, kept_on_device(rows_of(table, rows.begin, rows.end))};
}

Prefetch::Prefetch(const TurnPart& part, const std::vector<int>& columns, const kernels::cuda::SelectedDevice& device,
                   kernels::TransferTally& tally, const std::stop_token& stop) {
  std::vector<std::shared_ptr<ResidentColumn>> wanted;
  const kernels::cuda::DeviceScope on_device(device);
  for (const int column : columns) {
    if (auto resident = pinned_here(part.table.column(column).data())) wanted.push_back(std::move(resident));
  }
  const ThreadState copying{stop, nullptr, device, &tally};
  const auto copy = [wanted = std::move(wanted), copying] {
    const ThreadScope scope(copying);
    double ms = 0;
    try {
      for (const auto& resident : wanted) {
        resident->values(ms);
      }
    } catch (...) {  // the query meets the same, and says so
    }
  };
  try {
    thread_.emplace(copy);
  } catch (const std::system_error&) {  // no thread can be started
  }
}

Prefetch::~Prefetch() {
  if (thread_) thread_->join();
}

}  // namespace skyrank::exec

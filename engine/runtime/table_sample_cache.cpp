#include "engine/runtime/table_sample_cache.hpp"

#include <utility>

namespace skyrank::exec {

std::optional<TableSample> TableSampleCache::find(const std::string& query) const {
  const std::lock_guard lock(mutex_);
  const auto found = samples_.find(query);
  return found == samples_.end() ? std::nullopt : std::optional(found->second.sample);
}

void TableSampleCache::keep(const std::string& query, const TableSample& sample) {
  kernels::Charge charge(2 * query.size() + sizeof(Kept));
  const std::lock_guard lock(mutex_);
  if (samples_.size() >= kMaxKept) samples_.clear();
  samples_.insert_or_assign(query, Kept{sample, std::move(charge)});
}

}  // namespace skyrank::exec

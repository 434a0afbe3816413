#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/dominance_counts/dominance_counts.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/aggregate.hpp"
#include "kernels/cuda/groups/best_groups.hpp"
#include "kernels/cuda/groups/contenders.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"
#include "kernels/cuda/indicators/distances.hpp"
#include "kernels/cuda/indicators/volumes.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/select/partitions.hpp"
#include "kernels/cuda/select/select.hpp"
#include "kernels/cuda/skyline/level_lists.hpp"
#include "kernels/cuda/skyline/resident.hpp"
#include "kernels/cuda/skyline/team.hpp"
#include "kernels/cuda/values/borrowed.hpp"
#include "kernels/cuda/values/upload.hpp"

// Stands for kernels/cuda in a build without CUDA.
namespace skyrank::kernels::cuda {

Devices find_devices() {
  Devices none;
  none.reason = "this build has no GPU kernels (built without CUDA)";
  return none;
}

std::span<const SkylineAlgorithm* const> skyline_algorithms() { return {}; }

std::span<const TopKAlgorithm* const> topk_algorithms() { return {}; }

void self_check(int /*ordinal*/) { throw Failure("self_check", find_devices().reason, __FILE__, __LINE__); }

DeviceArray::DeviceArray(std::size_t /*bytes*/) {
  throw Failure("DeviceArray", find_devices().reason, __FILE__, __LINE__);
}
DeviceArray::DeviceArray(const void* /*source*/, std::size_t bytes) : DeviceArray(bytes) {}
void DeviceArray::write(std::size_t /*offset*/, const void* /*source*/, std::size_t /*bytes*/) const {}
void DeviceArray::write_pinned(std::size_t /*offset*/, const void* /*source*/, std::size_t /*bytes*/) const {}
PinnedRange::PinnedRange(void* /*memory*/, std::size_t /*bytes*/) : memory_(nullptr) {
  throw Failure("PinnedRange", find_devices().reason, __FILE__, __LINE__);
}
PinnedRange::~PinnedRange() { memory_ = nullptr; }
void read_array(void* /*target*/, const void* /*from_device*/, std::size_t /*bytes*/) {}
std::size_t available_bytes() { return 0; }
std::size_t peak_temporary_bytes() { return 0; }
std::shared_ptr<void> upload(const HostValues& /*values*/, const std::stop_token& /*stop*/) {
  throw Failure("upload", find_devices().reason, __FILE__, __LINE__);
}

std::optional<int> device_of(const void* /*memory*/) {
  throw Failure("device_of", find_devices().reason, __FILE__, __LINE__);
}
std::shared_ptr<ReadyPoint> ReadyPoint::at_event(void* /*event*/) { return nullptr; }
std::shared_ptr<ReadyPoint> ReadyPoint::after_stream(void* /*stream*/, int /*ordinal*/) { return nullptr; }
std::shared_ptr<void> copy_borrowed(const BorrowedValues& /*values*/) { return nullptr; }
void fetch_borrowed(void* /*target*/, const BorrowedValues& /*values*/) {}
void fetch_borrowed(void* /*target*/, const BorrowedValues& /*values*/, std::span<const RowId> /*places*/) {}
void finish_reading(int /*ordinal*/) noexcept {}

std::size_t select_workspace_bytes(const SelectProblem& /*problem*/) {
  throw Failure("select_k", find_devices().reason, __FILE__, __LINE__);
}
std::size_t select_rows(const SelectProblem& /*problem*/, void* /*workspace*/, std::size_t /*workspace_bytes*/,
                        void* /*stream*/) {
  throw Failure("select_k", find_devices().reason, __FILE__, __LINE__);
}

double hypervolume(const FrontRows& /*points*/, const double* /*reference*/, const Context& /*context*/,
                   unsigned /*max_steps*/) {
  throw Failure("hypervolume", find_devices().reason, __FILE__, __LINE__);
}
void hypervolume_contributions(const FrontRows& /*points*/, const double* /*reference*/, bool /*keeps_dominated*/,
                               std::span<double> /*contributions*/, const Context& /*context*/,
                               unsigned /*max_steps*/) {
  throw Failure("hypervolume_contributions", find_devices().reason, __FILE__, __LINE__);
}
std::vector<std::int64_t> count_dominance(const CountProblem& /*problem*/, std::span<const std::int64_t> /*asking*/,
                                          Counted /*counted*/, const Context& /*context*/) {
  throw Failure("count_dominance", find_devices().reason, __FILE__, __LINE__);
}
std::vector<std::int64_t> count_dominance(const CountProblem& /*problem*/, Counted /*counted*/,
                                          const Context& /*context*/) {
  throw Failure("count_dominance", find_devices().reason, __FILE__, __LINE__);
}
std::vector<std::int64_t> find_skyband(const CountProblem& /*problem*/, std::int64_t /*enough*/,
                                       const Context& /*context*/) {
  throw Failure("find_skyband", find_devices().reason, __FILE__, __LINE__);
}
std::vector<double> least_distances(PointDistance /*distance*/, const FrontRows& /*points*/,
                                    const FrontRows& /*reference_set*/, const Context& /*context*/) {
  throw Failure("least_distances", find_devices().reason, __FILE__, __LINE__);
}

namespace skyline {

TeamRows find_skyline_as_team(std::span<const TeamShare> /*shares*/, KeyWidth /*width*/, const Context& /*context*/) {
  throw Failure("find_skyline_as_team", find_devices().reason, __FILE__, __LINE__);
}

DeviceArray no_levels(std::size_t /*n*/) { return {}; }
void set_levels(const DeviceArray& /*levels*/, std::size_t /*first*/, const DeviceArray& /*rows*/,
                std::size_t /*count*/, std::int32_t /*level*/) {}
LeveledRows rows_with_levels(const DeviceArray& /*levels*/, std::size_t /*n*/, std::size_t /*count*/) { return {}; }

}  // namespace skyline

namespace select {

Vector<RowId> best_of_partitions(const PartitionProblem& /*problem*/) { return {}; }

}  // namespace select

namespace groups {

DeviceArray total_integers(const StoredColumn& /*column*/, const expression::DeviceRows& /*rows*/,
                           const SortedRows& /*partitions*/) {
  return {};
}
SortedRows sort_rows(const KeyColumn& /*codes*/, std::size_t /*n*/) { return {}; }
GroupList all_groups(const SortedRows& /*rows*/) { return {}; }
GroupList best_groups(const SortedRows& /*rows*/, const GroupValue& /*value*/, std::size_t /*k*/) { return {}; }
bool sums_fit(const DeviceArray& /*totals*/, bool /*with_sign*/) { return true; }
Vector<std::int64_t> first_places(const SortedRows& /*rows*/, const GroupList& /*list*/) { return {}; }
Vector<std::int64_t> sizes(const SortedRows& /*rows*/, const GroupList& /*list*/) { return {}; }
Vector<IntegerTotal> totals_of(const DeviceArray& /*totals*/, const GroupList& /*list*/) { return {}; }
PartitionedRows partition_rows(const KeyColumn& /*codes*/, std::size_t /*n*/) { return {}; }
PartitionedRows partition_contenders(const KeyColumn& /*codes*/, const KeyColumn& /*keys*/, std::size_t /*n*/,
                                     std::size_t /*k*/) {
  return {};
}
Contenders find_contenders(const ReadKeys& /*codes*/, std::uint64_t /*greatest_code*/, const ReadKeys& /*keys*/,
                           std::size_t /*n*/, std::size_t /*k*/) {
  return {};
}
DeviceArray take_in_order(const KeyColumn& /*keys*/, const PartitionedRows& /*rows*/) { return {}; }
DeviceArray ids_in_order(const PartitionedRows& /*rows*/) { return {}; }
Vector<std::int64_t> places_at(const PartitionedRows& /*rows*/, std::span<const std::int64_t> /*positions*/) {
  return {};
}

}  // namespace groups

namespace expression {

Computed evaluate(const DeviceExpression& /*expression*/, const DeviceRows& /*rows*/) { return {}; }
Passing filter(const DeviceExpression& /*condition*/, const DeviceRows& /*rows*/) { return {}; }
IntegerRange range_of(const StoredColumn& /*column*/, const DeviceRows& /*rows*/) { return {}; }
DeviceArray make_keys(const StoredColumn& /*column*/, const DeviceRows& /*rows*/, const KeyRecipe& /*recipe*/,
                      KeyWidth /*width*/) {
  return {};
}
std::uint64_t greatest_key(const KeyColumn& /*keys*/, std::size_t /*n*/) { return 0; }
DeviceArray pack_parts(std::span<const KeyPart> /*parts*/, std::size_t /*n*/, KeyWidth /*width*/) { return {}; }
DeviceArray take_keys(const KeyColumn& /*keys*/, const std::int64_t* /*positions*/, std::size_t /*count*/) {
  return {};
}

}  // namespace expression

}  // namespace skyrank::kernels::cuda

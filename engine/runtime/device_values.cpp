#include "engine/runtime/device_values.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/runtime/column_cache.hpp"

namespace skyrank::exec {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Addresses that nobody else gets, without memory.
void* reserve_addresses(std::size_t bytes) {
  void* const addresses = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses != MAP_FAILED) return addresses;
  throw ResourceError("a column on a GPU needs " + std::to_string(bytes) +
                      " bytes of addresses for its copy on the host, which this process may not have");
}

}  // namespace

DeviceValues::DeviceValues(Loan loan) : loan_(std::move(loan)) {
  if (loan_.values.bytes() == 0) {
    is_on_host_ = true;
    return;
  }
  mapped_bytes_ = whole_pages(loan_.values.bytes());
  host_copy_ = reserve_addresses(mapped_bytes_);
}

DeviceValues::~DeviceValues() {
  if (host_copy_ == nullptr) return;
  // A query that failed may have left kernels that still read the values.
  if (was_held_) kernels::cuda::finish_reading(device());
  munmap(host_copy_, mapped_bytes_);
}

void DeviceValues::hold() const {
  was_held_ = true;
  if (loan_.ready != nullptr) loan_.ready->hold();
}

void DeviceValues::wait() const {
  if (loan_.ready != nullptr) loan_.ready->wait();
}

void DeviceValues::copy_to_host() {
  if (is_on_host()) return;
  const std::scoped_lock lock(mutex_);
  if (is_on_host()) return;
  kernels::Charge charge(loan_.values.bytes());
  if (mprotect(host_copy_, mapped_bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  wait();
  kernels::cuda::fetch_borrowed(host_copy_, loan_.values);
  charge_ = std::move(charge);
  is_on_host_.store(true, std::memory_order_release);
}

void DeviceValues::take_rows(std::span<const RowId> rows, void* target) const {
  wait();
  kernels::cuda::fetch_borrowed(target, loan_.values, rows);
}

DeviceValues* device_only_values(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  DeviceValues* const values = kept != nullptr ? kept->lent.get() : nullptr;
  return values == nullptr || values->is_on_host() ? nullptr : values;
}

void copy_to_host(const ColumnData& column) {
  if (DeviceValues* const values = device_only_values(column)) values->copy_to_host();
}

}  // namespace skyrank::exec

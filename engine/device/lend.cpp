#include "engine/device/lend.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/device_values.hpp"
#include "kernels/cuda/device/device.hpp"

namespace skyrank::exec {
namespace {

using kernels::cuda::BorrowedValues;

std::string name_of_memory(const std::optional<int>& device) {
  return device ? "of GPU " + std::to_string(*device) : "of the host";
}

/// Subject of messages: memory with values of some rows.
struct Subject {
  const std::string& what;
  std::int64_t rows;
};

/// Checks that both ends of a buffer, which is not empty, are in the memory of a GPU.
void check_place(const void* first, const void* last, const char* part, const Subject& memory, int ordinal) {
  const std::optional<int> device = kernels::cuda::device_of(first);
  if (device != ordinal) {
    throw DataError(memory.what + " has its " + part + " in memory " + name_of_memory(device) + ", not of GPU " +
                    std::to_string(ordinal) + ", on which it is said to be");
  }
  if (kernels::cuda::device_of(last) == ordinal) return;
  throw DataError(memory.what + " has " + std::to_string(memory.rows) + " rows, but its " + part +
                  " in the memory of GPU " + std::to_string(ordinal) + " end before the last one");
}

/// Returns an address of the memory that `values` begin.
const void* at(const void* values, std::int64_t bytes) { return static_cast<const std::byte*>(values) + bytes; }

void check_values(const LentMemory& memory, int ordinal) {
  if (memory.length == 0) return;
  if (memory.values == nullptr) throw DataError(memory.what + " has values at a null pointer");
  const std::int64_t bytes = memory.layout == Layout::bits ? 1 : width_in_bytes(memory.type.type);
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory.values));
  if (address % bytes != 0 || memory.stride % bytes != 0) {
    throw DataError(memory.what + " has values of " + std::to_string(bytes) +
                    " bytes that do not lie at multiples of " + std::to_string(bytes) + " bytes");
  }
  if (memory.length >
      std::numeric_limits<std::int64_t>::max() / std::max<std::int64_t>(bytes, std::abs(memory.stride))) {
    throw DataError(memory.what + " has " + std::to_string(memory.length) + " rows, more than a memory can have");
  }
  const std::int64_t last = memory.layout == Layout::bits ? (memory.first_bit + memory.length - 1) / 8
                                                          : (memory.length - 1) * memory.stride + bytes - 1;
  check_place(memory.values, at(memory.values, last), "values", {memory.what, memory.length}, ordinal);
}

/// The memory of a column: its bitmap on the host, and its values.
struct LentParts {
  std::vector<std::uint8_t> valid;
  std::shared_ptr<DeviceValues> values;
};

bool all_set(const std::vector<std::uint8_t>& bits, std::int64_t first, std::int64_t count) {
  const Validity valid{bits.data(), first};
  const auto full = std::ranges::find_if(bits, [](std::uint8_t byte) { return byte != 0xff; }) - bits.begin();
  for (std::int64_t row = std::max<std::int64_t>(0, 8 * full - first); row < count; ++row) {
    if (!valid(row)) return false;
  }
  return true;
}

}  // namespace

void check_gpu(std::int64_t ordinal, const std::string& what) {
  static const kernels::cuda::Devices kFound = kernels::cuda::find_devices();
  const auto count = static_cast<std::int64_t>(kFound.devices.size());
  if (count == 0) {
    throw DeviceError(what + " lies on a GPU, and this process has none: " + kFound.reason + "; copy it to the CPU");
  }
  if (ordinal >= 0 && ordinal < count) return;
  throw DeviceError(what + " lies on GPU " + std::to_string(ordinal) + ", but there " +
                    (count == 1 ? "is only GPU 0" : "are only GPUs 0 to " + std::to_string(count - 1)));
}

std::vector<std::uint8_t> fetch_bits(const Validity& bits, std::int64_t rows, const std::string& what,
                                     const Lender& lender) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>((bits.offset % 8 + rows + 7) / 8));
  const std::uint8_t* const first = bits.bits + bits.offset / 8;
  check_place(first, first + bytes.size() - 1, "bits of NULLs", {what, rows}, lender.ordinal);
  if (lender.ready != nullptr) lender.ready->wait();
  kernels::cuda::fetch_borrowed(bytes.data(), {.first = first, .count = bytes.size(), .ordinal = lender.ordinal});
  return bytes;
}

namespace {

BorrowedValues values_of(const LentMemory& memory, int ordinal) {
  BorrowedValues values{.first = memory.values, .ordinal = ordinal};
  if (memory.length == 0) return values;
  if (memory.layout == Layout::bits) {
    values.first = at(memory.values, memory.first_bit / 8);
    values.count = static_cast<std::size_t>((memory.first_bit % 8 + memory.length + 7) / 8);
    return values;
  }
  values.width = static_cast<std::size_t>(width_in_bytes(memory.type.type));
  values.stride = memory.stride;
  values.count = static_cast<std::size_t>(memory.length);
  return values;
}

/// The bits of NULLs on the host; none where no row is NULL.
std::vector<std::uint8_t> valid_rows(const LentMemory& memory, const Lender& lender) {
  if (memory.validity.bits == nullptr || memory.length == 0) return {};
  std::vector<std::uint8_t> bits = fetch_bits(memory.validity, memory.length, memory.what, lender);
  return all_set(bits, memory.validity.offset % 8, memory.length) ? std::vector<std::uint8_t>{} : bits;
}

}  // namespace

Column lend(std::string name, const LentMemory& memory, const Lender& lender) {
  check_values(memory, lender.ordinal);
  const BorrowedValues borrowed = values_of(memory, lender.ordinal);
  auto parts = std::make_shared<LentParts>(LentParts{valid_rows(memory, lender), nullptr});
  DeviceValues::Loan loan{.values = borrowed, .ready = lender.ready, .owner = lender.owner};
  if (!parts->valid.empty()) loan.validity = memory.validity.bits + memory.validity.offset / 8;
  const auto values = parts->values = std::make_shared<DeviceValues>(std::move(loan));
  ColumnData data;
  data.type = memory.type;
  data.layout = memory.layout;
  data.length = memory.length;
  data.values = values->host_copy();
  data.stride = static_cast<std::int64_t>(borrowed.width);
  if (memory.layout == Layout::bits) data.bit_offset = memory.first_bit % 8;
  if (!parts->valid.empty()) data.validity = {parts->valid.data(), memory.validity.offset % 8};
  data.owner = std::move(parts);
  auto resident = std::make_shared<ResidentColumn>(data, values);
  set_kept(data, std::move(resident), nullptr, values);
  return {std::move(name), std::move(data)};
}

}  // namespace skyrank::exec

#include <skyrank/arrow_device.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/arrow_checks.hpp"
#include "engine/arrow_owned.hpp"
#include "engine/device/lend.hpp"
#include "kernels/cuda/runtime/failure.hpp"

// Imports tables through the Arrow C device data interface:
// https://arrow.apache.org/docs/format/CDeviceDataInterface.html
namespace skyrank {
namespace {

using arrow_checks::check_batch_structs;
using arrow_checks::check_column_structs;
using arrow_checks::check_rows;
using arrow_checks::decimal_of_format;
using arrow_checks::fail;
using arrow_checks::type_of_format;
using arrow_checks::validity_of;
using exec::Lender;

/// Type of a format that kernels read as it lies; nothing for others.
std::optional<DataType> type_on_gpu(const ArrowSchema& schema) {
  if (schema.dictionary != nullptr) return std::nullopt;
  if (const auto decimal = decimal_of_format(schema.format)) {
    constexpr int kBits = 64;
    const bool as_stored = decimal->bits == kBits && decimal->scale >= 0 && decimal->type().type == Type::decimal64;
    return as_stored ? std::optional(decimal->type()) : std::nullopt;
  }
  return type_of_format(schema.format);
}

UnsupportedColumn unsupported(const ArrowSchema& schema) {
  const std::string name = schema.name == nullptr ? "" : schema.name;
  return {name,
          std::string(schema.dictionary == nullptr ? "" : "dictionary of ") + "Arrow format '" +
              (schema.dictionary == nullptr || schema.dictionary->format == nullptr ? schema.format
                                                                                    : schema.dictionary->format) +
              "'",
          "in the memory of a GPU only numbers of up to 64 bits, booleans, dates and timestamps are read; copy the "
          "column to the CPU"};
}

/// A table's rows cannot be NULL as a whole.
void check_rows_there(const ArrowArray& array, const Lender& lender) {
  const Validity validity = validity_of(array, array.offset, "struct");
  if (validity.bits == nullptr || array.length == 0) return;
  const std::vector<std::uint8_t> bytes = exec::fetch_bits(validity, array.length, "Arrow struct", lender);
  arrow_checks::check_rows_of_struct({bytes.data(), validity.offset % 8}, array.length);
}

Column lend_column(const ArrowArray& parent, const ArrowArray& array, const ArrowSchema& schema, DataType type,
                   const std::string& what, const Lender& lender) {
  constexpr int kBuffers = 2;
  check_rows(parent, array, what, kBuffers);
  const std::int64_t first = array.offset + parent.offset;
  exec::LentMemory memory{.type = type,
                          .length = parent.length,
                          .values = array.buffers[1],
                          .validity = validity_of(array, first, what),
                          .what = "Arrow " + what};
  if (memory.values == nullptr && memory.length > 0) fail(what, "has no buffer 1");
  if (type.type == Type::boolean) {
    memory.layout = Layout::bits;
    memory.first_bit = first;
  } else {
    memory.stride = width_in_bytes(type.type);
    if (memory.length > 0) memory.values = static_cast<const std::byte*>(memory.values) + first * memory.stride;
  }
  return exec::lend(schema.name == nullptr ? "" : schema.name, memory, lender);
}

/// A record batch on one GPU; `array` keeps its buffers.
Table lend_batch(const std::shared_ptr<Owned<ArrowArray>>& array, const ArrowSchema& schema, int ordinal,
                 void* sync_event) {
  const ArrowArray& batch = **array;
  check_batch_structs(batch, schema);
  Lender lender{.ordinal = ordinal, .owner = array};
  // The struct points at the event, so that a producer can have it in memory of its own.
  if (sync_event != nullptr) lender.ready = kernels::cuda::ReadyPoint::at_event(*static_cast<void**>(sync_event));
  check_rows_there(batch, lender);
  std::vector<Column> columns;
  std::vector<UnsupportedColumn> left_out;
  for (std::int64_t i = 0; i < batch.n_children; ++i) {
    const ArrowArray* child = batch.children[i];
    const ArrowSchema* field = schema.children[i];
    const std::string what = check_column_structs(child, field, i);
    if (const auto type = type_on_gpu(*field)) {
      columns.push_back(lend_column(batch, *child, *field, *type, what, lender));
    } else {
      left_out.push_back(unsupported(*field));
    }
  }
  Table table = columns.empty() ? Table::with_rows(batch.length) : Table(std::move(columns));
  return left_out.empty() ? table : table.with_unsupported(std::move(left_out));
}

}  // namespace

inline namespace v0 {

Table import_arrow_device(ArrowDeviceArray* array, ArrowSchema* schema) {
  auto taken = std::make_shared<Owned<ArrowArray>>(Owned<ArrowArray>::take(array == nullptr ? nullptr : &array->array));
  Owned<ArrowSchema> described = Owned<ArrowSchema>::take(schema);
  if ((*taken)->release == nullptr) fail("device array", "is a null pointer or was released already");
  switch (array->device_type) {
    case ARROW_DEVICE_CPU: break;
    case ARROW_DEVICE_CUDA:
    case ARROW_DEVICE_CUDA_MANAGED:
    case ARROW_DEVICE_CUDA_HOST: exec::check_gpu(array->device_id, "Arrow device array"); break;
    default:
      fail("device array", "lies on a device of type " + std::to_string(array->device_type) +
                               ", which cannot be read; what can: the CPU (1) and CUDA (2, 3 and 13)");
  }
  try {
    if (array->device_type == ARROW_DEVICE_CUDA || array->device_type == ARROW_DEVICE_CUDA_MANAGED) {
      return lend_batch(taken, *described, static_cast<int>(array->device_id), array->sync_event);
    }
    if (array->sync_event != nullptr) {
      if (array->device_type == ARROW_DEVICE_CPU) fail("device array", "is the CPU's and has an event of a GPU");
      kernels::cuda::ReadyPoint::at_event(*static_cast<void**>(array->sync_event))->wait();
    }
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(std::string("Arrow device array: ") + failure.what());
  }
  ArrowArray on_host = taken->give();
  ArrowSchema of_host = described.give();
  return import_arrow(&on_host, &of_host);
}

}  // namespace v0
}  // namespace skyrank

#include <skyrank/dlpack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/device/dlpack_structs.hpp"
#include "engine/device/lend.hpp"
#include "kernels/cuda/runtime/failure.hpp"

// https://dmlc.github.io/dlpack/latest/c_api.html
namespace skyrank {
namespace {

[[noreturn]] void fail_tensor(const std::string& why) { throw DataError("DLPack tensor " + why); }

std::string words_of(DLDataType type) {
  constexpr const char* kCodes[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string code =
      type.code < std::size(kCodes) ? kCodes[type.code] : "code " + std::to_string(type.code) + ":";
  return code + std::to_string(type.bits) + (type.lanes == 1 ? "" : " in vectors of " + std::to_string(type.lanes));
}

DataType type_of(DLDataType type) {
  constexpr DLDataType kStored[] = {{kDLBool, 8, 1},  {kDLInt, 8, 1},    {kDLInt, 16, 1},   {kDLInt, 32, 1},
                                    {kDLInt, 64, 1},  {kDLUInt, 8, 1},   {kDLUInt, 16, 1},  {kDLUInt, 32, 1},
                                    {kDLUInt, 64, 1}, {kDLFloat, 16, 1}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1}};
  constexpr Type kTypes[] = {Type::boolean, Type::int8,   Type::int16,  Type::int32,   Type::int64,   Type::uint8,
                             Type::uint16,  Type::uint32, Type::uint64, Type::float16, Type::float32, Type::float64};
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (kStored[i].code == type.code && kStored[i].bits == type.bits && kStored[i].lanes == type.lanes)
      return kTypes[i];
  }
  fail_tensor("has values of the type " + words_of(type) +
              ", which cannot be read; what can: bool, int8..64, uint8..64 and float16..64");
}

/// The rows and columns of a tensor, and bytes from one to the next.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// Bytes of `elements`; fails beyond 64 bits.
std::int64_t bytes_of(std::int64_t elements, std::int64_t width) {
  std::int64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(elements, width, &bytes);
  if (!fits || bytes == std::numeric_limits<std::int64_t>::min()) fail_tensor("has a shape or strides beyond 64 bits");
  return bytes;
}

Shape shape_of(const DLTensor& tensor, std::int64_t width) {
  if (tensor.ndim != 1 && tensor.ndim != 2) {
    fail_tensor("has " + std::to_string(tensor.ndim) +
                " dimensions; a table needs one (a column) or two (rows, columns)");
  }
  if (tensor.shape == nullptr) fail_tensor("has no shape");
  Shape shape;
  shape.rows = tensor.shape[0];
  if (tensor.ndim == 2) shape.columns = tensor.shape[1];
  if (shape.rows < 0 || shape.columns < 0) {
    fail_tensor("has the negative size " + std::to_string(std::min(shape.rows, shape.columns)));
  }
  // Without strides the values are side by side, those of a row next to each other.
  shape.row_stride = bytes_of(tensor.strides != nullptr ? tensor.strides[0] : shape.columns, width);
  shape.column_stride = tensor.ndim == 1 ? 0 : bytes_of(tensor.strides != nullptr ? tensor.strides[1] : 1, width);
  std::int64_t end = 0;
  const bool fits = !__builtin_add_overflow(bytes_of(shape.rows, std::max(std::abs(shape.row_stride), width)),
                                            bytes_of(shape.columns, std::abs(shape.column_stride)), &end);
  if (!fits) fail_tensor("has a shape or strides beyond 64 bits");
  return shape;
}

std::vector<std::string> names_for(std::int64_t columns, std::vector<std::string> names) {
  if (names.empty()) {
    for (std::int64_t i = 0; i < columns; ++i) names.push_back("c" + std::to_string(i));
  }
  if (static_cast<std::int64_t>(names.size()) == columns) return names;
  fail_tensor("has " + std::to_string(columns) + " columns, for which there are " + std::to_string(names.size()) +
              " names");
}

Column view_column(std::string name, const void* first, DataType type, const Shape& shape,
                   std::shared_ptr<const void> owner) {
  ColumnData data;
  data.type = type;
  data.length = shape.rows;
  data.values = first;
  data.stride = shape.row_stride;
  data.owner = std::move(owner);
  return {std::move(name), std::move(data)};
}

Table import_tensor(const DLTensor& tensor, std::vector<std::string> names, std::optional<void*> stream,
                    const std::shared_ptr<const void>& owner) {
  const bool on_gpu = tensor.device.device_type == kDLCUDA || tensor.device.device_type == kDLCUDAManaged;
  if (!on_gpu && tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    fail_tensor("lies on a device of type " + std::to_string(tensor.device.device_type) +
                ", which cannot be read; what can: the CPU (1) and CUDA (2, 3 and 13)");
  }
  const DataType type = type_of(tensor.dtype);
  const Shape shape = shape_of(tensor, width_in_bytes(type.type));
  names = names_for(shape.columns, std::move(names));
  if (tensor.data == nullptr && shape.rows > 0 && shape.columns > 0) fail_tensor("has values at a null pointer");
  exec::Lender lender{.ordinal = tensor.device.device_id, .owner = owner};
  if (on_gpu || stream) exec::check_gpu(tensor.device.device_id, "DLPack tensor");
  if (stream) lender.ready = kernels::cuda::ReadyPoint::after_stream(*stream, lender.ordinal);
  if (stream && !on_gpu) lender.ready->wait();
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < shape.columns; ++i) {
    const auto* const first =
        shape.rows == 0 ? nullptr
                        : static_cast<const std::byte*>(tensor.data) + tensor.byte_offset + i * shape.column_stride;
    std::string& name = names[static_cast<std::size_t>(i)];
    if (!on_gpu) {
      columns.push_back(view_column(std::move(name), first, type, shape, owner));
      continue;
    }
    std::string what = "DLPack column '" + name + "'";
    columns.push_back(exec::lend(
        std::move(name),
        {.type = type, .length = shape.rows, .values = first, .stride = shape.row_stride, .what = std::move(what)},
        lender));
  }
  return columns.empty() ? Table::with_rows(shape.rows) : Table(std::move(columns));
}

/// Calls the deleter of a struct once nobody has it any more.
template <class Managed>
std::shared_ptr<const Managed> owned(Managed* tensor) {
  if (tensor == nullptr) fail_tensor("is a null pointer");
  return {tensor, [](Managed* last) {
            if (last->deleter != nullptr) last->deleter(last);
          }};
}

template <class Managed>
Table import_owned(const std::shared_ptr<const Managed>& tensor, std::vector<std::string> names,
                   std::optional<void*> stream) {
  try {
    return import_tensor(tensor->dl_tensor, std::move(names), stream, tensor);
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(std::string("DLPack tensor: ") + failure.what());
  }
}

}  // namespace

inline namespace v0 {

Table import_dlpack(DLManagedTensor* tensor, std::vector<std::string> names, std::optional<void*> stream) {
  return import_owned(owned(tensor), std::move(names), stream);
}

Table import_dlpack(DLManagedTensorVersioned* tensor, std::vector<std::string> names, std::optional<void*> stream) {
  const auto kept = owned(tensor);
  if (kept->version.major != 1) {
    fail_tensor("is of DLPack version " + std::to_string(kept->version.major) + "." +
                std::to_string(kept->version.minor) + "; what can be read: 1");
  }
  return import_owned(kept, std::move(names), stream);
}

}  // namespace v0
}  // namespace skyrank

#include "engine/device/resident.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/stop.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/runtime/scope.hpp"
#include "kernels/cuda/values/borrowed.hpp"
#include "kernels/cuda/values/upload.hpp"

namespace skyrank::exec {
namespace {

using kernels::Stored;
using kernels::cuda::DeviceArray;

/// By type: decimals and timestamps are stored as int64, dates as int32; strings are not stored by themselves.
Stored stored_form(Type type) {
  using enum Stored;
  constexpr Stored kForms[] = {truth_bytes, int8,  int16,   int32,   int64,   uint8, uint16, uint32, uint64,
                               int64,       int64, float16, float32, float64, int32, int64,  int64};
  return kForms[static_cast<std::size_t>(type)];
}

Stored stored_form(const ColumnData& column) {
  if (column.layout == Layout::dictionary) return stored_form(column.index_type);
  return column.layout == Layout::bits ? Stored::truth_bits : stored_form(column.type.type);
}

/// The whole bytes that hold bits [first, first + n).
std::size_t bytes_of_bits(std::int64_t first, std::int64_t n) {
  return static_cast<std::size_t>(((first & 7) + n + 7) / 8);
}

std::shared_ptr<void> copy_bits(const void* bits, std::int64_t first, std::int64_t n) {
  return DeviceArray(static_cast<const std::byte*>(bits) + (first >> 3), bytes_of_bits(first, n)).owner();
}

/// Fewer bytes are not worth several threads that copy them beside the device's work.
constexpr std::size_t kBytesToUpload = std::size_t{8} << 20;

std::shared_ptr<void> upload_values(const ColumnData& column, std::size_t width) {
  const std::size_t bytes = static_cast<std::size_t>(column.length) * width;
  if (bytes >= kBytesToUpload) {
    return kernels::cuda::upload({.first = column.values,
                                  .width = width,
                                  .stride = column.stride,
                                  .count = static_cast<std::size_t>(column.length)},
                                 current_stop());
  }
  if (column.stride == static_cast<std::int64_t>(width)) return DeviceArray(column.values, bytes).owner();
  // Values apart from each other are put together in pieces.
  constexpr std::int64_t kPiece = 1 << 18;
  DeviceArray values(bytes);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPiece, column.length)) * width);
  for (std::int64_t begin = 0; begin < column.length; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, column.length - begin);
    const auto* from = static_cast<const std::byte*>(column.values) + begin * column.stride;
    for (std::int64_t i = 0; i < size; ++i) {
      std::memcpy(piece.data() + static_cast<std::size_t>(i) * width, from + i * column.stride, width);
    }
    values.write(static_cast<std::size_t>(begin) * width, piece.data(), static_cast<std::size_t>(size) * width);
  }
  return values.owner();
}

}  // namespace

ResidentColumn::ResidentColumn(ColumnData column)
    : column_(std::move(column)), device_(kernels::cuda::selected_device().ordinal), lent_(lent_of(column_)) {
  drop_kept(column_);  // which may hold this
}

ResidentColumn::ResidentColumn(ColumnData column, std::shared_ptr<DeviceValues> lent)
    : column_(std::move(column)), device_(lent->device()), lent_(std::move(lent)) {
  drop_kept(column_);
}

bool ResidentColumn::is_possible(const ColumnData& column) {
  if (column.layout == Layout::plain) return column.type.type != Type::decimal128;
  return column.layout == Layout::bits || column.layout == Layout::dictionary;
}

std::size_t ResidentColumn::bytes() const {
  const Stored stored = stored_form(column_);
  const std::size_t values = stored == Stored::truth_bits
                                 ? bytes_of_bits(column_.bit_offset, column_.length)
                                 : kernels::bytes_of(stored) * static_cast<std::size_t>(column_.length);
  const bool nulls = column_.validity.bits != nullptr;
  return values + (nulls ? bytes_of_bits(column_.validity.offset, column_.length) : 0);
}

bool ResidentColumn::is_there() const {
  if (is_lent_here()) return true;
  const std::scoped_lock lock(mutex_);
  return copy_.has_value();
}

const kernels::StoredColumn& ResidentColumn::values(double& transfer_ms) {
  const std::lock_guard lock(mutex_);
  if (is_lent_here()) lent_->hold();
  if (!copy_) {
    Stopwatch watch;
    copy_ = make_copy();
    transfer_ms += watch.lap();
  }
  return copy_->column;
}

ResidentColumn::Copy ResidentColumn::make_copy() const {
  Copy copy;
  copy.column.stored = stored_form(column_);
  copy.values = copy_values();
  copy.column.values = copy.values.get();
  if (column_.layout == Layout::bits) copy.column.first_bit = column_.bit_offset & 7;
  if (column_.validity.bits != nullptr && is_lent_here()) {
    copy.column.validity = lent_->validity();
    copy.column.first_validity_bit = column_.validity.offset & 7;
  } else if (column_.validity.bits != nullptr) {
    copy.validity = copy_bits(column_.validity.bits, column_.validity.offset, column_.length);
    copy.column.validity = static_cast<const std::uint8_t*>(copy.validity.get());
    copy.column.first_validity_bit = column_.validity.offset & 7;
  }
  return copy;
}

std::shared_ptr<void> ResidentColumn::copy_values() const {
  if (lent_ == nullptr) {
    if (column_.layout == Layout::bits) return copy_bits(column_.values, column_.bit_offset, column_.length);
    return upload_values(column_, kernels::bytes_of(stored_form(column_)));
  }
  const kernels::cuda::BorrowedValues& values = lent_->values();
  if (!is_lent_here()) {
    lent_->wait();
    return kernels::cuda::copy_borrowed(values);
  }
  // Kernels read several values at a time, which have to begin where such reads may.
  constexpr std::uintptr_t kAlignment = 16;
  if (!values.is_contiguous() || reinterpret_cast<std::uintptr_t>(values.first) % kAlignment != 0) {
    return kernels::cuda::copy_borrowed(values);
  }
  return {lent_, const_cast<void*>(values.first)};  // kernels only read it
}

std::vector<int> columns_of_keys(const query::BoundQuery& query) {
  query::ColumnSet columns;
  if (query.condition) columns.add(*query.condition);
  if (query.group) return columns.ascending();  // what follows reads the table of groups
  if (query.preference) columns.add(*query.preference);
  for (const query::BoundRankTerm& term : query.ranking) columns.add(term.expression);
  return columns.ascending();
}

std::vector<int> columns_of(const std::vector<const query::BoundExpression*>& expressions) {
  query::ColumnSet columns;
  for (const query::BoundExpression* expression : expressions) columns.add(*expression);
  return columns.ascending();
}

std::vector<int> columns_of_groups(const query::BoundGroup& group) {
  query::ColumnSet columns;
  columns.add(group);
  return columns.ascending();
}

std::shared_ptr<ResidentColumn> pinned_here(const ColumnData& column) {
  auto pinned = pinned_of(column);
  return pinned != nullptr && pinned->device() == kernels::cuda::selected_device().ordinal ? pinned : nullptr;
}

bool is_only_here(const ColumnData& column) {
  const DeviceValues* const lent = device_only_values(column);
  return lent != nullptr && lent->device() == kernels::cuda::selected_device().ordinal;
}

std::shared_ptr<ResidentColumn> shared_on_device(const ColumnData& column) {
  if (auto pinned = pinned_here(column)) return pinned;
  ColumnCache* const cache = cache_of(column);
  if (cache == nullptr) return nullptr;
  const int device = kernels::cuda::selected_device().ordinal;
  if (auto there = cache->on_device(device)) return there;
  return cache->keep_on_device(device, std::make_shared<ResidentColumn>(column));
}

Residency residency_of(const std::vector<int>& columns, const Table& table, bool shares) {
  Residency result;
  const auto rows = static_cast<double>(std::max<std::int64_t>(table.num_rows(), 1));
  for (const int index : columns) {
    const ColumnData& column = table.column(index).data();
    if (!ResidentColumn::is_possible(column)) continue;
    const auto bytes = static_cast<double>(ResidentColumn(column).bytes());
    result.row_bytes += bytes / rows;
    auto kept = pinned_here(column);
    if (const ColumnCache* const cache = cache_of(column); kept == nullptr && shares && cache != nullptr) {
      kept = cache->on_device(kernels::cuda::selected_device().ordinal);
    }
    if (kept == nullptr || !kept->is_there()) result.unsent += bytes;
  }
  return result;
}

Table kept_on_device(const Table& table) {
  if (table.num_columns() == 0) return table;
  std::vector<Column> columns;
  for (const Column& column : table.columns()) {
    ColumnData data = column.data();
    if (pinned_here(data) == nullptr && ResidentColumn::is_possible(data)) {
      set_kept(data, std::make_shared<ResidentColumn>(data), nullptr, lent_of(data), traits_of(data));
    }
    columns.emplace_back(column.name(), std::move(data));
  }
  return Table(std::move(columns)).with_unsupported(table.unsupported());
}

void copy_to_device(const Table& table) {
  std::size_t needed = 0;
  for (const Column& column : table.columns()) {
    const auto pinned = pinned_here(column.data());
    if (pinned != nullptr && !pinned->is_there()) needed += pinned->bytes();
  }
  const std::size_t available = kernels::cuda::available_bytes();
  const auto too_large = [&] {
    return ResourceError("a table of " + std::to_string(table.num_rows()) + " rows needs " + std::to_string(needed) +
                         " bytes of device memory, of which " + std::to_string(available) + " are available");
  };
  if (needed > available) throw too_large();
  double transfer_ms = 0;
  try {
    for (const Column& column : table.columns()) {
      if (const auto pinned = pinned_here(column.data())) pinned->values(transfer_ms);
    }
  } catch (const kernels::cuda::OutOfMemory&) {
    throw too_large();
  }
}

}  // namespace skyrank::exec

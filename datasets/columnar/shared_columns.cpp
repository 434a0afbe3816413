#include "datasets/columnar/shared_columns.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank::datasets {

SharedColumns::SharedColumns(std::shared_ptr<const Source> source, const std::vector<int>& columns)
    : source_(std::move(source)), units_{{num_rows(*source_)}}, columns_(columns.begin(), columns.end()) {}

SourceRows SharedColumns::read(std::span<const std::size_t>, std::span<const int> columns) const {
  const std::scoped_lock lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  std::set<int> missing;
  if (!table_) missing = columns_;
  std::ranges::copy_if(columns, std::inserter(missing, missing.end()),
                       [&](int column) { return !columns_.contains(column); });
  std::uint64_t bytes = 0;
  try {
    if (!table_ || !missing.empty()) bytes = read_missing(missing);
  } catch (const CancelledError&) {  // of one query's time limit
    throw;
  } catch (...) {
    if (!table_) failure_ = std::current_exception();
    throw;
  }
  return {*table_, bytes};
}

std::uint64_t SharedColumns::read_missing(const std::set<int>& columns) const {
  std::vector<std::size_t> units(source_->units().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  SourceRows read = source_->read(units, std::vector<int>(columns.begin(), columns.end()));
  if (!table_) {
    table_ = std::move(read.table);
  } else {
    std::vector<Column> all = table_->columns();
    for (const int column : columns) all[static_cast<std::size_t>(column)] = read.table.column(column);
    table_ = Table(std::move(all)).with_unsupported(table_->unsupported());
  }
  columns_.insert(columns.begin(), columns.end());
  return read.bytes;
}

SourceRows SharedColumns::read_rows(std::span<const RowId> rows, std::span<const int> columns) const {
  return source_->read_rows(rows, columns);
}

}  // namespace skyrank::datasets

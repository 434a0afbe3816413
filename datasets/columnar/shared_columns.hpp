#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include <skyrank/source.hpp>

namespace skyrank::datasets {

/// A source for several queries: columns that they read whole are read once and kept. All queries get the same table,
/// so that the engine's caches serve them. So it is one unit without statistics: queries whose conditions leave out
/// different units would have no table in common.
class SharedColumns final : public Source {
 public:
  /// `columns` are those that the queries are expected to read whole, ascending.
  SharedColumns(std::shared_ptr<const Source> source, const std::vector<int>& columns);

  const Table& schema() const override { return source_->schema(); }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return source_->bytes(); }
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override;
  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override;

 private:
  std::uint64_t read_missing(const std::set<int>& columns) const;  // with mutex_ held

  std::shared_ptr<const Source> source_;
  std::vector<SourceUnit> units_;  // one, of all rows
  mutable std::mutex mutex_;
  mutable std::set<int> columns_;       // kept, or to be read with the first others
  mutable std::optional<Table> table_;  // has their values
  mutable std::exception_ptr failure_;  // of the first read: the same for all queries
};

}  // namespace skyrank::datasets

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/exec/evaluate.hpp"

namespace skyrank::exec {

/// The rows that are still in the running: all of a table's, or a list of ids, ascending. Owns the list. A *position*
/// is an index into a row set.
class RowSet {
 public:
  static RowSet all(std::int64_t n) { return RowSet(n, std::nullopt); }
  static RowSet listed(std::vector<RowId> ids) {
    const auto n = static_cast<std::int64_t>(ids.size());
    return RowSet(n, std::move(ids));
  }

  std::int64_t size() const { return n_; }
  bool is_all() const { return !ids_.has_value(); }
  Rows view() const { return {n_, ids_ ? ids_->data() : nullptr}; }
  RowId operator[](std::int64_t position) const { return view()[position]; }

 private:
  RowSet(std::int64_t n, std::optional<std::vector<RowId>> ids) : n_(n), ids_(std::move(ids)) {}

  std::int64_t n_ = 0;
  std::optional<std::vector<RowId>> ids_;
};

}  // namespace skyrank::exec

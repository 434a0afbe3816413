#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// The part of an ordered segment that is the answer.
struct Window {
  std::int64_t offset = 0;
  std::optional<std::int64_t> limit;
  Ties ties = Ties::first;

  bool is_all() const { return offset == 0 && !limit; }
  bool is_empty() const { return limit == 0; }
  /// Returns offset + limit, at most n: the last place, to which the tie rule applies.
  std::int64_t end(std::int64_t n) const {
    if (!limit || offset >= n) return n;
    return offset + std::min(*limit, n - offset);
  }
};

inline Window window_of(const query::BoundQuery& query) {
  return {.offset = query.offset, .limit = query.limit, .ties = query.ties};
}

}  // namespace skyrank::exec

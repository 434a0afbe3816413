#include "engine/operators/partition/partition.hpp"

#include <utility>

#include "engine/stop.hpp"

namespace skyrank::exec {

Segments segments_of(const Classes& classes) {
  Segments result;
  result.bounds.resize(classes.first.size() + 1);
  const std::stop_token& stop = current_stop();
  for (std::size_t i = 0; i < classes.of.size(); ++i) {
    check_at(static_cast<std::int64_t>(i), stop);
    ++result.bounds[classes.of[i] + 1];
  }
  for (std::size_t s = 1; s < result.bounds.size(); ++s) result.bounds[s] += result.bounds[s - 1];
  Vector<std::int64_t> next(result.bounds.begin(), result.bounds.end() - 1);
  result.order.resize(classes.of.size());
  for (std::size_t i = 0; i < classes.of.size(); ++i) {
    check_at(static_cast<std::int64_t>(i), stop);
    result.order[next[classes.of[i]]++] = static_cast<std::int64_t>(i);
  }
  return result;
}

Segments partition(const Table& table, std::span<const int> columns, const Rows& rows) {
  return segments_of(classify(table, columns, rows));
}

}  // namespace skyrank::exec

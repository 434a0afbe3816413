#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <span>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/indicators/slices.hpp"
#include "kernels/cpu/indicators/sweep_3d.hpp"
#include "kernels/cpu/parallel.hpp"

// Chooses the algorithm for a number of objectives, and shares out among threads what is done slice by slice.
namespace skyrank::kernels {
namespace indicators {
namespace {

constexpr std::size_t kSerialPoints = 64;    ///< points that one thread is done with before others have begun
constexpr std::size_t kChunksOfThread = 16;  ///< chunks that a thread takes of all points, about

bool is_inside(const double* point, const double* reference, std::size_t dims) {
  for (std::size_t j = 0; j < dims; ++j) {
    if (!(point[j] < reference[j])) return false;
  }
  return true;
}

/// Points that are less than the reference in every objective, and their positions.
struct Inside {
  RawVector<double> values;
  RawVector<std::size_t> rows;

  PointRows points(std::size_t dims) const { return {values.data(), rows.size(), dims}; }
};

Inside inside(const PointRows& points, const double* reference) {
  Inside kept;
  kept.values.reserve(points.size * points.dims);
  kept.rows.reserve(points.size);
  for (std::size_t i = 0; i < points.size; ++i) {
    if (!is_inside(points[i], reference, points.dims)) continue;
    kept.values.insert(kept.values.end(), points[i], points[i] + points.dims);
    kept.rows.push_back(i);
  }
  return kept;
}

bool is_nowhere_greater(const double* a, const double* b, std::size_t dims) {
  for (std::size_t j = 0; j < dims; ++j) {
    if (a[j] > b[j]) return false;
  }
  return true;
}

/// Returns the positions of points that no other one dominates, in lexicographic order of the points; all of several
/// equal ones.
RawVector<std::size_t> nondominated(const PointRows& points, const Context& context) {
  const std::size_t dims = points.dims;
  RawVector<std::size_t> order(points.size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(points[a], points[a] + dims, points[b], points[b] + dims);
  });
  RawVector<std::size_t> front;
  for (const std::size_t row : order) {
    context.check();
    const bool dominated = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
      return is_nowhere_greater(points[other], points[row], dims) &&
             !std::equal(points[other], points[other] + dims, points[row]);
    });
    if (!dominated) front.push_back(row);
  }
  return front;
}

/// Points in ascending order of their last objective.
struct SortedColumns {
  PointColumns columns;
  RawVector<std::size_t> order;  ///< their positions
};

SortedColumns by_last(const PointRows& points, RawVector<std::size_t> rows) {
  const std::size_t last = points.dims - 1;
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return points[a][last] != points[b][last] ? points[a][last] < points[b][last] : a < b;
  });
  SortedColumns sorted;
  sorted.columns.reset(rows.size(), points.dims);
  for (std::size_t j = 0; j < points.dims; ++j) {
    double* const column = sorted.columns.column(j);
    for (std::size_t i = 0; i < rows.size(); ++i) column[i] = points[rows[i]][j];
  }
  sorted.columns.set_size(rows.size(), points.dims);
  sorted.order = std::move(rows);
  return sorted;
}

RawVector<std::size_t> all_rows(const PointRows& points) {
  RawVector<std::size_t> rows(points.size);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

/// Calls `on_thread(next)` on each thread, where next(begin, end) gives the next chunk of [0, n) until there is none.
/// Chunks of one thread ascend.
template <class OnThread>
void share_out(std::size_t n, const OnThread& on_thread) {
  const std::size_t threads = n <= kSerialPoints ? 1 : concurrency();
  const std::size_t chunk = std::max<std::size_t>(1, n / (kChunksOfThread * threads));
  std::atomic<std::size_t> begun{0};
  parallel_for(threads, 1, [&](std::size_t, std::size_t) {
    on_thread([&](std::size_t& begin, std::size_t& end) {
      begin = begun.fetch_add(threads == 1 ? n : chunk);
      end = threads == 1 ? n : std::min(n, begin + chunk);
      return begin < n;
    });
  });
}

/// Writes the contributions of the points at `rows`, beside each other.
void exclusive_volumes(const PointRows& points, RawVector<std::size_t> rows, const double* reference,
                       std::span<double> contributions, const Context& context) {
  const SortedColumns sorted = by_last(points, std::move(rows));
  RawVector<double> volumes(sorted.order.size());
  share_out(volumes.size(), [&](const auto& next) {
    PointColumns columns;
    SliceMemory memory;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (next(begin, end)) {
      if (columns.size() == 0) columns = sorted.columns.copy();
      lone_volumes(columns, points.dims, reference, begin, end, volumes.data(), memory, context);
    }
  });
  for (std::size_t i = 0; i < volumes.size(); ++i) contributions[sorted.order[i]] = std::max(0.0, volumes[i]);
}

/// Makes the list of `memory` that of the first `count` points of four dimensions, which takes less time than to add
/// them one by one.
void list_before(const SweepOrder& order, std::size_t count, SliceMemory& memory) {
  const RawVector<std::size_t> front = front_of_rows(order, count);
  if (memory.levels.size() < 4) memory.levels.resize(4);
  PointColumns& list = memory.levels[3].list;
  list.reset(order.points.size(), 3);
  for (std::size_t i = 0; i < front.size(); ++i) {
    const Point3& point = order.points[front[i]];
    list.column(0)[i] = point.x;
    list.column(1)[i] = point.y;
    list.column(2)[i] = point.z;
  }
  list.set_size(front.size(), 3);
  memory.listed = count;
}

/// Returns the order of points by their first three columns.
SweepOrder order_of_lists(const PointColumns& columns, const Context& context) {
  RawVector<double> rows(3 * columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) rows[3 * i + j] = columns.column(j)[i];
  }
  return sweep_order({rows.data(), columns.size(), 3}, context);
}

}  // namespace

double hypervolume_by_slices(const PointRows& points, const double* reference, const Context& context) {
  const SortedColumns sorted = by_last(points, all_rows(points));
  RawVector<double> volumes(points.size);
  SweepOrder order;
  if (points.dims == 4 && points.size > kSerialPoints) order = order_of_lists(sorted.columns, context);
  share_out(points.size, [&](const auto& next) {
    SliceMemory memory;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (next(begin, end)) {
      if (!order.points.empty() && memory.listed < begin) list_before(order, begin, memory);
      slice_volumes(sorted.columns, points.dims, reference, begin, end, volumes.data(), memory, context);
    }
  });
  return std::accumulate(volumes.begin(), volumes.end(), 0.0);  // in one order, whatever the threads
}

void contributions_by_slices(const PointRows& points, const double* reference, Dominated dominated,
                             std::span<double> contributions, const Context& context) {
  std::fill(contributions.begin(), contributions.end(), 0.0);
  exclusive_volumes(points, dominated == Dominated::kept ? all_rows(points) : nondominated(points, context), reference,
                    contributions, context);
}

}  // namespace indicators

double hypervolume(const PointRows& points, const double* reference, const Context& context) {
  const indicators::Inside inside = indicators::inside(points, reference);
  const PointRows kept = inside.points(points.dims);
  if (kept.size == 0) return 0;
  switch (points.dims) {
    case 1: return reference[0] - *std::min_element(kept.values, kept.values + kept.size);
    case 2: return indicators::hypervolume_2d(kept, reference, context);
    case 3: return indicators::hypervolume_3d(kept, reference, context);
    default: return indicators::hypervolume_by_slices(kept, reference, context);
  }
}

void hypervolume_contributions(const PointRows& points, const double* reference, Dominated dominated,
                               std::span<double> contributions, const Context& context) {
  std::fill(contributions.begin(), contributions.end(), 0.0);
  const indicators::Inside inside = indicators::inside(points, reference);
  const PointRows kept = inside.points(points.dims);
  if (kept.size == 0) return;
  RawVector<double> found(kept.size);
  if (dominated == Dominated::left_out && points.dims == 2) {
    indicators::contributions_2d(kept, reference, found, context);
  } else if (dominated == Dominated::left_out && points.dims == 3) {
    indicators::contributions_3d(kept, reference, found, context);
  } else {
    indicators::contributions_by_slices(kept, reference, dominated, found, context);
  }
  for (std::size_t i = 0; i < found.size(); ++i) contributions[inside.rows[i]] = found[i];
}

}  // namespace skyrank::kernels

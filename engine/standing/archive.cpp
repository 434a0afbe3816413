#include <skyrank/archive.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <skyrank/error.hpp>
#include <skyrank/indicators.hpp>

#include "engine/expression/boxes.hpp"
#include "engine/indicators/crowding.hpp"
#include "engine/indicators/dense_points.hpp"
#include "engine/query/check.hpp"
#include "engine/query/values.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cpu/fronts/front_tree.hpp"

// Implements archives (skyrank/archive.hpp): the points of a front in a tree, and boxes of objectives that have steps.
namespace skyrank {
namespace {

using kernels::fronts::FrontTree;
using kernels::fronts::Lane;

constexpr Lane kNan = std::numeric_limits<Lane>::max();

/// Returns a number whose order is that of a value, of which lower ones are better.
Lane lane_of(double value, bool maximised) {
  if (std::isnan(value)) return kNan;
  const auto bits = std::bit_cast<Lane>(value == 0 ? 0.0 : maximised ? -value : value);
  return bits ^ ((bits >> 63) & std::numeric_limits<Lane>::max());
}

/// The boxes of an objective: floor(value / size), or those of a ratio.
struct Boxes {
  double size = 0;
  std::optional<exec::RatioBoxes> ratio;

  double box_of(double value) const { return ratio ? ratio->box_of(value) : std::floor(value / size); }
};

std::optional<Boxes> boxes_of(const Value& step) {
  if (std::holds_alternative<Null>(step)) return std::nullopt;
  const std::optional<Decimal> ratio = query::ratio_of(step);
  const Value size = ratio ? Value(*ratio) : step;
  query::check_box_size(size, ratio.has_value(), step);
  if (ratio) return Boxes{0, exec::RatioBoxes(*ratio)};
  const std::optional<double> number = query::double_of(size);
  if (!number) throw QueryError("points are numbers, and their boxes have no times");
  return Boxes{*number, std::nullopt};
}

}  // namespace

/// Points are in slots, whose numbers are their ids in the tree. Slots of points that left are used again.
struct Archive::State {
  explicit State(const ArchiveOptions& given) : options(given) {
    for (const Value& step : options.step) steps.push_back(boxes_of(step));
    has_steps = std::ranges::any_of(steps, [](const auto& boxes) { return boxes.has_value(); });
    if (options.capacity < 0) {
      throw QueryError("an archive has a capacity of 1 or more points, not " + std::to_string(options.capacity));
    }
    if (!options.reference.empty() && options.capacity == 0) {
      throw QueryError("an archive takes a reference with a capacity alone");
    }
    for (const double value : options.reference) {
      if (!std::isfinite(value)) throw QueryError("the reference has finite values, not " + std::to_string(value));
    }
  }

  /// Checks the number of objectives, of which the first points say how many there are.
  void check(std::size_t columns) const {
    if (dims != 0) {
      if (columns == dims) return;
      throw DataError("the archive has points of " + std::to_string(dims) + " objectives, not of " +
                      std::to_string(columns));
    }
    if (columns < 1 || columns > std::size_t{kernels::kMaxDims}) {
      throw DataError("points have 1 to " + std::to_string(kernels::kMaxDims) + " columns, not " +
                      std::to_string(columns));
    }
    const auto check_size = [&](std::size_t size, const char* what) {
      if (size <= 1 || size == columns) return;
      throw DataError(std::string(what) + " has one value for all objectives or " + std::to_string(columns) +
                      ", one for each, not " + std::to_string(size));
    };
    check_size(options.maximise.size(), "`maximise`");
    check_size(options.step.size(), "`step`");
    check_size(options.reference.size(), "the reference");
  }

  void start(std::size_t columns) {
    if (dims != 0) return;
    FrontTree made(columns);
    std::vector<Lane> lanes(columns);
    const auto each = [&](auto given) {
      if (given.size() == 1) given.resize(columns, given.front());
      return given;
    };
    maximised = each(options.maximise);
    maximised.resize(columns, false);
    steps = each(std::move(steps));
    steps.resize(columns);
    std::vector<std::vector<RowId>> sorted(options.capacity > 0 && options.reference.empty() ? columns : 0);
    tree = std::move(made);
    keys = std::move(lanes);
    orders = std::move(sorted);
    dims = columns;
  }

  void check_finite(std::span<const double> values_given) const {
    if (options.reference.empty()) return;
    for (const double value : values_given) {
      if (!std::isfinite(value)) throw DataError("contributions are of finite values, not " + std::to_string(value));
    }
  }

  const double* point_of(RowId slot) const { return values.data() + static_cast<std::size_t>(slot) * dims; }
  RowId& id_of(RowId slot) { return ids[static_cast<std::size_t>(slot)]; }

  void set_keys(const double* point) {
    for (std::size_t k = 0; k < dims; ++k) {
      keys[k] = lane_of(steps[k] ? steps[k]->box_of(point[k]) : point[k], maximised[k]);
    }
  }

  /// Returns true if a point dominates another one by its values.
  bool is_better(const double* a, const double* b) const {
    bool better = false;
    for (std::size_t k = 0; k < dims; ++k) {
      const Lane of_a = lane_of(a[k], maximised[k]);
      const Lane of_b = lane_of(b[k], maximised[k]);
      if (of_a > of_b) return false;
      better = better || of_a < of_b;
    }
    return better;
  }

  /// Adds a point. Returns its slot, or -1 where it is not kept.
  RowId add(const double* point) {
    const RowId id = next_id;
    set_keys(point);
    if (const auto cover = tree.find_cover(keys.data())) {
      ++next_id;
      if (!cover->is_equal || !has_steps || !is_better(point, point_of(cover->id))) return -1;
      forget(cover->id);
      store(cover->id, point, id);
      return cover->id;
    }
    gone.clear();
    gone_keys.clear();
    tree.find_dominated(keys.data(), gone, gone_keys);
    const RowId slot = reserve_slot();
    tree.insert(keys.data(), slot);
    free_slots.pop_back();
    ++next_id;
    for (std::size_t i = 0; i < gone.size(); ++i) drop(gone[i], gone_keys.data() + i * dims);
    store(slot, point, id);
    if (options.capacity == 0 || std::cmp_less_equal(tree.size(), options.capacity)) return slot;
    return leave_one(slot) == slot ? -1 : slot;
  }

  /// Lets a point leave, and returns its slot. The new one, which dominates none, is taken back where that fails.
  RowId leave_one(RowId fresh) {
    RowId least = fresh;
    try {
      least = options.reference.empty() ? least_crowding() : least_contribution();
    } catch (...) {
      drop(fresh, keys.data());
      --next_id;
      throw;
    }
    set_keys(point_of(least));
    drop(least, keys.data());
    return least;
  }

  /// Returns the last free slot, and makes room for all that keeping a point takes.
  RowId reserve_slot() {
    if (!free_slots.empty()) return free_slots.back();
    const std::size_t size = std::max<std::size_t>(16, ids.size() * 2);
    free_slots.reserve(size);
    for (std::vector<RowId>& order : orders) order.reserve(size);
    values.resize(size * dims);
    ids.reserve(size);
    while (ids.size() < size) {
      free_slots.push_back(static_cast<RowId>(ids.size()));
      ids.push_back(-1);
    }
    return free_slots.back();
  }

  void store(RowId slot, const double* point, RowId id) {
    std::copy_n(point, dims, values.begin() + slot * static_cast<std::ptrdiff_t>(dims));
    id_of(slot) = id;
    for (std::size_t k = 0; k < orders.size(); ++k) orders[k].insert(place_of(slot, k), slot);
  }

  /// Takes a point out of the orders.
  void forget(RowId slot) {
    for (std::size_t k = 0; k < orders.size(); ++k) orders[k].erase(place_of(slot, k));
  }

  void drop(RowId slot, const Lane* of_slot) {
    tree.erase(of_slot, slot);
    forget(slot);
    id_of(slot) = -1;
    free_slots.push_back(slot);
  }

  /// Returns a value as crowding takes it: NaN counts as the worst infinity.
  double value_of(RowId slot, std::size_t k) const {
    const double value = point_of(slot)[k];
    if (!std::isnan(value)) return value;
    return maximised[k] ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }

  /// Returns the place of a point in the order of an objective's values, then of ids.
  std::vector<RowId>::iterator place_of(RowId slot, std::size_t k) {
    return std::ranges::lower_bound(orders[k], slot, [&](RowId a, RowId b) {
      const double x = value_of(a, k);
      const double y = value_of(b, k);
      return x != y ? x < y : id_of(a) < id_of(b);
    });
  }

  /// Returns the slot of the least number, of several the one of the newest point.
  RowId least_of(const std::vector<double>& numbers) {
    RowId least = -1;
    for (RowId slot = 0; slot < std::ssize(ids); ++slot) {
      if (id_of(slot) < 0) continue;
      const double number = numbers[static_cast<std::size_t>(slot)];
      const double best = least < 0 ? 0 : numbers[static_cast<std::size_t>(least)];
      if (least < 0 || number < best || (number == best && id_of(slot) > id_of(least))) least = slot;
    }
    return least;
  }

  RowId least_crowding() {
    measures.assign(ids.size(), 0);
    for (std::size_t k = 0; k < dims; ++k) {
      exec::add_crowding(
          orders[k], [&](RowId slot) { return value_of(slot, k); }, measures.data());
    }
    return least_of(measures);
  }

  RowId least_contribution() {
    std::vector<RowId> slots;
    std::vector<double> rows;
    for (RowId slot = 0; slot < std::ssize(ids); ++slot) {
      if (id_of(slot) < 0) continue;
      slots.push_back(slot);
      rows.insert(rows.end(), point_of(slot), point_of(slot) + dims);
    }
    // Three objectives take less time than threads need to start.
    const std::vector<double> found =
        hypervolume_contributions(points_of(rows), options.reference, DominatedPoints::ignored,
                                  {.maximise = options.maximise, .threads = dims <= 3 ? 1 : 0});
    measures.assign(ids.size(), 0);
    for (std::size_t i = 0; i < slots.size(); ++i) measures[static_cast<std::size_t>(slots[i])] = found[i];
    return least_of(measures);
  }

  Points points_of(const std::vector<double>& rows) const {
    const auto columns = static_cast<std::int64_t>(dims);
    return {rows.data(),   Type::float64, std::ssize(rows) / columns, columns, columns * std::int64_t{sizeof(double)},
            sizeof(double)};
  }

  /// Returns the slots of points in the order of their ids.
  std::vector<RowId> slots() const {
    std::vector<RowId> all;
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      if (ids[slot] >= 0) all.push_back(static_cast<RowId>(slot));
    }
    std::ranges::sort(all, {}, [&](RowId slot) { return ids[static_cast<std::size_t>(slot)]; });
    return all;
  }

  const ArchiveOptions options;
  std::vector<std::optional<Boxes>> steps;
  bool has_steps = false;
  std::size_t dims = 0;  // 0 before the first points
  std::vector<bool> maximised;
  FrontTree tree{1};
  std::vector<double> values;  // of slots
  std::vector<RowId> ids;      // of slots; -1: it is free
  std::vector<RowId> free_slots;
  std::vector<std::vector<RowId>> orders;  // slots by each objective, where crowding counts
  RowId next_id = 0;
  std::vector<Lane> keys;
  std::vector<std::int64_t> gone;
  std::vector<Lane> gone_keys;
  std::vector<double> measures;
};

inline namespace v0 {

namespace {

/// Calls f, where a lack of memory is a ResourceError.
template <class F>
auto with_memory(const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory in an archive");
  }
}

}  // namespace

Archive::Archive(const ArchiveOptions& options) : state_(std::make_unique<State>(options)) {}
Archive::~Archive() = default;
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;

bool Archive::add(std::span<const double> point) {
  return with_memory([&] {
    state_->check(point.size());
    state_->check_finite(point);
    state_->start(point.size());
    return state_->add(point.data()) >= 0;
  });
}

std::vector<bool> Archive::add(const Points& points) {
  return with_memory([&] {
    State& state = *state_;
    exec::check_points(points, "points");
    state.check(static_cast<std::size_t>(points.columns));
    const exec::DensePoints dense = exec::dense_values(points);
    state.check_finite(dense.values);
    state.start(dense.dims);
    std::vector<RowId> slots(dense.size);
    std::vector<bool> kept(dense.size);
    const RowId first = state.next_id;
    for (std::size_t i = 0; i < dense.size; ++i) slots[i] = state.add(dense[i]);
    for (std::size_t i = 0; i < dense.size; ++i) {
      kept[i] = slots[i] >= 0 && state.id_of(slots[i]) == first + static_cast<RowId>(i);
    }
    return kept;
  });
}

std::int64_t Archive::size() const { return static_cast<std::int64_t>(state_->tree.size()); }
std::int64_t Archive::objectives() const { return static_cast<std::int64_t>(state_->dims); }
RowId Archive::next_id() const { return state_->next_id; }

std::vector<RowId> Archive::ids() const {
  std::vector<RowId> ids = state_->slots();
  for (RowId& slot : ids) slot = state_->id_of(slot);
  return ids;
}

std::vector<double> Archive::points() const {
  std::vector<double> rows;
  for (const RowId slot : state_->slots()) {
    const double* const point = state_->point_of(slot);
    rows.insert(rows.end(), point, point + state_->dims);
  }
  return rows;
}

double Archive::hypervolume(std::span<const double> reference) const {
  if (state_->dims == 0) return 0;
  const std::vector<double> rows = points();
  return skyrank::hypervolume(state_->points_of(rows), reference, {.maximise = state_->options.maximise});
}

}  // namespace v0
}  // namespace skyrank

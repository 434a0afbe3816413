#include <skyrank/archive.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/indicators.hpp>

#include "tests/engine/row_points.hpp"
#include "tests/semantics/standing/message_of.hpp"

// Tests archives against a list of points that is searched from end to end.
namespace skyrank {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// An archive by the definition.
class PlainArchive {
 public:
  PlainArchive(std::size_t dims, const ArchiveOptions& options) : dims_(dims), options_(options) {}

  void add(const std::vector<double>& point) {
    const RowId id = next_id_++;
    for (Kept& one : kept_) {
      if (!is_as_good(boxes(one.point), boxes(point))) continue;
      const bool same_box = is_as_good(boxes(point), boxes(one.point));
      const bool better = is_as_good(point, one.point) && !is_as_good(one.point, point);
      if (!same_box || !better) return;
      std::erase_if(kept_, [&, gone = one.id](const Kept& other) { return other.id == gone; });
      kept_.push_back({id, point});
      return;
    }
    std::erase_if(kept_, [&](const Kept& one) { return is_as_good(boxes(point), boxes(one.point)); });
    kept_.push_back({id, point});
    if (options_.capacity > 0 && std::ssize(kept_) > options_.capacity) leave_one();
  }

  std::vector<RowId> ids() const {
    std::vector<RowId> ids;
    for (const Kept& one : kept_) ids.push_back(one.id);
    return ids;
  }

  std::vector<double> points() const {
    std::vector<double> rows;
    for (const Kept& one : kept_) rows.insert(rows.end(), one.point.begin(), one.point.end());
    return rows;
  }

 private:
  struct Kept {
    RowId id;
    std::vector<double> point;
  };

  bool is_maximised(std::size_t k) const {
    return !options_.maximise.empty() && options_.maximise[options_.maximise.size() == 1 ? 0 : k];
  }

  std::vector<double> boxes(std::vector<double> point) const {
    for (std::size_t k = 0; k < dims_ && !options_.step.empty(); ++k) {
      const Value& step = options_.step[options_.step.size() == 1 ? 0 : k];
      if (const auto* size = std::get_if<double>(&step)) point[k] = std::floor(point[k] / *size);
      if (std::holds_alternative<std::string>(step)) {  // "100%": powers of two
        point[k] = point[k] < 0 ? kNotANumber : point[k] == 0 ? -kInfinite : std::floor(std::log2(point[k]));
      }
    }
    return point;
  }

  bool is_as_good(const std::vector<double>& a, const std::vector<double>& b) const {
    for (std::size_t k = 0; k < dims_; ++k) {
      if (std::isnan(b[k])) continue;
      if (std::isnan(a[k]) || (is_maximised(k) ? a[k] < b[k] : a[k] > b[k])) return false;
    }
    return true;
  }

  void leave_one() {
    std::vector<double> rows = points();
    std::vector<double> numbers;
    if (options_.reference.empty()) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (std::isnan(rows[i])) rows[i] = is_maximised(i % dims_) ? -kInfinite : kInfinite;
      }
      std::vector<double> level = rows;  // all in one level, which boxes alone may not say
      numbers = crowding_of(level);
    } else {
      numbers = hypervolume_contributions(rows_of(rows, dims_, Type::float64), options_.reference,
                                          DominatedPoints::ignored, {.maximise = options_.maximise});
    }
    std::size_t least = 0;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] <= numbers[least]) least = i;  // the last one, whose id is the highest
    }
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(least));
  }

  std::vector<double> crowding_of(const std::vector<double>& rows) const {
    const std::size_t size = rows.size() / dims_;
    std::vector<double> crowding(size, 0);
    for (std::size_t k = 0; k < dims_; ++k) {
      std::vector<std::size_t> order(size);
      for (std::size_t i = 0; i < size; ++i) order[i] = i;
      const auto value = [&](std::size_t i) { return rows[i * dims_ + k]; };
      std::ranges::stable_sort(order, {}, value);
      double low = 0;
      double high = 0;
      bool any = false;
      for (const std::size_t i : order) {
        if (!std::isfinite(value(i))) continue;
        if (!any) low = value(i);
        high = value(i);
        any = true;
      }
      if (value(order.front()) == value(order.back())) continue;
      const double span = any && high > low ? high / 2 - low / 2 : 1;
      crowding[order.front()] = kInfinite;
      crowding[order.back()] = kInfinite;
      for (std::size_t i = 1; i + 1 < size; ++i) {
        const double before = value(order[i - 1]) / 2;
        const double after = value(order[i + 1]) / 2;
        if (after > before) crowding[order[i]] += (after - before) / span;
      }
    }
    return crowding;
  }

  std::size_t dims_;
  ArchiveOptions options_;
  std::vector<Kept> kept_;
  RowId next_id_ = 0;
};

void expect_equal(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
}

/// One random history of an archive.
void expect_archive_follows(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  const std::size_t dims = 1 + static_cast<std::size_t>(below(5));
  ArchiveOptions options;
  if (below(2) == 0) options.maximise.assign(1, true);
  if (below(2) == 0) {
    options.maximise.clear();
    for (std::size_t k = 0; k < dims; ++k) options.maximise.push_back(below(2) == 0);
  }
  const Value steps[] = {2.0, "100%", Null{}};
  if (below(3) == 0) options.step = {steps[below(2)]};
  if (below(3) == 0) {
    options.step.clear();
    for (std::size_t k = 0; k < dims; ++k) options.step.push_back(steps[below(3)]);
  }
  if (below(2) == 0) options.capacity = 1 + below(12);
  const bool finite = options.capacity > 0 && dims < 4 && below(2) == 0;
  if (finite) options.reference = {4};
  const std::int64_t bound = below(2) == 0 ? 8 : 1000;
  const double special[] = {kInfinite, -kInfinite, kNotANumber, -0.0, 0.0};
  const auto point = [&] {
    std::vector<double> values(dims);
    for (double& value : values) {
      value = static_cast<double>(below(bound)) / (bound == 8 ? 1 : 100.0);
      if (!finite && below(20) == 0) value = special[below(5)];
      if (below(30) == 0) value = -value;
    }
    return values;
  };
  Archive archive(options);
  PlainArchive expected(dims, options);
  for (int call = 0; call < 60 && !testing::Test::HasFailure(); ++call) {
    const RowId first = archive.next_id();
    if (below(2) == 0) {
      const std::vector<double> one = point();
      expected.add(one);
      const bool kept = archive.add(one);
      EXPECT_EQ(kept, std::ranges::count(expected.ids(), first) == 1);
    } else {
      std::vector<double> rows;
      for (std::int64_t i = below(12); i >= 0; --i) {
        const std::vector<double> one = point();
        expected.add(one);
        rows.insert(rows.end(), one.begin(), one.end());
      }
      const std::vector<bool> kept = archive.add(rows_of(rows, dims, Type::float64));
      ASSERT_EQ(kept.size(), rows.size() / dims);
      const std::vector<RowId> there = expected.ids();
      for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(kept[i], std::ranges::count(there, first + static_cast<RowId>(i)) == 1);
      }
    }
    EXPECT_EQ(archive.ids(), expected.ids());
    expect_equal(archive.points(), expected.points());
    EXPECT_EQ(archive.size(), std::ssize(expected.ids()));
  }
}

TEST(Archive, FollowsItsDefinition) {
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_archive_follows(seed);
  }
}

TEST(Archive, KeepsWhatNoPointDominates) {
  Archive archive;
  EXPECT_EQ(archive.objectives(), 0);
  EXPECT_EQ(archive.hypervolume(std::vector<double>{1}), 0);
  EXPECT_TRUE(archive.add(std::vector<double>{1, 4}));
  EXPECT_FALSE(archive.add(std::vector<double>{2, 5}));
  EXPECT_FALSE(archive.add(std::vector<double>{1, 4}));
  EXPECT_TRUE(archive.add(std::vector<double>{0, 4}));
  const std::vector<float> rows = {3, 1, 5, 0};
  EXPECT_EQ(archive.add(rows_of(rows, 2, Type::float32)), (std::vector<bool>{true, true}));
  EXPECT_THAT(archive.ids(), ElementsAre(3, 4, 5));
  EXPECT_THAT(archive.points(), ElementsAre(0, 4, 3, 1, 5, 0));
  EXPECT_EQ(archive.next_id(), 6);
  EXPECT_EQ(archive.objectives(), 2);
  EXPECT_EQ(archive.hypervolume(std::vector<double>{6, 5}), 6 + 9 + 1);
}

TEST(Archive, BoxesHaveOnePoint) {
  Archive archive({.step = {10.0}});
  EXPECT_TRUE(archive.add(std::vector<double>{12, 15}));
  EXPECT_FALSE(archive.add(std::vector<double>{11, 18}));
  EXPECT_TRUE(archive.add(std::vector<double>{11, 14}));
  EXPECT_FALSE(archive.add(std::vector<double>{25, 9.99e300}));
  EXPECT_THAT(archive.ids(), ElementsAre(2));
  EXPECT_TRUE(archive.add(std::vector<double>{9, 14}));
  EXPECT_THAT(archive.ids(), ElementsAre(4));
}

TEST(Archive, TheMostCrowdedPointLeaves) {
  Archive archive({.capacity = 3});
  const std::vector<double> rows = {0, 4.9, 4, 0, 1, 2, 1.1, 1.9};
  EXPECT_EQ(archive.add(rows_of(rows, 2, Type::float64)), (std::vector<bool>{true, true, false, true}));
  Archive by_volume({.capacity = 3, .reference = {5}});
  EXPECT_EQ(by_volume.add(rows_of(rows, 2, Type::float64)), (std::vector<bool>{false, true, true, true}));
}

TEST(Archive, RefusesWhatItCannotKeep) {
  EXPECT_THAT(message_of<QueryError>([] { Archive({.capacity = -1}); }), HasSubstr("1 or more points, not -1"));
  EXPECT_THAT(message_of<QueryError>([] { Archive({.reference = {1}}); }), HasSubstr("with a capacity alone"));
  EXPECT_THAT(message_of<QueryError>([] { Archive({.capacity = 1, .reference = {kInfinite}}); }), HasSubstr("inf"));
  EXPECT_THAT(message_of<QueryError>([] { Archive({.step = {0.0}}); }), HasSubstr("above 0"));
  EXPECT_THAT(message_of<QueryError>([] { Archive({.step = {"0%"}}); }), HasSubstr("ratio from"));
  EXPECT_THAT(message_of<QueryError>([] { Archive({.step = {"7d"}}); }), HasSubstr("no times"));
  Archive archive({.maximise = {true, false}, .capacity = 1, .reference = {1}});
  const auto add = [&](std::vector<double> point) { return [&archive, point] { archive.add(point); }; };
  EXPECT_THAT(message_of<DataError>(add({1, 2, 3})), HasSubstr("`maximise` has one value for all objectives or 3"));
  EXPECT_THAT(message_of<DataError>(add({})), HasSubstr("1 to 64 columns, not 0"));
  EXPECT_THAT(message_of<DataError>(add({1, kNotANumber})), HasSubstr("nan"));
  EXPECT_EQ(archive.objectives(), 0);
  archive.add(std::vector<double>{1, 2});
  EXPECT_THAT(message_of<DataError>(add({1})), HasSubstr("points of 2 objectives, not of 1"));
  const std::vector<double> rows = {5, 0, kInfinite, 1};
  EXPECT_THROW(archive.add(rows_of(rows, 2, Type::float64)), DataError);
  EXPECT_EQ(archive.next_id(), 1);
}

TEST(Archive, MovesWithItsPoints) {
  Archive archive;
  archive.add(std::vector<double>{1});
  Archive moved = std::move(archive);
  EXPECT_FALSE(moved.add(std::vector<double>{2}));
  EXPECT_EQ(moved.size(), 1);
}

}  // namespace
}  // namespace skyrank

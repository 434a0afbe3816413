#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/levels/kd_order.hpp"
#include "kernels/cpu/levels/points.hpp"

// The rows of levels, laid out so that one vector instruction compares one code of many rows with that of another row.
namespace skyrank::kernels::levels {

constexpr std::uint32_t kSmallLevel = 8;
constexpr std::size_t kBlockRows = 512;
constexpr std::size_t kLineCodes = 16;
constexpr std::size_t kBucketRows = kKdLeaf;
constexpr std::size_t kBucketLines = kBucketRows / kLineCodes;  ///< for each code
constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// One code of 16 rows, so that one vector instruction compares it with that of another row.
struct alignas(64) Line {
  std::int32_t codes[kLineCodes];
};

/// The rows of one level, all codes but the first.
class Buckets {
 public:
  explicit Buckets(std::size_t codes) : codes_(codes) { add_bucket(); }

  std::size_t count() const { return counts_.size(); }
  std::size_t rows_in(std::size_t bucket) const { return counts_[bucket]; }
  /// The lines of the least corners of the buckets [16 group, 16 group + 16), one for each code.
  const Line* corners(std::size_t group) const { return corners_.data() + group * codes_; }
  /// kBucketLines lines for each code.
  const Line* rows(std::size_t bucket) const { return rows_.data() + bucket * codes_ * kBucketLines; }

  /// Inserts a point whose bucket is the one of its place in the k-d order.
  void insert(const Points& points, const Vector<std::uint32_t>& places, std::uint32_t point) {
    std::uint32_t begin = 0;
    auto end = static_cast<std::uint32_t>(places.size());
    std::uint32_t node = 0;
    const auto step_down = [&] {
      const std::uint32_t split = middle(begin, end);
      const bool right = places[point] >= split;
      (right ? begin : end) = split;
      node = nodes_[node].child + (right ? 1 : 0);
    };
    while (nodes_[node].child != 0) step_down();
    while (counts_[nodes_[node].bucket] == kBucketRows) {
      split(points, places, node, middle(begin, end));
      step_down();
    }
    put(nodes_[node].bucket, points, point);
  }

 private:
  /// A range of places: one bucket, or two children side by side.
  struct Node {
    std::uint32_t child = 0;
    std::uint32_t bucket = 0;
  };

  std::uint32_t add_bucket() {
    const auto bucket = static_cast<std::uint32_t>(counts_.size());
    if (bucket % kLineCodes == 0) corners_.resize(corners_.size() + codes_);
    rows_.resize(rows_.size() + codes_ * kBucketLines);
    points_.resize(points_.size() + kBucketRows);
    counts_.push_back(0);
    return bucket;
  }

  void put(std::uint32_t bucket, const Points& points, std::uint32_t point) {
    const std::size_t at = counts_[bucket]++;
    points_[bucket * kBucketRows + at] = point;
    Line* const lines = rows_.data() + bucket * codes_ * kBucketLines + at / kLineCodes;
    Line* const corner = corners_.data() + bucket / kLineCodes * codes_;
    for (std::size_t c = 0; c < codes_; ++c) {
      const std::int32_t code = points[point][c + 1];
      lines[c * kBucketLines].codes[at % kLineCodes] = code;
      std::int32_t& least = corner[c].codes[bucket % kLineCodes];
      least = at == 0 ? code : std::min(least, code);
    }
  }

  /// Gives the points of a full leaf that lie from `place` on to a new bucket.
  void split(const Points& points, const Vector<std::uint32_t>& places, std::uint32_t node, std::uint32_t place) {
    const std::uint32_t left = nodes_[node].bucket;
    const std::uint32_t right = add_bucket();
    nodes_[node].child = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({0, left});
    nodes_.push_back({0, right});
    std::uint32_t all[kBucketRows];
    std::copy_n(points_.begin() + static_cast<std::ptrdiff_t>(left * kBucketRows), kBucketRows, all);
    counts_[left] = 0;
    for (const std::uint32_t point : all) put(places[point] < place ? left : right, points, point);
  }

  std::size_t codes_;
  Vector<Line> corners_;
  Vector<Line> rows_;
  Vector<std::uint32_t> points_;
  Vector<std::uint8_t> counts_;
  Vector<Node> nodes_{Node{}};
};

/// The levels so far, with their rows.
class Levels {
 public:
  struct Entry {
    std::uint32_t point;
    std::uint32_t next;
  };
  struct Level {
    std::uint32_t size = 0;
    std::uint32_t last = kNone;  ///< entry; while the level is small
    std::uint32_t buckets = kNone;
  };

  Levels(const Points& points, const Context& context) : points_(points), context_(context) {}

  const Points& points() const { return points_; }
  std::size_t count() const { return levels_.size(); }
  const Level& operator[](std::size_t level) const { return levels_[level]; }
  const Entry& entry(std::uint32_t i) const { return entries_[i]; }
  const Buckets& buckets(const Level& level) const { return buckets_[level.buckets]; }

  /// `level` is at most count().
  void insert(std::size_t level, std::uint32_t point) {
    if (level == levels_.size()) levels_.push_back({});
    Level& to = levels_[level];
    ++to.size;
    if (to.size <= kSmallLevel) {
      entries_.push_back({point, to.last});
      to.last = static_cast<std::uint32_t>(entries_.size() - 1);
      return;
    }
    if (places_.empty()) places_ = kd_places(points_, context_);
    if (to.buckets == kNone) {
      to.buckets = static_cast<std::uint32_t>(buckets_.size());
      buckets_.emplace_back(points_.dims() - 1);
      for (std::uint32_t e = to.last; e != kNone; e = entries_[e].next) {
        buckets_.back().insert(points_, places_, entries_[e].point);
      }
    }
    buckets_[to.buckets].insert(points_, places_, point);
  }

 private:
  const Points& points_;
  const Context& context_;
  Vector<Level> levels_;
  Vector<Entry> entries_;  ///< lists of the rows of small levels
  Vector<Buckets> buckets_;
  Vector<std::uint32_t> places_;
};

/// Points of a block, one after the other, and the ends of their levels.
class Block {
 public:
  explicit Block(std::size_t codes) : codes_(codes), lines_(kBlockRows / kLineCodes * codes) {}

  const Line* lines(std::size_t group) const { return lines_.data() + group * codes_; }
  const std::int32_t* ends(std::size_t group) const { return ends_.codes + group * kLineCodes; }

  void start(const Points& points, std::size_t begin, std::size_t end) {
    std::fill(std::begin(ends_.codes), std::end(ends_.codes), 0);
    for (std::size_t i = begin; i < end; ++i) {
      Line* const lines = lines_.data() + (i - begin) / kLineCodes * codes_;
      for (std::size_t c = 0; c < codes_; ++c) lines[c].codes[(i - begin) % kLineCodes] = points[i][c + 1];
    }
  }
  void set_end(std::size_t i, std::int32_t end) { ends_.codes[i] = end; }

 private:
  struct alignas(64) Ends {
    std::int32_t codes[kBlockRows];
  };

  std::size_t codes_;
  Vector<Line> lines_;
  Ends ends_;
};

}  // namespace skyrank::kernels::levels

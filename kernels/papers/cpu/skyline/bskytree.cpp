#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/vector_targets.hpp"

// BSkyTree: a skyline row, the pivot, parts the other rows by the dimensions in which they are not better than it, and
// each part in turn is parted by a pivot of its own. Parts are settled in an order in which a part comes after all
// whose rows can dominate one of its rows, which are those of subset masks. The pivots make a tree; a row is compared
// with the pivots of earlier parts from the top, where a mask that rules out dominance rules out all that is below it.
//
// A pivot is balanced when its keys, each scaled to the part's range in its dimension, are close to each other: it
// takes the row of least difference between the greatest and the least, or a row of the part that dominates it.
// With random pivots, as in object-based space partitioning, any row of the part takes the place of the balanced one.
// The order of the tree is sequential. Threads share the work on the rows of one part.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/papers/cpu/skyline/bskytree.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kCopyGrain = 1 << 13;
constexpr std::size_t kTestGrain = 256;  ///< rows of a part that one thread compares at a time

/// A pivot, and where its children lie among those of all nodes.
struct Node {
  std::uint32_t row = 0;
  std::uint32_t first_child = 0;
  std::uint32_t last_child = 0;  ///< after the last one
};

/// Nodes side by side with their masks: the dimensions in which they are not better than their parent.
template <class Mask>
struct Siblings {
  Vector<Mask> masks;
  Vector<std::uint32_t> nodes;

  void append(std::span<const Mask> new_masks, std::span<const std::uint32_t> new_nodes) {
    masks.resize(nodes.size());
    masks.insert(masks.end(), new_masks.begin(), new_masks.end());
    masks.resize(masks.size() + kMaskRoom<Mask>);
    nodes.insert(nodes.end(), new_nodes.begin(), new_nodes.end());
  }
};

template <class Key, class Mask, class Counters>
class Tree {
 public:
  /// A row with its mask against the pivot of the part it is in.
  struct Member {
    Mask mask = 0;
    std::uint32_t row = 0;
  };
  using Part = std::span<Member>;

  Tree(const PaddedRows<Key>& keys, bool random_pivots, Counters& counters, const Context& context)
      : keys_(keys),
        random_pivots_(random_pivots),
        all_(static_cast<Mask>(~std::uint64_t{0} >> (64 - keys.dims()))),
        counters_(counters),
        context_(context) {}

  /// The skyline of the problem's n rows, in no order.
  RowIndices operator()(std::size_t n) {
    Vector<Member> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i].row = static_cast<std::uint32_t>(i);
    open(rows);
    counters_.candidates(skyline_.size() + open_.back().rest.size());
    while (!open_.empty()) {
      context_.check();
      const Part rest = open_.back().rest;
      if (rest.empty()) {
        close();
        continue;
      }
      const Mask mask = rest.front().mask;
      const auto other = std::ranges::find_if(rest, [&](const Member& it) { return it.mask != mask; });
      const auto size = static_cast<std::size_t>(other - rest.begin());
      open_.back().rest = rest.subspan(size);
      const Part part = undominated(open_.back().children, rest.first(size));
      if (part.empty()) continue;
      const auto node = static_cast<std::uint32_t>(nodes_.size());
      open_.back().children.append({&mask, 1}, {&node, 1});
      open(part);
    }
    return std::move(skyline_);
  }

 private:
  /// A node whose parts are not all settled: `rest`, by ascending masks, so that subsets come first.
  struct Open {
    std::uint32_t node = 0;
    Part rest;
    Siblings<Mask> children;
  };

  /// Makes a node of a part: finds the pivot and the masks of the other rows, and drops those it dominates.
  void open(Part part) {
    const std::uint32_t pivot = part.size() == 1 ? part.front().row : find_pivot(part);
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({pivot, 0, 0});
    skyline_.push_back(pivot);
    open_.push_back({node, {}, {}});
    if (part.size() == 1) return;
    for_each(part, [&](std::size_t i, Counters& own) { part[i].mask = mask_of(part[i].row, pivot, own); });
    std::size_t kept = 0;
    for (const Member& it : part) {
      if (it.mask != all_) {
        part[kept++] = it;
      } else if (it.row != pivot && std::equal(keys_[it.row], keys_[it.row] + keys_.dims(), keys_[pivot])) {
        skyline_.push_back(it.row);
      }
    }
    part = part.first(kept);
    std::ranges::sort(
        part, [](const Member& a, const Member& b) { return a.mask != b.mask ? a.mask < b.mask : a.row < b.row; });
    open_.back().rest = part;
  }

  /// Stores the children of a node whose parts are settled.
  void close() {
    const Open& settled = open_.back();
    Node& node = nodes_[settled.node];
    node.first_child = static_cast<std::uint32_t>(children_.nodes.size());
    if (!settled.children.nodes.empty()) {
      children_.append({settled.children.masks.data(), settled.children.nodes.size()}, settled.children.nodes);
    }
    node.last_child = static_cast<std::uint32_t>(children_.nodes.size());
    open_.pop_back();
  }

  /// A row of the part that none of it dominates: a balanced one, or that a random one leads to.
  std::uint32_t find_pivot(Part part) {
    const std::size_t first = random_pivots_ ? random_() % part.size() : find_balanced(part);
    const std::uint32_t row = part[first].row;
    Vector<std::uint8_t> better(part.size());
    for_each(part, [&](std::size_t i, Counters& own) {
      own.dominance_tests(1);
      better[i] = dominates_distinct_padded(keys_[part[i].row], keys_[row], keys_.stride());
    });
    // A row that dominates one of the better rows is a better row as well.
    std::uint32_t pivot = row;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (better[i] == 0 || i == first) continue;
      counters_.dominance_tests(1);
      if (dominates_distinct_padded(keys_[part[i].row], keys_[pivot], keys_.stride())) pivot = part[i].row;
    }
    return pivot;
  }

  std::size_t find_balanced(Part part) {
    const std::size_t d = keys_.dims();
    std::array<Key, kMaxDims> least;
    std::array<Key, kMaxDims> greatest;
    std::copy_n(keys_[part.front().row], d, least.begin());
    std::copy_n(keys_[part.front().row], d, greatest.begin());
    for (const Member& it : part) {
      const Key* keys = keys_[it.row];
      for (std::size_t j = 0; j < d; ++j) {
        least[j] = std::min(least[j], keys[j]);
        greatest[j] = std::max(greatest[j], keys[j]);
      }
    }
    std::array<float, kMaxDims> scale;
    for (std::size_t j = 0; j < d; ++j) {
      scale[j] = least[j] == greatest[j] ? 0.0f : 1.0f / static_cast<float>(greatest[j] - least[j]);
    }
    Vector<float> imbalance(part.size());
    for_each(part, [&](std::size_t i, Counters&) {
      const Key* keys = keys_[part[i].row];
      float low = 2;
      float high = -1;
      for (std::size_t j = 0; j < d; ++j) {
        const float scaled = static_cast<float>(keys[j] - least[j]) * scale[j];
        low = std::min(low, scaled);
        high = std::max(high, scaled);
      }
      imbalance[i] = high - low;
    });
    return static_cast<std::size_t>(std::ranges::min_element(imbalance) - imbalance.begin());
  }

  /// Returns the rows of a part that no pivot of the earlier parts of its node dominates.
  Part undominated(const Siblings<Mask>& earlier, Part part) {
    if (earlier.nodes.empty()) return part;
    Vector<std::uint8_t> dominated(part.size());
    parallel_for(part.size(), kTestGrain, counters_, [&](std::size_t begin, std::size_t end, Counters& own) {
      Vector<Step> path;
      for (std::size_t i = begin; i < end; ++i) {
        context_.check();
        dominated[i] = dominated_below(earlier, part[i], path, own);
      }
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (dominated[i] == 0) part[kept++] = part[i];
    }
    return part.first(kept);
  }

  /// On the way down the tree: siblings that a row has to meet yet, and its mask against their parent.
  struct Step {
    const Siblings<Mask>* siblings = nullptr;
    std::size_t next = 0;
    std::size_t last = 0;
    Mask mask = 0;
  };

  bool dominated_below(const Siblings<Mask>& earlier, const Member& member, Vector<Step>& path,
                       Counters& counters) const {
    path.assign(1, {&earlier, 0, earlier.nodes.size(), member.mask});
    while (!path.empty()) {
      Step& step = path.back();
      Step down;
      const auto search =
          find_mask(step.siblings->masks.data(), step.next, step.last, static_cast<Mask>(~step.mask),
                    [&](std::size_t i) HWY_ATTR {
                      const Node& node = nodes_[step.siblings->nodes[i]];
                      down = {&children_, node.first_child, node.last_child, mask_of(member.row, node.row, counters)};
                      return down.mask == all_ || down.next != down.last;
                    });
      counters.mask_tests(search.tests);
      if (!search.found) {
        path.pop_back();
      } else if (down.mask == all_) {
        return true;  // they differ, being of different parts
      } else {
        step.next += search.tests;
        path.push_back(down);
      }
    }
    return false;
  }

  Mask mask_of(std::uint32_t row, std::uint32_t pivot, Counters& counters) const {
    counters.dominance_tests(1);
    return static_cast<Mask>(not_below(keys_[row], keys_[pivot], keys_.stride())) & all_;
  }

  template <class Body>
  void for_each(Part part, const Body& body) {
    parallel_for(part.size(), kTestGrain, counters_, [&](std::size_t begin, std::size_t end, Counters& own) {
      context_.check();
      for (std::size_t i = begin; i < end; ++i) body(i, own);
    });
  }

  const PaddedRows<Key>& keys_;
  const bool random_pivots_;
  std::mt19937_64 random_;  ///< the same numbers in each run
  const Mask all_;          ///< the mask of a row that a pivot dominates or equals
  Counters& counters_;
  const Context& context_;
  Vector<Node> nodes_;
  Siblings<Mask> children_;  ///< children of all nodes that are settled
  Vector<Open> open_;        ///< the way from the root to the last node
  RowIndices skyline_;
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, bool random_pivots, Counters counters, const Context& context) {
  PaddedRows<Key> keys(problem.n, problem.keys.size());
  parallel_for(problem.n, kCopyGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    keys.fill(problem.keys, begin, end);
  });
  counters.bytes_read(problem.n * problem.keys.size() * sizeof(Key));
  counters.bytes_written(problem.n * keys.stride() * sizeof(Key));
  const RowIndices skyline =
      keys.dims() <= 32 ? Tree<Key, std::uint32_t, Counters>(keys, random_pivots, counters, context)(problem.n)
                        : Tree<Key, std::uint64_t, Counters>(keys, random_pivots, counters, context)(problem.n);
  SkylineSolution solution;
  solution.rows.assign(skyline.begin(), skyline.end());
  parallel_sort(solution.rows.begin(), solution.rows.end(), std::less<>{}, context);
  solution.work = counters.total();
  return solution;
}

SkylineSolution solve_on_target(const SkylineProblem& problem, bool random_pivots, const Context& context) {
  return with_key_and_counters(problem, context, [&](auto key, auto counters) {
    return solve<decltype(key)>(problem, random_pivots, counters, context);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {
namespace {

HWY_EXPORT(solve_on_target);

constexpr Parameter kParameters[] = {
    {"random_pivots",
     "1: the pivot is a random row, or one that dominates it (object-based space partitioning, Zhang et al., SIGMOD "
     "2009)",
     0, 1, 0},
};

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, parameters["random_pivots"] != 0, context);
}

}  // namespace

extern const SkylineAlgorithm bskytree{
    .name = "bskytree",
    .summary = "recursive partitioning by balanced pivots; a tree of pivots saves dominance tests",
    .source =
        "Lee, Hwang: Scalable Skyline Computation Using a Balanced Pivot Selection Technique, Information Systems "
        "39, 2014 (BSkyTree-P)",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif

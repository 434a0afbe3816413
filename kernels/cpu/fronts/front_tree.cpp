#include "kernels/cpu/fronts/front_tree.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fronts/front_tree.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::fronts {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the bits of a mask of up to 8 lanes.
template <class Tag, class Mask>
std::uint32_t bits_of(Tag tag, Mask mask) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(tag, mask, bits);
  return bits[0];
}

/// Returns a bit for each of up to 32 rows, in columns of `stride` lanes, for which is_beyond(their keys, those of
/// `row`) holds in some key. Lanes behind the rows have any bits.
template <class IsBeyond>
HWY_INLINE std::uint32_t some_beyond(const std::int64_t* HWY_RESTRICT columns, std::size_t stride, std::size_t dims,
                                     std::size_t rows, const std::int64_t* HWY_RESTRICT row,
                                     const IsBeyond& is_beyond) {
  const hn::CappedTag<std::int64_t, 8> tag;
  const std::size_t step = hn::Lanes(tag);
  std::uint32_t bits = 0;
  for (std::size_t first = 0; first < rows; first += step) {
    const std::int64_t* at = columns + first;
    auto beyond = is_beyond(hn::Load(tag, at), hn::Set(tag, row[0]));
    for (std::size_t d = 1; d < dims; ++d) {
      at += stride;
      beyond = hn::Or(beyond, is_beyond(hn::Load(tag, at), hn::Set(tag, row[d])));
      if (d % 4 == 3 && hn::AllTrue(tag, beyond)) break;
    }
    bits |= bits_of(tag, beyond) << first;
  }
  return bits;
}

/// Returns the bits of rows that are greater than `row` in some key.
std::uint32_t some_greater(const std::int64_t* HWY_RESTRICT columns, std::size_t stride, std::size_t dims,
                           std::size_t rows, const std::int64_t* HWY_RESTRICT row) {
  return some_beyond(columns, stride, dims, rows, row, [](auto a, auto b) HWY_ATTR { return hn::Gt(a, b); });
}

/// Returns the bits of rows that are less than `row` in some key.
std::uint32_t some_less(const std::int64_t* HWY_RESTRICT columns, std::size_t stride, std::size_t dims,
                        std::size_t rows, const std::int64_t* HWY_RESTRICT row) {
  return some_beyond(columns, stride, dims, rows, row, [](auto a, auto b) HWY_ATTR { return hn::Lt(a, b); });
}

/// Writes, for each box, by how much it has to grow to hold a row: the sum over keys, without their lowest bits.
void growths(const std::int64_t* HWY_RESTRICT lows, const std::int64_t* HWY_RESTRICT highs, std::size_t stride,
             std::size_t dims, std::size_t boxes, const std::int64_t* HWY_RESTRICT row, const int* HWY_RESTRICT shifts,
             std::int64_t* HWY_RESTRICT sums) {
  const hn::CappedTag<std::int64_t, 8> tag;
  const std::size_t step = hn::Lanes(tag);
  for (std::size_t first = 0; first < boxes; first += step) {
    auto sum = hn::Zero(tag);
    for (std::size_t d = 0; d < dims; ++d) {
      const auto key = hn::Set(tag, row[d] >> shifts[d]);
      const auto low = hn::ShiftRightSame(hn::Load(tag, lows + d * stride + first), shifts[d]);
      const auto high = hn::ShiftRightSame(hn::Load(tag, highs + d * stride + first), shifts[d]);
      sum = hn::Add(sum, hn::Max(hn::Max(hn::Sub(low, key), hn::Sub(key, high)), hn::Zero(tag)));
    }
    hn::Store(sum, tag, sums + first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::fronts
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::fronts {

HWY_EXPORT(some_greater);
HWY_EXPORT(some_less);
HWY_EXPORT(growths);

/// A leaf has a column of each key, and one of ids; another node the lowest corners of its children's boxes, and then
/// the highest ones.
struct FrontTree::Node {
  static_assert(kLeafRows <= 32 && kLeafRows >= 2 * kChildren);

  Node(std::size_t dims, bool leaf, std::uint64_t of_epoch)
      : epoch(of_epoch), is_leaf(leaf), lanes((dims + 1) * kLeafRows) {}

  std::uint64_t epoch;
  bool is_leaf;
  std::uint32_t size = 0;  ///< rows or children
  Array<Lane> lanes;
  std::array<NodePtr, kChildren> children;

  const Lane* keys(std::size_t dim) const { return lanes.get() + dim * kLeafRows; }
  Lane* keys(std::size_t dim) { return lanes.get() + dim * kLeafRows; }
  const Lane* ids(std::size_t dims) const { return keys(dims); }
  Lane* ids(std::size_t dims) { return keys(dims); }
  const Lane* lows() const { return lanes.get(); }
  const Lane* highs(std::size_t dims) const { return lanes.get() + dims * kChildren; }
  Lane& low(std::size_t dim, std::size_t slot) { return lanes[dim * kChildren + slot]; }
  Lane& high(std::size_t dims, std::size_t dim, std::size_t slot) { return lanes[(dims + dim) * kChildren + slot]; }

  std::uint32_t all() const { return size == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << size) - 1; }
};

FrontTree::FrontTree(std::size_t dims) : shifts_(dims, 0) {}

FrontTree FrontTree::changed_copy() const {
  FrontTree copy = *this;
  copy.spares_.clear();
  ++copy.epoch_;
  return copy;
}

FrontTree::NodePtr FrontTree::new_node(bool is_leaf) const { return std::make_shared<Node>(dims(), is_leaf, epoch_); }

/// Makes the nodes that an insertion may need, as none may be missing in the middle of it.
void FrontTree::reserve_spares() {
  while (spares_.size() < height_ + 3) spares_.push_back(new_node(true));
}

FrontTree::NodePtr FrontTree::spare(bool is_leaf) {
  NodePtr node = std::move(spares_.back());
  spares_.pop_back();
  node->is_leaf = is_leaf;
  return node;
}

/// Makes a node one that may change: itself or a copy.
void FrontTree::own(NodePtr& node) const {
  if (node->epoch == epoch_) return;
  NodePtr copy = new_node(node->is_leaf);
  copy->size = node->size;
  std::copy_n(node->lanes.get(), (dims() + 1) * kLeafRows, copy->lanes.get());
  copy->children = node->children;
  node = std::move(copy);
}

// ---- Searches ----

FrontTree::Recent::Recent(const FrontTree& tree) : rows_(tree.new_node(true)) {}

std::optional<FrontTree::Cover> FrontTree::find_cover(const Lane* row) const {
  Found found{};
  if (root_ == nullptr || !cover(*root_, row, found)) return std::nullopt;
  return cover_of(found, row);
}

std::optional<FrontTree::Cover> FrontTree::find_cover(const Lane* row, Recent& recent) const {
  Found found{};
  Node& known = *recent.rows_;
  if (known.size > 0 && cover(known, row, found)) return cover_of(found, row);
  if (root_ == nullptr || !cover(*root_, row, found)) return std::nullopt;
  const std::size_t place = recent.next_++ % kLeafRows;
  known.size = std::max(known.size, static_cast<std::uint32_t>(place + 1));
  for (std::size_t k = 0; k <= dims(); ++k) known.keys(k)[place] = found.leaf->keys(k)[found.row];
  return cover_of(found, row);
}

FrontTree::Cover FrontTree::cover_of(const Found& found, const Lane* row) const {
  bool is_equal = true;
  for (std::size_t k = 0; k < dims() && is_equal; ++k) is_equal = found.leaf->keys(k)[found.row] == row[k];
  return {found.leaf->ids(dims())[found.row], is_equal};
}

bool FrontTree::cover(const Node& node, const Lane* row, Found& found) const {
  const std::size_t d = dims();
  if (node.is_leaf) {
    const std::uint32_t as_good =
        node.all() & ~HWY_DYNAMIC_DISPATCH(some_greater)(node.keys(0), kLeafRows, d, node.size, row);
    if (as_good == 0) return false;
    found = {&node, static_cast<std::size_t>(std::countr_zero(as_good))};
    return true;
  }
  std::uint32_t left = node.all() & ~HWY_DYNAMIC_DISPATCH(some_greater)(node.lows(), kChildren, d, node.size, row);
  for (; left != 0; left &= left - 1) {
    if (cover(*node.children[static_cast<std::size_t>(std::countr_zero(left))], row, found)) return true;
  }
  return false;
}

void FrontTree::find_dominated(const Lane* row, std::vector<std::int64_t>& ids, std::vector<Lane>& keys) const {
  if (root_ != nullptr) dominated(*root_, row, ids, keys);
}

void FrontTree::dominated(const Node& node, const Lane* row, std::vector<std::int64_t>& ids,
                          std::vector<Lane>& keys) const {
  const std::size_t d = dims();
  if (node.is_leaf) {
    std::uint32_t worse = node.all() & ~HWY_DYNAMIC_DISPATCH(some_less)(node.keys(0), kLeafRows, d, node.size, row);
    for (; worse != 0; worse &= worse - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(worse));
      ids.push_back(node.ids(d)[i]);
      for (std::size_t k = 0; k < d; ++k) keys.push_back(node.keys(k)[i]);
    }
    return;
  }
  std::uint32_t left = node.all() & ~HWY_DYNAMIC_DISPATCH(some_less)(node.highs(d), kChildren, d, node.size, row);
  for (; left != 0; left &= left - 1) {
    dominated(*node.children[static_cast<std::size_t>(std::countr_zero(left))], row, ids, keys);
  }
}

/// Finds the leaf of a row.
bool FrontTree::find_path(const Node& node, const Lane* row, std::int64_t id, Path& path) const {
  const std::size_t d = dims();
  if (node.is_leaf) return std::find(node.ids(d), node.ids(d) + node.size, id) != node.ids(d) + node.size;
  std::uint32_t left = node.all() & ~HWY_DYNAMIC_DISPATCH(some_greater)(node.lows(), kChildren, d, node.size, row);
  if (left != 0) left &= ~HWY_DYNAMIC_DISPATCH(some_less)(node.highs(d), kChildren, d, node.size, row);
  for (; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::uint8_t>(std::countr_zero(left));
    path.slots[path.size++] = slot;
    if (find_path(*node.children[slot], row, id, path)) return true;
    --path.size;
  }
  return false;
}

void FrontTree::append_rows(std::vector<std::int64_t>& ids, std::vector<Lane>& keys) const {
  const auto append = [&](const auto& self, const Node& node) -> void {
    for (std::size_t i = 0; i < node.size; ++i) {
      if (!node.is_leaf) {
        self(self, *node.children[i]);
        continue;
      }
      ids.push_back(node.ids(dims())[i]);
      for (std::size_t k = 0; k < dims(); ++k) keys.push_back(node.keys(k)[i]);
    }
  };
  if (root_ != nullptr) append(append, *root_);
}

// ---- Changes ----

void FrontTree::insert(const Lane* row, std::int64_t id) {
  reserve_spares();
  if (root_ == nullptr) {
    root_ = spare(true);
    leaves_ = 1;
  }
  if (height_ == 0 && root_->size == kLeafRows) set_shifts();
  if (NodePtr sibling = insert(root_, row, id)) {
    NodePtr above = spare(false);
    above->size = 2;
    set_child(*above, 0, std::move(root_));
    set_child(*above, 1, std::move(sibling));
    root_ = std::move(above);
    ++height_;
    set_shifts();
  }
  ++size_;
}

/// Adds a row below a node. Returns the other half of the node's rows where it had to be split.
FrontTree::NodePtr FrontTree::insert(NodePtr& node, const Lane* row, std::int64_t id) {
  own(node);
  const std::size_t d = dims();
  if (node->is_leaf) {
    NodePtr sibling;
    Node* to = node.get();
    if (node->size == kLeafRows) {
      const std::size_t dim = widest_dim(*node);
      sibling = split(*node, dim);
      ++leaves_;
      if (row[dim] >= *std::min_element(sibling->keys(dim), sibling->keys(dim) + sibling->size)) to = sibling.get();
    }
    for (std::size_t k = 0; k < d; ++k) to->keys(k)[to->size] = row[k];
    to->ids(d)[to->size++] = id;
    return sibling;
  }
  const std::size_t slot = nearest_child(*node, row);
  NodePtr added = insert(node->children[slot], row, id);
  if (added == nullptr) {
    for (std::size_t k = 0; k < d; ++k) {
      node->low(k, slot) = std::min(node->low(k, slot), row[k]);
      node->high(d, k, slot) = std::max(node->high(d, k, slot), row[k]);
    }
    return nullptr;
  }
  set_bounds(*node, slot);
  NodePtr sibling;
  Node* to = node.get();
  if (node->size == kChildren) {
    const std::size_t dim = widest_dim(*node);
    sibling = split(*node, dim);
    Lane least = std::numeric_limits<Lane>::max();
    for (std::size_t i = 0; i < sibling->size; ++i) least = std::min(least, middle(*sibling, i, dim));
    if (row[dim] >= least) to = sibling.get();
  }
  set_child(*to, to->size++, std::move(added));
  return sibling;
}

/// Returns the child whose box grows least if a row is added to it.
std::size_t FrontTree::nearest_child(const Node& node, const Lane* row) const {
  alignas(128) Lane sums[kChildren];
  HWY_DYNAMIC_DISPATCH(growths)
  (node.lows(), node.highs(dims()), kChildren, dims(), node.size, row, shifts_.data(), sums);
  return static_cast<std::size_t>(std::min_element(sums, sums + node.size) - sums);
}

/// Returns the dimension in which the rows or the middles of boxes of a node are the farthest apart.
std::size_t FrontTree::widest_dim(const Node& node) const {
  const std::size_t d = dims();
  const std::size_t stride = node.is_leaf ? kLeafRows : kChildren;
  std::size_t widest = 0;
  std::uint64_t width = 0;
  for (std::size_t k = 0; k < d; ++k) {
    const Lane* const lows = node.lanes.get() + k * stride;
    const Lane* const highs = node.is_leaf ? lows : node.highs(d) + k * stride;
    const auto low = static_cast<std::uint64_t>(*std::min_element(lows, lows + node.size));
    const auto high = static_cast<std::uint64_t>(*std::max_element(highs, highs + node.size));
    if ((high - low) >> shifts_[k] > width) {
      width = (high - low) >> shifts_[k];
      widest = k;
    }
  }
  return widest;
}

/// Returns the place of a row or a child in a dimension.
Lane FrontTree::middle(const Node& node, std::size_t slot, std::size_t dim) const {
  if (node.is_leaf) return node.keys(dim)[slot];
  return node.lows()[dim * kChildren + slot] / 2 + node.highs(dims())[dim * kChildren + slot] / 2;
}

/// Moves the half of a full node's rows or children that is the higher one in a dimension to a new node.
FrontTree::NodePtr FrontTree::split(Node& node, std::size_t dim) {
  const std::size_t d = dims();
  std::array<std::size_t, kLeafRows> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + node.size;
  const auto half = order.begin() + node.size / 2;
  std::nth_element(order.begin(), half, end,
                   [&](std::size_t a, std::size_t b) { return middle(node, a, dim) < middle(node, b, dim); });
  NodePtr sibling = spare(node.is_leaf);
  std::sort(half, end, std::greater<>());  // so that the last ones of the node fill the gaps
  for (auto i = half; i != end; ++i) {
    if (node.is_leaf) {
      for (std::size_t k = 0; k <= d; ++k) {
        sibling->keys(k)[sibling->size] = node.keys(k)[*i];
        node.keys(k)[*i] = node.keys(k)[node.size - 1];
      }
    } else {
      move_child(node, *i, *sibling);
      if (*i + 1 != node.size) {
        for (std::size_t k = 0; k < 2 * d; ++k)
          node.lanes[k * kChildren + *i] = node.lanes[k * kChildren + node.size - 1];
        node.children[*i] = std::move(node.children[node.size - 1]);
      }
    }
    ++sibling->size;
    --node.size;
  }
  return sibling;
}

/// Moves a child behind those of another node, whose number of children stays.
void FrontTree::move_child(Node& from, std::size_t slot, Node& to) const {
  for (std::size_t k = 0; k < 2 * dims(); ++k) to.lanes[k * kChildren + to.size] = from.lanes[k * kChildren + slot];
  to.children[to.size] = std::move(from.children[slot]);
}

void FrontTree::set_child(Node& node, std::size_t slot, NodePtr child) const {
  node.children[slot] = std::move(child);
  set_bounds(node, slot);
}

/// Sets the box of a child, which has rows, to the least that holds them.
void FrontTree::set_bounds(Node& node, std::size_t slot) const {
  const std::size_t d = dims();
  const Node& child = *node.children[slot];
  for (std::size_t k = 0; k < d; ++k) {
    const Lane* const lows = child.lanes.get() + k * (child.is_leaf ? kLeafRows : kChildren);
    const Lane* const highs = child.is_leaf ? lows : child.highs(d) + k * kChildren;
    node.low(k, slot) = *std::min_element(lows, lows + child.size);
    node.high(d, k, slot) = *std::max_element(highs, highs + child.size);
  }
}

/// Chooses the bits of each key that tell how wide a box is: the highest 20 of the width of all rows.
void FrontTree::set_shifts() {
  constexpr int kBits = 20;
  const std::size_t d = dims();
  for (std::size_t k = 0; k < d; ++k) {
    const Lane* const lows = root_->lanes.get() + k * (root_->is_leaf ? kLeafRows : kChildren);
    const Lane* const highs = root_->is_leaf ? lows : root_->highs(d) + k * kChildren;
    const auto low = static_cast<std::uint64_t>(*std::min_element(lows, lows + root_->size));
    const auto high = static_cast<std::uint64_t>(*std::max_element(highs, highs + root_->size));
    shifts_[k] = std::max(0, static_cast<int>(std::bit_width(high - low)) - kBits);
  }
}

void FrontTree::erase(const Lane* row, std::int64_t id) {
  Path path;
  if (root_ == nullptr || !find_path(*root_, row, id, path)) return;
  erase_along(root_, std::span(path.slots).first(path.size), id);
  --size_;
  if (size_ == 0) return clear();
  while (!root_->is_leaf && root_->size == 1) {
    root_ = NodePtr(root_->children[0]);
    --height_;
  }
  if (leaves_ <= 8 || size_ * 4 >= leaves_ * kLeafRows) return;
  try {
    rebuild();
  } catch (const std::bad_alloc&) {  // it stays as it is
  }
}

/// Removes a row below a node, and nodes that have none left.
void FrontTree::erase_along(NodePtr& node, std::span<const std::uint8_t> path, std::int64_t id) {
  own(node);
  const std::size_t d = dims();
  if (node->is_leaf) {
    const auto i = static_cast<std::size_t>(std::find(node->ids(d), node->ids(d) + node->size, id) - node->ids(d));
    --node->size;
    for (std::size_t k = 0; k <= d; ++k) node->keys(k)[i] = node->keys(k)[node->size];
    return;
  }
  const std::size_t slot = path.front();
  erase_along(node->children[slot], path.subspan(1), id);
  if (node->children[slot]->size > 0) return set_bounds(*node, slot);
  if (node->children[slot]->is_leaf) --leaves_;
  --node->size;
  for (std::size_t k = 0; k < 2 * d; ++k) node->lanes[k * kChildren + slot] = node->lanes[k * kChildren + node->size];
  node->children[slot] = std::move(node->children[node->size]);
  node->children[node->size].reset();
}

void FrontTree::clear() {
  root_.reset();
  height_ = 0;
  size_ = 0;
  leaves_ = 0;
}

/// Makes the tree anew, as most rows of its leaves have gone.
void FrontTree::rebuild() {
  FrontTree made(dims());
  made.epoch_ = epoch_;
  made.shifts_ = shifts_;
  std::vector<std::int64_t> ids;
  std::vector<Lane> keys;
  append_rows(ids, keys);
  for (std::size_t i = 0; i < ids.size(); ++i) made.insert(keys.data() + i * dims(), ids[i]);
  *this = std::move(made);
}

}  // namespace skyrank::kernels::fronts
#endif  // HWY_ONCE

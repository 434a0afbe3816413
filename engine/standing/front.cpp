#include "engine/standing/front.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/stop.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::exec {
namespace {

using kernels::fronts::FrontTree;
using kernels::fronts::Lane;

constexpr RowId kNone = -1;    // end of a list; the dominator of a row in the skyline
constexpr RowId kAbsent = -2;  // the dominator of a row that is not there

UInt128 sum_of(const Lane* keys, std::size_t dims) {
  UInt128 sum = 0;
  for (std::size_t d = 0; d < dims; ++d) sum += kernels::fronts::key_of(keys[d]);
  return sum;
}

}  // namespace

/// Keys and dominators of a range of ids. Rows with one dominator are a list.
struct Front::Step::Chunk {
  Chunk(std::size_t rows, std::size_t dims)
      : charge(rows * (dims * sizeof(Lane) + 4 * sizeof(RowId))),
        keys(rows * dims),
        dominator(rows, kAbsent),
        first(rows, kNone),
        next(rows, kNone),
        before(rows, kNone) {}

  kernels::Charge charge;
  std::vector<Lane> keys;
  std::vector<RowId> dominator;
  std::vector<RowId> first;   ///< head of the list of rows that it is the dominator of
  std::vector<RowId> next;    ///< in the list of its dominator
  std::vector<RowId> before;  ///< in the list of its dominator
  std::size_t present = 0;    ///< number of rows that are there
};

Front::Front(std::size_t dims, int chunk_bits, bool keeps_dominated)
    : dims_(dims), chunk_bits_(chunk_bits), keeps_dominated_(keeps_dominated), tree_(dims) {}

Front::Chunk* Front::chunk(RowId id) const {
  const std::int64_t number = chunk_of(id);
  if (chunks_.empty() || number < chunks_.front().number) return nullptr;
  // The place of the chunk unless ranges before it have no rows.
  const auto most = static_cast<std::uint64_t>(number - chunks_.front().number);
  if (most < chunks_.size() && chunks_[most].number == number) return chunks_[most].chunk.get();
  const auto found = std::ranges::lower_bound(chunks_, number, {}, &NumberedChunk::number);
  return found == chunks_.end() || found->number != number ? nullptr : found->chunk.get();
}

bool Front::is_there(RowId id) const {
  const Chunk* const of_id = chunk(id);
  return of_id != nullptr && of_id->dominator[place_of(id)] != kAbsent;
}

const Lane* Front::keys(RowId id) const { return chunk(id)->keys.data() + place_of(id) * dims_; }
RowId& Front::dominator(RowId id) const { return chunk(id)->dominator[place_of(id)]; }
RowId& Front::first(RowId id) const { return chunk(id)->first[place_of(id)]; }
RowId& Front::next(RowId id) const { return chunk(id)->next[place_of(id)]; }
RowId& Front::before(RowId id) const { return chunk(id)->before[place_of(id)]; }

FrontInput Front::rows() const {
  FrontInput rows;
  std::vector<Lane> keys;
  tree_.append_rows(rows.ids, keys);
  for (const Lane key : keys) rows.keys.push_back(kernels::fronts::key_of(key));
  return rows;
}

/// A row that is compared with the skyline.
struct Front::Examined {
  RowId id;
  const Lane* keys;
  std::ptrdiff_t input;     ///< first of its keys among those of the step; negative where they stay
  RowId dominator = kNone;  ///< kNone: it is in the skyline, as far as is known
};

/// Compares rows with a skyline, and adds those that are in it.
class Front::Search {
 public:
  Search(FrontTree& tree, std::size_t dims, std::vector<Examined>& rows) : tree_(tree), dims_(dims), rows_(rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) left_.push_back({0, i});
  }

  /// Finds the rows of the skyline among them, and dominators of the others. Calls pushed_out(id, dominator) for rows
  /// that were in the skyline.
  template <class F>
  void run(const F& pushed_out) {
    find_dominators(left_);
    drop_dominated(left_);
    for (Ordered& one : left_) one.sum = sum_of(rows_[one.row].keys, dims_);
    std::span<Ordered> left = left_;
    if (left.size() > 4 * kBlock) {  // the first ones keep out most of the others
      std::ranges::nth_element(left, left.begin() + kBlock, by_sum);
      add_sorted(left.first(kBlock), pushed_out);
      left = left.subspan(kBlock);
      find_dominators(left);
      left = drop_dominated(left);
    }
    std::ranges::sort(left, by_sum);
    for (std::size_t begin = 0; begin < left.size(); begin += kBlock) {
      const std::span<Ordered> block = left.subspan(begin, std::min(kBlock, left.size() - begin));
      if (begin > 0) find_dominators(block);
      add_sorted(block, pushed_out);
    }
  }

 private:
  static constexpr std::size_t kBlock =
      2048;  // rows that are compared with the skyline on all threads, then one by one
  static constexpr std::size_t kChecked = 256;  // rows between checks of a stop, some 0.1 ms

  /// A row by the sum of its keys: those that dominate it have lower ones.
  struct Ordered {
    UInt128 sum;
    std::size_t row;
  };
  static bool by_sum(const Ordered& a, const Ordered& b) { return a.sum != b.sum ? a.sum < b.sum : a.row < b.row; }

  /// Finds dominators in the skyline as it is.
  void find_dominators(std::span<const Ordered> some) {
    const std::stop_token& stop = current_stop();
    kernels::parallel_for(some.size(), 4 * kChecked, [&](std::size_t begin, std::size_t end) {
      FrontTree::Recent recent(tree_);
      for (std::size_t i = begin; i < end; ++i) {
        if ((i - begin) % kChecked == 0) check(stop);
        Examined& row = rows_[some[i].row];
        const auto cover = tree_.find_cover(row.keys, recent);
        if (cover && !cover->is_equal) row.dominator = cover->id;
      }
    });
  }

  /// Returns the rows that no row dominates so far, which come first.
  std::span<Ordered> drop_dominated(std::span<Ordered> some) const {
    const auto end = std::partition(some.begin(), some.end(), [&](const Ordered& one) { return is_left(one); });
    return some.first(static_cast<std::size_t>(end - some.begin()));
  }
  void drop_dominated(std::vector<Ordered>& some) const {
    std::erase_if(some, [&](const Ordered& one) { return !is_left(one); });
  }
  bool is_left(const Ordered& one) const { return rows_[one.row].dominator == kNone; }

  /// Adds rows that come after all before by their sums.
  template <class F>
  void add_sorted(std::span<Ordered> some, const F& pushed_out) {
    std::ranges::sort(some, by_sum);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (i % kChecked == 0) check(current_stop());
      if (is_left(some[i])) add(rows_[some[i].row], pushed_out);
    }
  }

  template <class F>
  void add(Examined& row, const F& pushed_out) {
    const auto cover = tree_.find_cover(row.keys);
    if (cover && !cover->is_equal) {
      row.dominator = cover->id;
      return;
    }
    if (!cover) {
      gone_.clear();
      gone_keys_.clear();
      tree_.find_dominated(row.keys, gone_, gone_keys_);
      for (std::size_t j = 0; j < gone_.size(); ++j) {
        tree_.erase(gone_keys_.data() + j * dims_, gone_[j]);
        pushed_out(gone_[j], row.id);
      }
    }
    tree_.insert(row.keys, row.id);
  }

  FrontTree& tree_;
  std::size_t dims_;
  std::vector<Examined>& rows_;
  std::vector<Ordered> left_;
  std::vector<RowId> gone_;
  std::vector<Lane> gone_keys_;
};

std::vector<Front::Examined> Front::rows_to_compare(const Step& step, const FrontInput& input) const {
  std::vector<Examined> rows;
  rows.reserve(input.ids.size());
  for (std::size_t i = 0; i < input.ids.size(); ++i) {
    rows.push_back({input.ids[i], step.keys_.data() + i * dims_, static_cast<std::ptrdiff_t>(i * dims_)});
  }
  for (const RowId gone : step.removed_) {
    for (RowId id = first(gone); id != kNone; id = next(id)) {
      if (!std::ranges::binary_search(step.removed_, id)) rows.push_back({id, keys(id), -1});
    }
  }
  return rows;
}

/// Makes the chunks of new ids.
void Front::add_chunks(Step& step, std::span<const RowId> ids) const {
  std::int64_t last = -1;
  for (const RowId id : ids) {
    const std::int64_t number = chunk_of(id);
    if (number == last || chunk(id) != nullptr) continue;
    last = number;
    if (step.chunks_.empty()) step.chunks_ = chunks_;
    const auto place = std::ranges::lower_bound(step.chunks_, number, {}, &NumberedChunk::number);
    if (place != step.chunks_.end() && place->number == number) continue;
    step.chunks_.insert(place, {number, std::make_shared<Chunk>(std::size_t{1} << chunk_bits_, dims_)});
  }
}

Front::Step Front::plan(std::span<const RowId> removed, const FrontInput& input) const {
  Step step(tree_.changed_copy());
  std::ranges::copy_if(removed, std::back_inserter(step.removed_), [&](RowId id) { return is_there(id); });
  for (const RowId id : step.removed_) {
    if (dominator(id) != kNone) continue;
    step.tree_.erase(keys(id), id);
    step.left.push_back(id);
  }
  step.keys_.reserve(input.keys.size());
  for (const std::uint64_t key : input.keys) step.keys_.push_back(kernels::fronts::lane_of(key));
  std::vector<Examined> rows = rows_to_compare(step, input);
  Search(step.tree_, dims_, rows).run([&](RowId id, RowId by) {
    step.left.push_back(id);
    if (keeps_dominated_) step.placed_.push_back({id, by, -1});
  });
  for (const Examined& row : rows) {
    if (row.dominator == kNone) step.entered.push_back(row.id);
    if (keeps_dominated_) step.placed_.push_back({row.id, row.dominator, row.input});
  }
  if (keeps_dominated_) add_chunks(step, input.ids);
  std::ranges::sort(step.entered);
  std::ranges::sort(step.left);
  return step;
}

/// Takes a row out of the list of its dominator.
void Front::unlink(RowId id) noexcept {
  const RowId of = dominator(id);
  if (of < 0) return;
  const RowId left = before(id);
  const RowId right = next(id);
  (left == kNone ? first(of) : next(left)) = right;
  if (right != kNone) before(right) = left;
  dominator(id) = kNone;
}

/// Adds a row to the list of a dominator.
void Front::link(RowId id, RowId of) noexcept {
  dominator(id) = of;
  if (of < 0) return;
  RowId& list = first(of);
  before(id) = kNone;
  next(id) = list;
  if (list != kNone) before(list) = id;
  list = id;
}

void Front::commit(Step&& step) noexcept {
  if (!step.chunks_.empty()) chunks_ = std::move(step.chunks_);
  for (const Step::Placed& row : step.placed_) unlink(row.id);
  for (const RowId id : step.removed_) unlink(id);
  for (const RowId id : step.removed_) {
    dominator(id) = kAbsent;
    --chunk(id)->present;
  }
  for (const Step::Placed& row : step.placed_) {
    Chunk& of_id = *chunk(row.id);
    if (row.keys >= 0) {
      std::copy_n(step.keys_.begin() + row.keys, dims_,
                  of_id.keys.begin() + static_cast<std::ptrdiff_t>(place_of(row.id) * dims_));
      ++of_id.present;
    }
  }
  for (const Step::Placed& row : step.placed_) link(row.id, row.dominator);
  const bool is_any_empty = std::ranges::any_of(step.removed_, [&](RowId id) { return chunk(id)->present == 0; });
  if (is_any_empty) std::erase_if(chunks_, [](const NumberedChunk& one) { return one.chunk->present == 0; });
  tree_ = std::move(step.tree_);
}

}  // namespace skyrank::exec

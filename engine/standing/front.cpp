#include "engine/standing/front.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

constexpr RowId kNone = -1;    // end of a list; the dominator of a row in the skyline
constexpr RowId kAbsent = -2;  // the dominator of a row that is not there

UInt128 sum_of(const std::uint64_t* keys, std::size_t dims) {
  UInt128 sum = 0;
  for (std::size_t d = 0; d < dims; ++d) sum += keys[d];
  return sum;
}

/// Returns true if a is as good as b in all keys. With a lower sum it dominates b.
bool is_as_good(const std::uint64_t* a, const std::uint64_t* b, std::size_t dims) {
  for (std::size_t d = 0; d < dims; ++d) {
    if (a[d] > b[d]) return false;
  }
  return true;
}

}  // namespace

/// Keys and dominators of a range of ids. Rows with one dominator are a list.
struct Front::Step::Chunk {
  Chunk(std::size_t rows, std::size_t dims)
      : charge(rows * (dims * sizeof(std::uint64_t) + 4 * sizeof(RowId))),
        keys(rows * dims),
        dominator(rows, kAbsent),
        first(rows, kNone),
        next(rows, kNone),
        before(rows, kNone) {}

  kernels::Charge charge;
  std::vector<std::uint64_t> keys;
  std::vector<RowId> dominator;
  std::vector<RowId> first;   ///< head of the list of rows that it is the dominator of
  std::vector<RowId> next;    ///< in the list of its dominator
  std::vector<RowId> before;  ///< in the list of its dominator
  std::size_t present = 0;    ///< number of rows that are there
};

Front::Front(std::size_t dims, int chunk_bits, bool keeps_dominated)
    : dims_(dims),
      chunk_bits_(chunk_bits),
      keeps_dominated_(keeps_dominated),
      rows_(std::make_shared<const FrontRows>(dims)) {}

void FrontRows::add(RowId id, std::span<const std::uint64_t> row_keys, UInt128 sum) {
  ids.push_back(id);
  keys.insert(keys.end(), row_keys.begin(), row_keys.end());
  sums.push_back(sum);
  window.push_back(row_keys.data());
}

Front::Chunk* Front::chunk(RowId id) const {
  const auto found = chunks_.find(chunk_of(id));
  return found == chunks_.end() ? nullptr : found->second.get();
}

bool Front::is_there(RowId id) const {
  const Chunk* const of_id = chunk(id);
  return of_id != nullptr && of_id->dominator[place_of(id)] != kAbsent;
}

RowId& Front::dominator(RowId id) const { return chunk(id)->dominator[place_of(id)]; }
RowId& Front::first(RowId id) const { return chunk(id)->first[place_of(id)]; }
RowId& Front::next(RowId id) const { return chunk(id)->next[place_of(id)]; }
RowId& Front::before(RowId id) const { return chunk(id)->before[place_of(id)]; }

/// A row that is compared with the skyline.
struct Front::Examined {
  RowId id;
  const std::uint64_t* keys;
  UInt128 sum;
  std::ptrdiff_t input;  ///< first of its keys among those of the step; negative where they stay
};

/// Compares rows, by ascending sums, with the skyline before, and with those that have come into it.
class Front::Search {
 public:
  /// `removed` are gone from the skyline before.
  Search(std::size_t dims, const FrontRows& before, const std::vector<RowId>& removed)
      : dims_(dims), before_(before), fate_(before.ids.size(), kNone), left_(dims), joined_window_(dims) {
    bool is_any_gone = false;
    for (std::size_t i = 0; i < fate_.size() && !removed.empty(); ++i) {
      if (!std::ranges::binary_search(removed, before.ids[i])) continue;
      fate_[i] = kAbsent;
      is_any_gone = true;
    }
    if (!is_any_gone) return;
    for (std::size_t i = 0; i < fate_.size(); ++i) {
      if (fate_[i] == kNone) left_.add(before.ids[i], keys_before(i), before.sums[i]);
    }
    known_ = &left_;
  }

  /// Returns a row that dominates another one, or kNone; then the other one is in the skyline.
  RowId compare(const Examined& row) {
    while (lower_ < known_->ids.size() && known_->sums[lower_] < row.sum) ++lower_;
    while (lower_joined_ < joined_.size() && joined_[lower_joined_].sum < row.sum) ++lower_joined_;
    for (const Dominator& one : recent_) {
      if (one.keys != nullptr && is_as_good(one.keys, row.keys, dims_)) return one.id;
    }
    if (const auto old = known_->window.find_at_least_as_good(row.keys, lower_); old.found) {
      return remember({known_->ids[old.position], known_->keys.data() + old.position * dims_});
    }
    if (const auto fresh = joined_window_.find_at_least_as_good(row.keys, lower_joined_); fresh.found) {
      return remember({joined_[fresh.position].id, joined_[fresh.position].keys});
    }
    joined_.push_back(row);
    joined_window_.push_back(row.keys);
    if (row.input >= 0) push_out(row);  // a row that was there does not dominate the skyline before
    return kNone;
  }

  /// Returns the rows that have come into the skyline, by ascending sums.
  const std::vector<Examined>& joined() const { return joined_; }
  /// Returns what has become of a row of the skyline before: kNone if it stays, kAbsent if it is gone, else the row
  /// that dominates it.
  RowId fate(std::size_t i) const { return fate_[i]; }

 private:
  struct Dominator {
    RowId id = kNone;
    const std::uint64_t* keys = nullptr;
  };

  std::span<const std::uint64_t> keys_before(std::size_t i) const { return {before_.keys.data() + i * dims_, dims_}; }

  RowId remember(Dominator found) {
    recent_[turn_++ % recent_.size()] = found;
    return found.id;
  }

  void push_out(const Examined& row) {
    const auto above = std::ranges::upper_bound(before_.sums, row.sum) - before_.sums.begin();
    for (auto i = static_cast<std::size_t>(above); i < fate_.size(); ++i) {
      if (fate_[i] == kNone && is_as_good(row.keys, keys_before(i).data(), dims_)) fate_[i] = row.id;
    }
  }

  std::size_t dims_;
  const FrontRows& before_;
  std::vector<RowId> fate_;  // of the rows before
  FrontRows left_;           // the rows before without those that are gone, if there are such
  const FrontRows* known_ = &before_;
  std::vector<Examined> joined_;
  kernels::skyline::Window<std::uint64_t> joined_window_;
  std::size_t lower_ = 0;         // known rows with lower sums
  std::size_t lower_joined_ = 0;  // the same of those that have come
  std::array<Dominator, 4> recent_{};
  std::size_t turn_ = 0;
};

std::vector<Front::Examined> Front::rows_to_compare(const Step& step, const FrontInput& input) const {
  std::vector<Examined> rows;
  const auto add = [&](RowId id, const std::uint64_t* keys, std::ptrdiff_t at) {
    rows.push_back({id, keys, sum_of(keys, dims_), at});
  };
  for (std::size_t i = 0; i < input.ids.size(); ++i) {
    add(input.ids[i], step.keys_.data() + i * dims_, static_cast<std::ptrdiff_t>(i * dims_));
  }
  for (const RowId gone : step.removed_) {
    for (RowId id = first(gone); id != kNone; id = next(id)) {
      if (std::ranges::binary_search(step.removed_, id)) continue;
      add(id, chunk(id)->keys.data() + place_of(id) * dims_, -1);
    }
  }
  std::ranges::sort(rows, {}, [](const Examined& row) { return std::pair(row.sum, row.id); });
  return rows;
}

Front::Step Front::plan(std::span<const RowId> removed, const FrontInput& input) const {
  Step step;
  std::ranges::copy_if(removed, std::back_inserter(step.removed_), [&](RowId id) { return is_there(id); });
  step.keys_ = input.keys;
  const std::vector<Examined> rows = rows_to_compare(step, input);
  Search search(dims_, *rows_, step.removed_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 64 == 0) check(current_stop());
    const RowId found = search.compare(rows[i]);
    if (keeps_dominated_) step.placed_.push_back({rows[i].id, found, rows[i].input});
  }
  auto after = std::make_shared<FrontRows>(dims_);
  auto joined = search.joined().begin();
  const auto add_joined = [&](const auto& is_due) {
    for (; joined != search.joined().end() && is_due(*joined); ++joined) {
      after->add(joined->id, {joined->keys, dims_}, joined->sum);
    }
  };
  for (std::size_t i = 0; i < rows_->ids.size(); ++i) {
    const RowId fate = search.fate(i);
    if (fate == kNone) {
      add_joined([&](const Examined& row) { return row.sum < rows_->sums[i]; });
      after->add(rows_->ids[i], {rows_->keys.data() + i * dims_, dims_}, rows_->sums[i]);
      continue;
    }
    step.left.push_back(rows_->ids[i]);
    if (fate != kAbsent && keeps_dominated_) step.placed_.push_back({rows_->ids[i], fate, -1});
  }
  add_joined([](const Examined&) { return true; });
  for (const Examined& row : search.joined()) step.entered.push_back(row.id);
  std::ranges::sort(step.entered);
  std::ranges::sort(step.left);
  after->charge = kernels::Charge(after->ids.size() * (sizeof(RowId) + sizeof(UInt128)));
  step.rows_ = std::move(after);
  for (const RowId id : input.ids) {
    if (!keeps_dominated_ || chunk(id) != nullptr) continue;
    std::shared_ptr<Chunk>& made = step.chunks_[chunk_of(id)];
    if (made == nullptr) made = std::make_shared<Chunk>(std::size_t{1} << chunk_bits_, dims_);
  }
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
  chunks_.merge(step.chunks_);
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
  for (const RowId id : step.removed_) {
    if (const auto found = chunks_.find(chunk_of(id)); found != chunks_.end() && found->second->present == 0) {
      chunks_.erase(found);
    }
  }
  rows_ = std::move(step.rows_);
}

}  // namespace skyrank::exec

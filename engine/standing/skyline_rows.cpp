#include "engine/standing/skyline_rows.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/concatenate.hpp"

namespace skyrank::exec {

SkylineRows::SkylineRows(Ptr before, std::vector<RowId> left, StatePtr entered, std::size_t steps,
                         std::size_t changed_rows)
    : left_(std::move(left)),
      entered_(std::move(entered)),
      steps_(steps + 1),
      changed_rows_(changed_rows + left_.size() + entered_->rows.rows.size()),
      before_(std::move(before)) {}

SkylineRows::Ptr SkylineRows::after(const Ptr& before, std::vector<RowId> left, StateRows entered) {
  // Rows are made now and then, so that what a step costs does not grow with the steps before.
  constexpr std::size_t kMaxSteps = 256;
  constexpr std::size_t kMaxChangedRows = 1 << 14;
  if (before->steps_ >= kMaxSteps || before->changed_rows_ >= kMaxChangedRows) before->rows();
  Ptr unused;
  const bool is_made = before->known(unused) != nullptr;
  return Ptr(new SkylineRows(before, std::move(left), counted(std::move(entered)), is_made ? 0 : before->steps_,
                             is_made ? 0 : before->changed_rows_));
}

/// Returns the rows if they are there; else null, and the rows before.
StatePtr SkylineRows::known(Ptr& before) const {
  const std::scoped_lock lock(mutex_);
  before = before_;
  return rows_;
}

StatePtr SkylineRows::rows() const {
  const std::scoped_lock making(making_);
  std::vector<const SkylineRows*> steps;
  std::vector<Ptr> alive;
  const SkylineRows* at = this;
  StatePtr base;
  for (;;) {
    Ptr before;
    base = at->known(before);
    if (base != nullptr) break;
    steps.push_back(at);
    at = before.get();
    alive.push_back(std::move(before));
  }
  if (steps.empty()) return base;
  std::ranges::reverse(steps);
  StatePtr made = changed(base, steps);
  const std::scoped_lock lock(mutex_);
  rows_ = made;
  before_.reset();
  return made;
}

/// Returns rows after some steps.
StatePtr SkylineRows::changed(const StatePtr& base, const std::vector<const SkylineRows*>& steps) {
  std::map<RowId, std::optional<RowId>> positions;  // of rows that changed, in the tables one after the other
  std::vector<Table> tables{base->rows.columns};
  auto first = static_cast<RowId>(base->rows.rows.size());
  for (const SkylineRows* step : steps) {
    for (const RowId id : step->left_) positions[id] = std::nullopt;
    const std::vector<RowId>& entered = step->entered_->rows.rows;
    for (std::size_t i = 0; i < entered.size(); ++i) positions[entered[i]] = first + static_cast<RowId>(i);
    first += static_cast<RowId>(entered.size());
    if (!entered.empty()) tables.push_back(step->entered_->rows.columns);
  }
  StateRows rows;
  std::vector<RowId> from;
  auto next = positions.begin();
  const auto add = [&](RowId id, RowId position) {
    rows.rows.push_back(id);
    from.push_back(position);
  };
  const auto add_changed = [&](const auto& is_due) {
    for (; next != positions.end() && is_due(next->first); ++next) {
      if (next->second) add(next->first, *next->second);
    }
  };
  for (std::size_t i = 0; i < base->rows.rows.size(); ++i) {
    const RowId id = base->rows.rows[i];
    add_changed([&](RowId changed) { return changed < id; });
    if (next == positions.end() || next->first != id) add(id, static_cast<RowId>(i));
  }
  add_changed([](RowId) { return true; });
  rows.columns = gather(tables.size() == 1 ? tables.front() : concatenate(tables), from);
  return counted(std::move(rows));
}

std::shared_ptr<const Result> SkylineRows::known_answer() const {
  const std::scoped_lock lock(mutex_);
  return answer_;
}

std::shared_ptr<const Result> SkylineRows::answer(const std::function<std::shared_ptr<const Result>()>& make) const {
  if (auto known = known_answer()) return known;
  const std::scoped_lock answering(answering_);
  if (auto known = known_answer()) return known;
  std::shared_ptr<const Result> made = make();
  const std::scoped_lock lock(mutex_);
  answer_ = made;
  return made;
}

}  // namespace skyrank::exec

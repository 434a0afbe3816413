#include "engine/standing/skyline_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/parts/states/unite.hpp"

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
  std::map<RowId, std::size_t> sources;  // steps that rows which changed come from, counted from 1; 0: they are gone
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const RowId id : steps[i]->left_) sources[id] = 0;
    for (const RowId id : steps[i]->entered_->rows.rows) sources[id] = i + 1;
  }
  StateRows rows;
  std::vector<Table> tables;
  const auto add = [&](const StateRows& from, const auto& stays) {
    std::vector<RowId> positions;
    for (std::size_t i = 0; i < from.rows.size(); ++i) {
      if (!stays(from.rows[i])) continue;
      rows.rows.push_back(from.rows[i]);
      positions.push_back(static_cast<RowId>(i));
    }
    if (positions.empty() && !tables.empty()) return;
    const bool all_stay = positions.size() == from.rows.size();
    tables.push_back(all_stay ? from.columns : gather(from.columns, positions));
  };
  add(base->rows, [&](RowId id) { return !sources.contains(id); });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    add(steps[i]->entered_->rows, [&](RowId id) { return sources.at(id) == i + 1; });
  }
  rows.columns = tables.size() == 1 ? tables.front() : concatenate(tables);
  return counted(in_order_of_rows(std::move(rows)));
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

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "engine/standing/standing_query.hpp"

// The rows that fall out of the window of a standing query.
namespace skyrank::exec {

/// Returns true if a row is out of the window after the step.
bool Standing::is_out(const Step& step, RowId id, Int128 time) const {
  if (const auto* window = std::get_if<RowWindow>(&options_.window)) return id < step.view.next_id - window->rows;
  const auto* window = std::get_if<TimeWindow>(&options_.window);
  return window != nullptr && (time == kNoTime || time <= step.greatest_time - window->last.count());
}

/// Adds the rows to erase that fall out of the window, but for those with new values.
void Standing::leave_window(const Step& step, Edits& edits) const {
  if (std::holds_alternative<std::monostate>(options_.window)) return;
  TreeEdit(tree_, nullptr, false).for_each_leaf([&](std::int64_t number, const Leaf& leaf) {
    if (!is_out(step, leaf.ids.front(), leaf.first_time)) return;
    std::vector<RowId> out;
    for (std::size_t i = 0; i < leaf.ids.size(); ++i) {
      if (is_out(step, leaf.ids[i], leaf.times.empty() ? kNoTime : leaf.times[i])) out.push_back(leaf.ids[i]);
    }
    if (out.empty()) return;
    LeafChange& change = edits[number];
    std::erase_if(out, [&](RowId id) {
      return std::ranges::binary_search(change.updated, id, {}, &std::pair<RowId, std::int64_t>::first);
    });
    std::vector<RowId> both;
    std::ranges::set_union(change.erased, out, std::back_inserter(both));
    change.erased = std::move(both);
  });
}

}  // namespace skyrank::exec

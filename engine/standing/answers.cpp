#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/standing/standing_query.hpp"

// The answers of a standing query, and what changes from one to the next.
namespace skyrank::exec {
namespace {

std::vector<RowId> ascending(std::vector<RowId> ids) {
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  return ids;
}

/// An answer that counts as memory for as long as it is held.
struct CountedResult {
  Result result;
  kernels::Charge charge;
};

}  // namespace

std::shared_ptr<const Result> Standing::answer() const {
  const View seen = view();
  if (seen.answer != nullptr) return seen.answer;
  return seen.skyline->answer([&] {
    return with_context(engine_, format_.query(), {}, [&](const QueryContext& context) {
      return with_counted_copies(engine_, format_.bound().location, [&] {
        return counted_answer(answer_of_skyline(context, seen.skyline->rows()->rows));
      });
    });
  });
}

/// Returns the row ids of an answer.
std::vector<RowId> Standing::answered_rows(const View& view) {
  return view.answer != nullptr ? view.answer->rows : view.skyline->rows()->rows.rows;
}

/// Returns an answer that counts as memory for as long as it is held.
std::shared_ptr<const Result> Standing::counted_answer(Result result) {
  const std::size_t bytes =
      bytes_of(result.table) + result.rows.size() * sizeof(RowId) + result.levels.size() * sizeof(std::int32_t);
  auto counted = std::make_shared<const CountedResult>(CountedResult{std::move(result), kernels::Charge(bytes)});
  return {counted, &counted->result};
}

void Standing::set_answer(Step& step, Result result) const {
  const std::vector<RowId> before = ascending(answered_rows(view_));
  const std::vector<RowId> after = ascending(result.rows);
  std::ranges::set_difference(after, before, std::back_inserter(step.changes.entered));
  std::ranges::set_difference(before, after, std::back_inserter(step.changes.left));
  step.view.answer = counted_answer(std::move(result));
}

void Standing::answer_all_rows(Step& step, const QueryContext& context) const {
  StateRows all = step.edit ? step.edit->all_rows() : StateRows();
  if (all.rows.empty()) all.columns = format_.no_rows();
  // A state that answers from rows as they are, whatever the query.
  set_answer(step, CandidateState({context, format_.bound(), run_table}).finalize(all));
}

}  // namespace skyrank::exec

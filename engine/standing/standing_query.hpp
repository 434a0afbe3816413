#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <skyrank/standing.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/query_context.hpp"
#include "engine/standing/front.hpp"
#include "engine/standing/front_keys.hpp"
#include "engine/standing/row_format.hpp"
#include "engine/standing/saved_rows.hpp"
#include "engine/standing/skyline_rows.hpp"
#include "engine/standing/tree.hpp"

namespace skyrank::exec {

/// The way in which an answer follows its rows.
enum class Following : std::uint8_t {
  front,       ///< from the skyline, where each other row remembers a dominator
  candidates,  ///< from the rows of each leaf and node that can still be in the answer
  groups,      ///< from the groups of each leaf and node
  all_rows     ///< the query runs over all rows after each call
};

/// A standing query (skyrank/standing.hpp), over leaves of any size.
class Standing {
 public:
  /// Throws as the constructor of StandingQuery.
  Standing(const EngineState& engine, const Query& query, const Table& schema, const StandingOptions& options,
           TreeShape shape = {});

  skyrank::Changes insert(const Table& rows, const RunOptions& options);
  skyrank::Changes erase(std::span<const RowId> ids, const RunOptions& options);
  skyrank::Changes update(std::span<const RowId> ids, const Table& rows, const RunOptions& options);
  std::shared_ptr<const Result> answer() const;
  RowId next_id() const;
  std::int64_t num_rows() const;
  PlanNode explain() const;

  /// Saves as StandingQuery::save.
  void save(const std::filesystem::path& file) const;
  /// Takes the rows of a file; called once, before any other call. Throws as StandingQuery::load.
  void restore(const std::filesystem::path& file, const RunOptions& options);

 private:
  /// The part that readers see.
  struct View {
    std::shared_ptr<const Result> answer;  ///< null where it is made from the skyline, once somebody asks for it
    SkylineRows::Ptr skyline;              ///< null without a skyline to follow
    RowId next_id = 0;
    std::int64_t rows = 0;
    Following following = Following::candidates;
    std::string reason;  ///< why the query runs over all rows
  };
  /// All that a call makes before anything changes.
  struct Step {
    std::optional<TreeEdit> edit;  ///< rows in leaves; nothing where only candidates are kept
    StatePtr kept;                 ///< the candidates, where only these are kept
    std::optional<Front::Step> front;
    View view;
    Int128 greatest_time = kNoTime;
    skyrank::Changes changes;
  };
  using Edits = std::map<std::int64_t, LeafChange>;

  bool keeps_candidates_alone() const {
    return options_.append_only && std::holds_alternative<std::monostate>(options_.window);
  }
  template <class Make>
  skyrank::Changes step(const RunOptions& options, const Make& make);
  void append(Step& step, const QueryContext& context, const Table& rows) const;
  void change_rows(Step& step, const QueryContext& context, const Edits& edits, const NewRows& updates,
                   const NewRows& inserted) const;
  void change_front(Step& step, const QueryContext& context, const Edits& edits, const NewRows& updates,
                    const NewRows& inserted) const;
  void append_front(Step& step, const QueryContext& context, const Table& rows) const;
  Front::Step plan_front(const QueryContext& context, std::span<const RowId> removed, const FrontInput& input) const;
  void follow_skyline(Step& step, const QueryContext& context,
                      const std::function<std::vector<Table>(const std::vector<RowId>&)>& rows_of_ids) const;
  Result answer_of_skyline(const QueryContext& context, const StateRows& rows) const;
  void add_keys(const QueryContext& context, const Table& rows, std::span<const RowId> ids, FrontInput& input) const;
  void answer_all_rows(Step& step, const QueryContext& context) const;
  static std::vector<RowId> answered_rows(const View& view);
  static std::shared_ptr<const Result> counted_answer(Result result);
  void set_answer(Step& step, Result result) const;
  void insert_rows(Step& step, const QueryContext& context, const Table& rows) const;
  void update_rows(Step& step, const QueryContext& context, std::span<const RowId> ids, const Table& rows) const;
  bool is_out(const Step& step, RowId id, Int128 time) const;
  void leave_window(const Step& step, Edits& edits) const;
  std::vector<std::size_t> checked_ids(std::span<const RowId> ids) const;
  void check_may_change(const char* call) const;
  void restore_rows(Step& step, const QueryContext& context, const std::filesystem::path& file) const;
  void restore_skyline(Step& step, const QueryContext& context, SavedRows rows) const;
  void restore_state(Step& step, const QueryContext& context, SavedRows rows) const;
  void restore_leaves(Step& step, const QueryContext& context, SavedRows rows) const;
  SavedKind saved_kind() const;
  Table saved_columns(SavedKind kind) const;
  View view() const;

  const EngineState& engine_;
  const RowFormat format_;
  const StandingOptions options_;
  mutable std::mutex writer_;  // held by a call that changes rows
  mutable std::mutex reader_;  // held while the view is copied or replaced
  const std::optional<FrontKeys> front_keys_;
  query::BoundQuery front_query_;   // over the rows of the skyline, and the columns that it reads
  std::vector<int> front_columns_;  // of those that are kept
  bool answers_late_ = false;       // the answer is the skyline itself, in columns that are kept
  Front front_;
  Tree tree_;
  StatePtr kept_;
  Int128 greatest_time_ = kNoTime;
  View view_;
};

}  // namespace skyrank::exec

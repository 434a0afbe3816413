#include "engine/parts/gpus/team.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/device/device_query_state.hpp"
#include "engine/executor/executor.hpp"
#include "engine/keys/device/make_device_keys.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/operators/execution.hpp"
#include "engine/operators/gather/gather_stage.hpp"
#include "engine/operators/rank/rank_stage.hpp"
#include "engine/parts/gpus/lane_threads.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/runtime/thread_state.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/skyline/team.hpp"

namespace skyrank::exec {
namespace {

using kernels::IntegerRange;
using kernels::KeyWidth;
using kernels::cuda::DeviceScope;
using kernels::cuda::SelectedDevice;
using kernels::cuda::skyline::TeamRows;
using kernels::cuda::skyline::TeamShare;

IntegerRange united(const IntegerRange& a, const IntegerRange& b) {
  return {.lowest = std::min(a.lowest, b.lowest),
          .highest = std::max(a.highest, b.highest),
          .any_value = a.any_value || b.any_value,
          .any_null = a.any_null || b.any_null};
}

/// The GPUs of a query, each with the keys of its share of the rows.
class GpuTeam {
 public:
  /// With `keeps_columns`, columns stay on the GPUs for later queries.
  GpuTeam(const EngineState& state, const Execution& execution, const TableParts& shares, bool keeps_columns)
      : terms_(execution.plan.preference->terms),
        step_(execution.plan.preference->steps.front()),
        context_(execution.context.kernel_context),
        shares_(shares),
        members_(shares.tables.size()) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].device = state.gpu(i);
      members_[i].device.ordinal = shares.devices[i];
      members_[i].device.may_fail = true;
      members_[i].values.emplace(keeps_columns);
    }
  }

  /// Makes the keys; returns false where the host would have to make some of them.
  bool make_keys() {
    on_all([this](std::size_t i) {
      for (const query::BoundPreference& term : terms_) {
        members_[i].ranges.push_back(range_of_term(*members_[i].values, term, shares_.tables[i], all_rows(i)));
      }
    });
    std::vector<IntegerRange> ranges(terms_.size());
    for (const Member& member : members_) {
      for (std::size_t t = 0; t < terms_.size(); ++t) {
        if (!member.ranges[t]) return false;
        ranges[t] = united(ranges[t], *member.ranges[t]);
      }
    }
    on_all([&](std::size_t i) {
      for (const KeyTerms& key : step_.keys) {
        const std::size_t term = key.front();
        auto keys = make_keys_of_range(*members_[i].values, terms_[term], shares_.tables[i], all_rows(i), ranges[term]);
        if (keys) members_[i].keys.push_back(std::move(*keys));
      }
    });
    const auto has_all = [&](const Member& member) { return member.keys.size() == step_.keys.size(); };
    if (!std::ranges::all_of(members_, has_all)) return false;
    widen_keys();
    return true;
  }

  /// Finds the rows of the skyline, ascending.
  Vector<RowId> find() {
    std::vector<TeamShare> shares;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      TeamShare& share = shares.emplace_back();
      share.device = members_[i].device;
      share.n = static_cast<std::size_t>(all_rows(i).size());
      for (const Keys& keys : members_[i].keys) share.keys.push_back(keys.column);
    }
    const TeamRows found = kernels::cuda::skyline::find_skyline_as_team(shares, width_, context_);
    work_ = found.work;
    compared_ = std::accumulate(found.left.begin(), found.left.end(), std::size_t{0});
    std::vector<std::size_t> begins{0};
    for (const std::size_t count : found.counts) begins.push_back(begins.back() + count);
    Vector<RowId> rows(begins.back());
    on_all([&](std::size_t i) {
      kernels::cuda::read_array(rows.data() + begins[i], found.rows[i].data(), found.rows[i].bytes());
    });
    return rows;
  }

  std::size_t compared() const { return compared_; }
  const kernels::Work& work() const { return work_; }

 private:
  struct Member {
    SelectedDevice device;
    std::optional<DeviceQueryState> values;  ///< columns that the query reads there
    std::vector<std::optional<IntegerRange>> ranges;
    std::vector<Keys> keys;
  };

  RowSet all_rows(std::size_t i) const { return RowSet::all(shares_.tables[i].num_rows()); }

  /// Calls f for each GPU, side by side.
  void on_all(const std::function<void(std::size_t)>& f) {
    const ThreadState caller = ThreadState::current();
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    FirstFailure failure;
    LaneThreads::of_process().run(members_.size(), [&] {
      const ThreadScope as_caller(caller);
      for (std::size_t i = next++; i < members_.size(); i = next++) {
        const DeviceScope on_device(members_[i].device);
        try {
          f(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure.keep(i);
        }
      }
    });
    failure.rethrow();
  }

  /// Gives all keys one width, which is the same on all GPUs.
  void widen_keys() {
    const auto& first = members_.front().keys;
    const bool wide =
        std::ranges::any_of(first, [](const Keys& keys) { return keys.column.width == KeyWidth::bytes8; });
    width_ = wide ? KeyWidth::bytes8 : KeyWidth::bytes4;
    on_all([this](std::size_t i) {
      for (Keys& keys : members_[i].keys) keys = widen(keys, all_rows(i).size(), width_);
    });
  }

  const std::vector<query::BoundPreference>& terms_;
  const SkylineStep& step_;
  const kernels::Context& context_;
  const TableParts& shares_;
  std::vector<Member> members_;
  KeyWidth width_ = KeyWidth::bytes4;
  std::size_t compared_ = 0;
  kernels::Work work_;
};

/// The path of the skyline, in the words of a plan.
PathDescription path_of(std::size_t gpus, std::int64_t rows, std::int64_t compared) {
  PathDescription path;
  path.algorithm = kTeamAlgorithm;
  path.device = kernels::Device::cuda;
  path.reason = std::to_string(gpus) + " GPUs share the comparisons of " + std::to_string(compared) + " of " +
                std::to_string(rows) + " rows";
  return path;
}

/// A team that answers one query.
class TeamRun {
 public:
  TeamRun(const QueryContext& context, const Table& table, const TableParts& shares,
          const std::function<TableOrigin(const TeamRecord&)>& origin)
      : context_(context), table_(table), shares_(shares), origin_(origin) {}

  /// Returns nothing where the host makes some of the keys.
  std::optional<Result> run(Execution& execution) {
    const Operators& operators = execution.plan.operators;
    const std::int64_t n = table_.num_rows();
    execution.record.of(operators.scan).rows = n;
    Stopwatch watch;
    const bool keeps_columns =
        context_.engine.options.share_columns && execution.record.rules.rules().has(Rule::device_columns);
    GpuTeam team(context_.engine, execution, shares_, keeps_columns);
    const bool made = execution.timed(*operators.skyline_keys, [&] { return team.make_keys(); });
    if (!made) return std::nullopt;
    execution.record.of(*operators.skyline_keys).rows = n;
    const Operator& skyline = operators.skyline.front();
    Vector<RowId> rows = execution.timed(skyline, [&] { return team.find(); });
    TeamRecord done{static_cast<std::int64_t>(team.compared()), watch.lap(), {}};
    Report report;
    report.rows = static_cast<std::int64_t>(rows.size());
    report.work = team.work();
    execution.book(skyline, report);
    execution.record.of(skyline).path = path_of(shares_.tables.size(), n, done.compared);
    const SourceTable source{table_, {}, false};
    const Candidates candidates{RowSet::listed(std::move(rows)), one_segment(report.rows)};
    Result result = gather(execution, source, candidates, rank(execution, source, candidates));
    const kernels::TransferBytes bytes = transferred();
    done.transferred = {bytes.to_device, bytes.from_device};
    execution.record.origin = std::make_shared<const TableOrigin>(origin_(done));
    return result;
  }

 private:
  const QueryContext& context_;
  const Table& table_;
  const TableParts& shares_;
  const std::function<TableOrigin(const TeamRecord&)>& origin_;
};

}  // namespace

std::optional<std::string> why_no_team(const PhysicalPlan& plan) {
  const query::BoundQuery& query = plan.query;
  if (!plan.preference) return "the query has no preference";
  const std::vector<SkylineStep>& steps = plan.preference->steps;
  const auto is_plain = [](const KeyTerms& key) { return key.size() == 1; };
  if (steps.size() != 1 || !steps.front().order.empty() || !std::ranges::all_of(steps.front().keys, is_plain)) {
    return "the preference is not one Pareto order of single terms";
  }
  if (steps.front().keys.size() < 3) return "two columns are sorted and swept";
  if (query.condition) return "the query has a condition";
  if (plan.operators.group || !query.partition_columns.empty()) return "the query has groups or partitions";
  if (plan.operators.missing) return "rows are left out or refused for missing values";
  if (query.levels.value_or(1) != 1 || query.at_least) return "the query asks for several levels";
  if (query.distinct) return "equal rows are left out";
  if (query.pick) return "rows are picked of the skyline";
  if (query.limit && !query.ranking.empty()) return "a ranking chooses among the rows of the skyline";
  return std::nullopt;
}

TeamAnswer answer_as_team(const QueryContext& context, const query::BoundQuery& host_query, const Table& table,
                          const TableParts& shares, const std::function<TableOrigin(const TeamRecord&)>& origin) {
  const auto run = [&] {
    const kernels::AccountScope counted(context.engine.memory.get());
    return answer_by(context, host_query, table, kAllMemory,
                     [&](Execution& execution) { return TeamRun(context, table, shares, origin).run(execution); });
  };
  try {
    return {context.on_threads(run), "the host makes some of the keys"};
  } catch (const kernels::cuda::OutOfMemory&) {
    return {std::nullopt, "a GPU has too little memory for the rows of all"};
  } catch (const kernels::OverLimit&) {
    return {std::nullopt, "the engine's limit of memory is reached"};
  }
}

}  // namespace skyrank::exec

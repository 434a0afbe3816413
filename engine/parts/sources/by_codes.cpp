#include "engine/parts/sources/by_codes.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/operators/group/coded_groups.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/parts/states/group_state.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

/// One query over units that threads read and group side by side, each into groups of its own.
class CodesRun {
 public:
  CodesRun(const StateSteps& steps, const Source& source, const QueryPlan& plan, const OriginOfParts& origin)
      : steps_(steps),
        context_(steps.context),
        group_(*steps.query.group),
        source_(source),
        coded_(plan.coded.value()),
        columns_(plan.columns),
        units_(context_.engine, steps.query.location, source, columns_),
        pending_(plan.units),
        threads_(units_.threads(pending_)),
        origin_(origin) {
    std::erase(columns_, coded_);
  }

  /// Returns nothing where the groups are better made otherwise.
  std::optional<Result> answer(std::string& why_not);

 private:
  /// Runs f on the engine's threads, where what it allocates counts.
  template <class F>
  auto counted(const F& f) const {
    return context_.on_threads([&] { return with_counted_copies(context_.engine, steps_.query.location, f); });
  }

  /// Reads a unit and takes it in. Groups that a failure leaves half done are not used any more.
  void take(std::size_t unit) {
    if (gives_up_) return;
    try {
      SourceCharge charge = units_.charge_unit(unit);
      counted([&] { sink(unit, charge); });
    } catch (const ResourceError& refused) {
      give_up(refused.what());
    }
  }

  void sink(std::size_t unit, SourceCharge& charge) {
    Stopwatch watch;
    const std::optional<UnitCodes> codes = source_.codes(unit, coded_);
    if (!codes) return give_up("a unit has no codes");
    if (are_many(codes->values.size())) return give_up("a unit has almost as many groups as rows");
    const SourceRows read = source_.read(std::span(&unit, 1), columns_);
    charge.finish_reading();
    const RowId first_row = units_.begin(unit);
    std::unique_ptr<CodedGroups> groups = take_groups();
    const std::int64_t found = with_global_rows([&] { return groups->sink(*codes, read.table, first_row); },
                                                [&](RowId row) { return first_row + row; });
    bytes_ += codes->bytes + read.bytes;
    record(read.table, found, watch.lap());
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(groups));
  }

  /// Returns true if looking up the values of codes takes about as long as grouping the rows of a unit by their values.
  /// One of few rows is as good as any other.
  bool are_many(std::int64_t values) const {
    constexpr std::int64_t kMinRowsOfValue = 3;
    return values > rows_of(source_, pending_) / std::ssize(pending_) / kMinRowsOfValue;
  }

  void give_up(std::string why) {
    const std::scoped_lock lock(mutex_);
    if (!gives_up_) why_not_ = std::move(why);
    gives_up_ = true;
  }

  std::unique_ptr<CodedGroups> take_groups() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return std::make_unique<CodedGroups>(group_, source_.schema());
    std::unique_ptr<CodedGroups> groups = std::move(idle_.back());
    idle_.pop_back();
    return groups;
  }

  void record(const Table& unit, std::int64_t groups, double ms) const {
    if (steps_.record == nullptr) return;
    PlanNode plan = plan_of_part(steps_.query, unit, std::nullopt);
    plan.reason = "numbered by codes";
    plan.measured_rows = groups;
    plan.measured_ms = ms;
    plan.children.front().measured_rows = unit.num_rows();
    steps_.record->add(std::move(plan), ms);
  }

  CodedGroups merged() {
    const auto largest =
        std::ranges::max_element(idle_, {}, [](const std::unique_ptr<CodedGroups>& one) { return one->size(); });
    std::iter_swap(idle_.begin(), largest);
    for (std::size_t i = 1; i < idle_.size(); ++i) idle_.front()->combine(*std::exchange(idle_[i], nullptr));
    return std::move(*idle_.front());
  }

  const StateSteps& steps_;
  const QueryContext& context_;
  const query::BoundGroup& group_;
  const Source& source_;
  const int coded_;
  std::vector<int> columns_;  // besides the one of codes
  const QueryUnits units_;
  const std::vector<std::size_t>& pending_;
  const std::size_t threads_;
  const OriginOfParts& origin_;

  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> gives_up_ = false;
  std::mutex mutex_;  // over what follows
  std::string why_not_;
  std::vector<std::unique_ptr<CodedGroups>> idle_;  // groups that no thread has
};

std::optional<Result> CodesRun::answer(std::string& why_not) {
  Stopwatch watch;
  share_out(threads_, pending_, [this](std::size_t unit) { take(unit); });
  if (gives_up_) {
    why_not = why_not_;
    return std::nullopt;
  }
  Grouped groups = counted([&] { return merged().finish(num_rows(source_)); });
  const double read_ms = watch.lap();
  const StateContext over_groups{context_.over(origin_({bytes_, std::nullopt})), steps_.query, steps_.run};
  const StateRows finished{{groups.first_rows.begin(), groups.first_rows.end()}, std::move(groups.table)};
  Result result = GroupState(over_groups).answer(finished);
  result.timing.read_ms = read_ms;
  return result;
}

}  // namespace

std::optional<int> coded_column(const query::BoundQuery& query, const Source& source) {
  if (!query.group || !CodedGroups::are_possible(*query.group, source.schema())) return std::nullopt;
  const int column = query.group->columns.front();
  const auto reads = [&](const query::BoundAggregate& aggregate) {
    return aggregate.argument && std::ranges::count(columns_of({&*aggregate.argument}), column) > 0;
  };
  const auto is_too_long = [](const SourceUnit& unit) {
    return unit.rows > std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  };
  if (std::ranges::any_of(query.group->aggregates, reads) || std::ranges::any_of(source.units(), is_too_long)) {
    return std::nullopt;
  }
  return source.has_codes(column) ? std::optional(column) : std::nullopt;
}

std::optional<Result> answer_by_codes(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                                      const OriginOfParts& origin, std::string& why_not) {
  return CodesRun(steps, source, plan, origin).answer(why_not);
}

}  // namespace skyrank::exec

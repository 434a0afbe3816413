#include <skyrank/standing.hpp>

#include <utility>

#include "engine/standing/standing_query.hpp"

namespace skyrank {

struct StandingQuery::State : exec::Standing {
  using Standing::Standing;
};

StandingQuery::StandingQuery(const Engine& engine, const Query& query, const Table& schema,
                             const StandingOptions& options)
    : state_(std::make_unique<State>(*engine.state_, query, schema, options)) {}
StandingQuery::~StandingQuery() = default;
StandingQuery::StandingQuery(StandingQuery&&) noexcept = default;
StandingQuery& StandingQuery::operator=(StandingQuery&&) noexcept = default;

StandingQuery StandingQuery::load(const Engine& engine, const std::filesystem::path& file, const Query& query,
                                  const Table& schema, const StandingOptions& options, const RunOptions& run) {
  StandingQuery loaded(engine, query, schema, options);
  loaded.state_->restore(file, run);
  return loaded;
}

void StandingQuery::save(const std::filesystem::path& file) const { state_->save(file); }

Changes StandingQuery::insert(const Table& rows, const RunOptions& options) { return state_->insert(rows, options); }

Changes StandingQuery::erase(std::span<const RowId> ids, const RunOptions& options) {
  return state_->erase(ids, options);
}

Changes StandingQuery::update(std::span<const RowId> ids, const Table& rows, const RunOptions& options) {
  return state_->update(ids, rows, options);
}

std::shared_ptr<const Result> StandingQuery::answer() const { return state_->answer(); }
RowId StandingQuery::next_id() const { return state_->next_id(); }
std::int64_t StandingQuery::num_rows() const { return state_->num_rows(); }
PlanNode StandingQuery::explain() const { return state_->explain(); }

}  // namespace skyrank

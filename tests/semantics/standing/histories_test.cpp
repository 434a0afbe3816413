#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/standing.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/standing/standing_query.hpp"
#include "engine/time.hpp"
#include "tests/build.hpp"
#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/parts/steps.hpp"
#include "tests/semantics/random_case.hpp"

// Random histories of standing queries: after every call the answer is that of the engine over the rows that are there.
namespace skyrank {
namespace {

const Engine& engine() {
  static const Engine two({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  return two;
}

std::vector<RowId> sorted(std::vector<RowId> ids) {
  std::ranges::sort(ids);
  return ids;
}

Changes changes_between(const std::vector<RowId>& before, const std::vector<RowId>& after) {
  Changes changes;
  std::ranges::set_difference(sorted(after), sorted(before), std::back_inserter(changes.entered));
  std::ranges::set_difference(sorted(before), sorted(after), std::back_inserter(changes.left));
  return changes;
}

/// Returns true if a column of the answer is that of row ids.
bool is_row_column(const Query& query, std::size_t column) {
  if (query.select().empty()) return column == 0;
  return query.select()[column].expression.text() == "row";
}

/// The name of a file that is removed at the end.
class TemporaryPath {
 public:
  TemporaryPath() : path_(std::filesystem::temp_directory_path() / ("standing-" + std::to_string(::getpid()))) {}
  ~TemporaryPath() { std::filesystem::remove(path_); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One standing query with the rows that are there, as positions in a table of values.
class History {
 public:
  explicit History(std::uint64_t seed) : case_(random_case(seed, seed % 16 == 5)), random_(seed * 77 + 1) {
    Query& query = case_.query;
    if (chance(30)) query = plain_skyline();
    if (chance(10)) query.nan(Missing::error);
    if (chance(10)) query.nulls(Missing::error);
    pool_ = case_.table.num_rows();
    draw_options();
    const exec::TreeShape shape = draw_shape();
    if (chance(20)) {
      const std::size_t bytes = (std::size_t{1} << 15) + static_cast<std::size_t>(below(1 << 20));
      limited_.emplace(EngineOptions{.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = bytes});
    }
    standing_ = made(shape);
    follow();
  }

  void run(int calls) {
    for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("call " + std::to_string(i) + " of " + to_sql(case_.query));
      call();
    }
  }

 private:
  std::int64_t below(std::int64_t bound) { return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }

  Expression any_column() {
    const int column = static_cast<int>(below(case_.table.num_columns()));
    return Expression::column(case_.table.column(column).name());
  }

  exec::TreeShape draw_shape() {
    if (chance(20)) return {};
    return {static_cast<int>(below(6)), 1 + static_cast<int>(below(3))};
  }

  std::unique_ptr<exec::Standing> made(exec::TreeShape shape) const {
    return std::make_unique<exec::Standing>(limited_ ? *limited_ : exec::state(), case_.query, case_.table, options_,
                                            shape);
  }

  /// A skyline of some columns under the condition of the case, the kind of query that most ask.
  Query plain_skyline() {
    Query query = Query::from("t");
    query.where(case_.query.where());
    std::vector<Preference> terms;
    for (std::int64_t i = below(4); i >= 0; --i) {
      terms.push_back(chance(50) ? low(any_column()) : high(any_column()));
      if (chance(20)) terms.back() = inverse(terms.back());
    }
    query.prefer(chance(30) ? terms.front() : pareto(std::move(terms)));
    if (chance(30)) query.rank_by({chance(50) ? low(any_column()) : high(any_column())});
    if (chance(30)) query.limit(below(6)).offset(below(2));
    if (chance(50)) query.select({SelectItem{"id", Expression("row")}, SelectItem{"x", any_column()}});
    return query;
  }

  void draw_options() {
    options_.append_only = chance(25);
    if (chance(25)) {
      options_.window = RowWindow{1 + below(2 * pool_ + 2)};
    } else if (chance(25)) {
      std::vector<int> columns;
      for (int c = 0; c < case_.table.num_columns(); ++c) {
        if (is_temporal(case_.table.column(c).type().type)) columns.push_back(c);
      }
      time_column_ = columns[static_cast<std::size_t>(below(std::ssize(columns)))];
      const Column& column = case_.table.column(*time_column_);
      const std::int64_t ticks = 1 + below(chance(50) ? 5 : 300);
      options_.window =
          TimeWindow{column.name(), std::chrono::nanoseconds(ticks * nanoseconds_per_tick(column.type()))};
    }
  }

  /// Returns some rows of the table of values: neighbours in their layout, or any, also several times.
  std::pair<Table, std::vector<RowId>> some_rows(std::int64_t size) {
    std::vector<RowId> rows(static_cast<std::size_t>(pool_ == 0 ? 0 : size));
    if (chance(50) && size <= pool_) {
      std::iota(rows.begin(), rows.end(), below(pool_ - size + 1));
      const RowId first = rows.empty() ? 0 : rows.front();
      return {exec::rows_of(case_.table, first, first + std::ssize(rows)), rows};
    }
    for (RowId& row : rows) row = below(pool_);
    return {exec::gather(case_.table, rows), rows};
  }

  std::vector<RowId> some_ids() {
    std::vector<RowId> ids;
    for (const auto& [id, row] : there_) ids.push_back(id);
    std::ranges::shuffle(ids, random_);
    const std::int64_t size = chance(70) ? below(4) : below(std::ssize(ids) + 1);
    ids.resize(static_cast<std::size_t>(std::min<std::int64_t>(size, std::ssize(ids))));
    return ids;
  }

  Int128 time_of(RowId row) const {
    const Value value = case_.table.column(*time_column_).value(row);
    if (const auto* date = std::get_if<Date>(&value)) return nanoseconds(date->days, Type::date);
    if (const auto* time = std::get_if<Timestamp>(&value)) {
      DataType type(Type::timestamp);
      type.unit = time->unit;
      return nanoseconds(time->ticks, type);
    }
    return exec::kNoTime;
  }

  void leave_window(const std::vector<RowId>& new_rows) {
    if (const auto* window = std::get_if<RowWindow>(&options_.window)) {
      std::erase_if(there_, [&](const auto& row) { return row.first < next_id_ - window->rows; });
    } else if (const auto* by_time = std::get_if<TimeWindow>(&options_.window)) {
      for (const RowId row : new_rows) greatest_ = std::max(greatest_, time_of(row));
      std::erase_if(there_, [&](const auto& row) {
        const Int128 time = time_of(row.second);
        return time == exec::kNoTime || time <= greatest_ - by_time->last.count();
      });
    }
  }

  /// The answer over the rows that are there, with ids; nothing where they have none.
  std::optional<Result> expected() const {
    std::vector<RowId> ids;
    std::vector<RowId> rows;
    for (const auto& [id, row] : there_) {
      ids.push_back(id);
      rows.push_back(row);
    }
    try {
      Result result = engine().run(case_.query, exec::gather(case_.table, rows));
      for (RowId& row : result.rows) row = ids[static_cast<std::size_t>(row)];
      std::vector<Column> columns = result.table.columns();
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (is_row_column(case_.query, c)) columns[c] = exec::row_column(result.rows, columns[c].name());
      }
      result.table = Table(columns);
      return result;
    } catch (const DataError&) {
      return std::nullopt;
    }
  }

  /// Returns the answer; null where memory does not suffice to make it.
  std::shared_ptr<const Result> answer() const {
    try {
      return standing_->answer();
    } catch (const ResourceError&) {
      EXPECT_TRUE(limited_);
      return nullptr;
    }
  }

  /// Checks that a call that was refused has changed nothing.
  void expect_still(const std::shared_ptr<const Result>& before) const {
    const auto now = answer();
    EXPECT_TRUE(now == before || (limited_ && (now == nullptr || before == nullptr)));
  }

  void follow() {
    const auto there = answer();
    const std::optional<Result> now = expected();
    ASSERT_TRUE(now);
    if (there != nullptr) expect_equal(*there, *now);
    EXPECT_EQ(standing_->next_id(), next_id_);
    const bool keeps_few = options_.append_only && std::holds_alternative<std::monostate>(options_.window);
    EXPECT_TRUE(keeps_few || standing_->num_rows() == std::ssize(there_));
  }

  /// Makes a call that must fail for its rows, or for memory before.
  template <class Call>
  void expect_refused(const Call& call) const {
    try {
      call();
      ADD_FAILURE() << "the engine refuses the rows, and the call does not";
    } catch (const ResourceError&) {
      EXPECT_TRUE(limited_);
    } catch (const DataError&) {
    }
  }

  /// Makes a call and follows it, where `change` changes what should be there.
  template <class Call, class Change>
  void follow(const Call& call, const Change& change) {
    const auto before = answer();
    const std::vector<RowId> rows_before = expected()->rows;
    const auto [there, next_id, greatest] = std::tuple(there_, next_id_, greatest_);
    change();
    const std::optional<Result> now = expected();
    if (!now) {
      std::tie(there_, next_id_, greatest_) = std::tuple(there, next_id, greatest);
      expect_refused(call);
      expect_still(before);
      return;
    }
    try {
      EXPECT_EQ(call(), changes_between(rows_before, now->rows));
    } catch (const ResourceError&) {
      EXPECT_TRUE(limited_);
      std::tie(there_, next_id_, greatest_) = std::tuple(there, next_id, greatest);
      expect_still(before);
    }
    follow();
  }

  /// Goes on with a query that is loaded from a file, with leaves of other sizes.
  void load() {
    const TemporaryPath file;
    std::unique_ptr<exec::Standing> loaded;
    const auto before = answer();
    try {
      standing_->save(file.path());
      loaded = made(draw_shape());
      loaded->restore(file.path(), {});
    } catch (const ResourceError&) {
      EXPECT_TRUE(limited_);  // the memory of both
      return;
    }
    EXPECT_EQ(loaded->num_rows(), standing_->num_rows());
    EXPECT_EQ(loaded->next_id(), next_id_);
    standing_ = std::move(loaded);
    const auto after = answer();
    if (before != nullptr && after != nullptr) expect_equal(*after, *before);
    follow();
  }

  void call() {
    if (chance(10)) return load();
    const std::int64_t kind = below(10);
    if (kind < 4 || (options_.append_only && kind < 8)) return insert();
    if (options_.append_only || kind == 9) return refused();
    kind < 7 ? erase() : update();
  }

  void insert() {
    const auto [table, rows] = some_rows(chance(80) ? below(6) : below(2 * pool_ + 1));
    follow([&, &table = table] { return standing_->insert(table, {}); },
           [&, &rows = rows] {
             for (const RowId row : rows) there_[next_id_++] = row;
             leave_window(rows);
           });
  }

  void erase() {
    const std::vector<RowId> ids = some_ids();
    follow([&] { return standing_->erase(ids, {}); },
           [&] {
             for (const RowId id : ids) there_.erase(id);
           });
  }

  void update() {
    const std::vector<RowId> ids = some_ids();
    const auto [table, rows] = some_rows(std::ssize(ids));
    follow([&, &table = table] { return standing_->update(ids, table, {}); },
           [&, &rows = rows] {
             for (std::size_t i = 0; i < ids.size(); ++i) there_[ids[i]] = rows[i];
             leave_window(rows);
           });
  }

  /// Calls that must change nothing.
  void refused() {
    const auto before = answer();
    std::vector<RowId> ids = some_ids();
    const auto [table, rows] = some_rows(std::ssize(ids) + 1);
    if (options_.append_only) {
      EXPECT_THROW(standing_->erase(ids, {}), QueryError);
      EXPECT_THROW(standing_->update(ids, table, {}), QueryError);
    } else {
      ids.push_back(chance(50) || ids.empty() ? next_id_ + below(5) : ids.front());
      EXPECT_THROW(standing_->erase(ids, {}), DataError);
      EXPECT_THROW(standing_->update(ids, table, {}), DataError);
    }
    EXPECT_THROW(standing_->insert(Table({Column::own("c0", std::vector<std::string>{"a"})}), {}), BindError);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(standing_->insert(table, {.stop = stop.get_token()}), CancelledError);
    expect_still(before);
    follow();
  }

  RandomCase case_;
  std::mt19937_64 random_;
  std::int64_t pool_ = 0;
  StandingOptions options_;
  std::optional<int> time_column_;
  std::optional<exec::EngineState> limited_;  // with little memory, so that calls are refused now and then
  std::unique_ptr<exec::Standing> standing_;
  std::map<RowId, RowId> there_;  // ids, and positions in the table of values
  RowId next_id_ = 0;
  Int128 greatest_ = exec::kNoTime;
};

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : otherwise;
}

/// Runs histories. For longer runs the variable SKYRANK_HISTORIES says how many, and SKYRANK_SEED from which seed on.
TEST(StandingHistories, AnswerAsTheEngineDoes) {
  const std::uint64_t first = number_in("SKYRANK_SEED", 0);
  const std::uint64_t histories = number_in("SKYRANK_HISTORIES", tests::kSanitized ? 30 : 120);
  for (std::uint64_t seed = first; seed < first + histories && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed).run(25);
  }
}

}  // namespace
}  // namespace skyrank

#include "engine/parts/states/query_state.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/gpus/side_merge.hpp"
#include "tests/build.hpp"
#include "tests/semantics/parts/draw.hpp"
#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/parts/steps.hpp"
#include "tests/semantics/random_case.hpp"

// The laws of a query's state: combining is associative, parts are sunk in any order, and what fails changes nothing.
namespace skyrank::exec {
namespace {

constexpr int kCasesPerRun = tests::kSanitized ? 1 : 4;  // rapidcheck makes a hundred runs

/// Reduces states of nearly any size.
Doubling drawn_doubling() { return Doubling(drawn<std::size_t>(0, 20)); }

/// Parts of a table, in random order.
struct Part {
  RowId begin = 0;
  Table rows;
};

std::vector<Part> drawn_parts(const Table& table) {
  std::vector<RowId> cuts = drawn_cuts(table.num_rows());
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(table.num_rows());
  std::vector<Part> parts;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const auto at = drawn<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(i));
    parts.insert(parts.begin() + at, {cuts[i - 1], rows_of(table, cuts[i - 1], cuts[i])});
  }
  return parts;
}

void require_equal(const Table& found, const Table& expected) {
  RC_ASSERT(found.num_columns() == expected.num_columns());
  RC_ASSERT(found.num_rows() == expected.num_rows());
  for (int c = 0; c < found.num_columns(); ++c) {
    RC_ASSERT(found.column(c).type() == expected.column(c).type());
    for (std::int64_t row = 0; row < found.num_rows(); ++row) {
      RC_ASSERT(reference::same(found.column(c).value(row), expected.column(c).value(row)));
    }
  }
}

void require_equal(const QueryState& state, const RandomCase& random) {
  const Result expected = engine().run(random.query, random.table);
  const Result found = state.finalize();
  RC_ASSERT(found.rows == expected.rows);
  RC_ASSERT(found.levels == expected.levels);
  require_equal(found.table, expected.table);
  const Partial whole = engine().partial(random.query, random.table, 0);
  const Partial all = engine().merge_partials(random.query, {state.partial().value()});
  RC_ASSERT(all.rows() == whole.rows());
  RC_ASSERT(all.covers() == whole.covers());
  require_equal(all.columns(), whole.columns());
}

/// Runs a law over random cases that have one answer.
template <class Law>
void require_for_cases(const Law& law) {
  for (int i = 0; i < kCasesPerRun; ++i) {
    const RandomCase random = drawn_case();
    try {
      engine().run(random.query, random.table);
    } catch (const DataError&) {
      continue;
    }
    law(random, steps_of(random.query, random.table));
  }
}

RC_GTEST_PROP(QueryStateLaw, PartsAreSunkInAnyOrder, ()) {
  require_for_cases([](const RandomCase& random, const StateSteps& steps) {
    QueryState state(steps, drawn_doubling());
    for (const Part& part : drawn_parts(keyed(random.query, random.table))) state.sink(part.rows, part.begin);
    require_equal(state, random);
  });
}

RC_GTEST_PROP(QueryStateLaw, StatesAreCombinedInAnyTree, ()) {
  require_for_cases([](const RandomCase& random, const StateSteps& steps) {
    std::vector<QueryState> states;
    states.reserve(20);
    for (const Part& part : drawn_parts(keyed(random.query, random.table))) {
      states.emplace_back(steps, drawn_doubling()).sink(part.rows, part.begin);
    }
    std::vector<std::size_t> left(states.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    while (left.size() > 1) {
      const auto from = drawn<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(left.size()));
      const std::size_t moved = left[static_cast<std::size_t>(from)];
      left.erase(left.begin() + from);
      states[left[drawn<std::size_t>(0, left.size())]].combine(std::move(states[moved]));
    }
    require_equal(states[left.front()], random);
  });
}

RC_GTEST_PROP(QueryStateLaw, PartsAreMergedWhileOthersAreAnswered, ()) {
  require_for_cases([](const RandomCase& random, const StateSteps& steps) {
    QueryState state(steps, drawn_doubling());
    SideMerge merge(state, {});
    for (const Part& part : drawn_parts(random.table)) {
      merge.combine(engine().partial(random.query, part.rows, part.begin));
    }
    merge.finish();
    require_equal(state, random);
  });
}

Table numbers(std::int64_t rows) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < rows; ++i) values.push_back(i * 7919 % 1000);
  return Table({Column::own("x", std::move(values))});
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(QueryState, WhatFailsChangesNothing) {
  const Query query = Query::from("t").rank_by({low("x")}).limit(3);
  const StateSteps steps = steps_of(query, numbers(1));
  QueryState state(steps, Doubling(0));
  state.sink(numbers(10), 10);
  state.sink(numbers(10), 20);
  EXPECT_EQ(message_of([&] { state.combine(engine().partial(query, numbers(5), 15)); }),
            "two partial answers cover row 15; each row of the table must be in one part");
  EXPECT_NE(message_of([&] { state.sink(numbers(5), -1); }), "no error");
  EXPECT_EQ(state.num_rows(), 6U);
  state.sink(numbers(10), 0);
  EXPECT_EQ(state.num_rows(), 3U);
  const std::vector<Partial> parts = {engine().partial(query, numbers(10), 0), engine().partial(query, numbers(10), 10),
                                      engine().partial(query, numbers(10), 20)};
  EXPECT_EQ(state.finalize().rows, engine().merge(query, parts).rows);
}

TEST(SideMerge, WhatAReductionThrowsComesWithALaterCall) {
  const Query query = Query::from("t").rank_by({low("x")}).limit(3);
  const StateSteps steps = steps_of(query, numbers(1));
  QueryState state(steps, Doubling(0));
  SideMerge merge(state, {});
  merge.combine(engine().partial(query, numbers(10), 0));
  merge.finish();
  merge.combine(engine().partial(query, numbers(10), 10));
  EXPECT_EQ(message_of([&] {
              merge.combine(engine().partial(query, numbers(5), 5));
              merge.finish();
            }),
            "two partial answers cover row 5; each row of the table must be in one part");
}

TEST(QueryState, WithoutPartsThereIsNoAnswer) {
  const StateSteps steps = steps_of(Query::from("t").rank_by({low("x")}), numbers(1));
  const QueryState state(steps);
  EXPECT_FALSE(state.partial().has_value());
  EXPECT_EQ(message_of([&] { state.finalize(); }), "merging needs at least one partial answer");
}

TEST(QueryState, CountsTheRowsThatItHasAsMemory) {
  constexpr std::size_t kBytesOfRow = 1000;
  const EngineState memory({.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = 300'000});
  const Query query = Query::from("t").rank_by({low("x")}).limit(40);
  StateSteps steps = steps_of(query, numbers(1));
  steps.charge = [&](std::size_t rows) {
    SourceCharge charge(memory, {}, rows * kBytesOfRow);
    charge.finish_reading();
    return charge;
  };
  {
    QueryState state(steps, Doubling(40));
    for (RowId part = 0; part < 20; ++part) {
      state.sink(numbers(100), 100 * part);
      EXPECT_GE(memory.memory->used(), state.num_rows() * kBytesOfRow);
      EXPECT_LT(memory.memory->used(), (state.num_rows() + 40) * kBytesOfRow);
    }
    EXPECT_LE(state.num_rows(), 80U);
    const SourceCharge more(memory, {}, 100 * kBytesOfRow);  // counts twice until its rows are read
    EXPECT_NE(message_of([&] { state.sink(numbers(100), 5000); }), "no error");
    EXPECT_LE(state.num_rows(), 80U);
    EXPECT_EQ(state.finalize().rows.size(), 40U);
  }
  EXPECT_EQ(memory.memory->used(), 0U);
}

TEST(Doubling, IsDueWhenAStateHasTwiceAsManyRowsAsAfterTheLastTime) {
  Doubling doubling(10);
  EXPECT_FALSE(doubling.is_due(20));
  EXPECT_TRUE(doubling.is_due(21));
  doubling.reduced_to(15);
  EXPECT_FALSE(doubling.is_due(30));
  EXPECT_TRUE(doubling.is_due(31));
  doubling.reduced_to(3);
  EXPECT_FALSE(doubling.is_due(20));
  EXPECT_FALSE(Doubling::never().is_due(std::size_t{1} << 62));
}

}  // namespace
}  // namespace skyrank::exec

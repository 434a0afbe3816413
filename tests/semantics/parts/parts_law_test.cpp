#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/build.hpp"
#include "tests/semantics/parts/draw.hpp"
#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/random_case.hpp"
#include "tests/semantics/reference.hpp"

// merge(partial(p1), ..., partial(pn)) == run(p1 + ... + pn), over random tables, queries, splits and merge trees.
namespace skyrank {
namespace {

constexpr int kCasesPerRun = tests::kSanitized ? 1 : 8;  // rapidcheck makes a hundred runs

/// Merges neighbours and others, in any order, some of them after a trip through Arrow, until few are left.
std::vector<Partial> merged_at_random(const Query& query, std::vector<Partial> partials) {
  const auto left = drawn<std::size_t>(1, 4);
  const auto take = [&] {
    const auto at = drawn<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(partials.size()));
    Partial taken = std::move(partials[static_cast<std::size_t>(at)]);
    partials.erase(partials.begin() + at);
    return drawn(0, 3) == 0 ? through_arrow(taken) : taken;
  };
  while (partials.size() > left) {
    std::vector<Partial> some;
    some.push_back(take());
    some.push_back(take());
    partials.push_back(engine().merge_partials(query, some));
  }
  std::vector<Partial> shuffled;
  while (!partials.empty()) shuffled.push_back(take());
  return shuffled;
}

void require_equal(const Table& found, const Table& expected) {
  RC_ASSERT(found.num_columns() == expected.num_columns());
  RC_ASSERT(found.num_rows() == expected.num_rows());
  for (int c = 0; c < found.num_columns(); ++c) {
    RC_ASSERT(found.column(c).name() == expected.column(c).name());
    RC_ASSERT(found.column(c).type() == expected.column(c).type());
    for (std::int64_t row = 0; row < found.num_rows(); ++row) {
      RC_ASSERT(reference::same(found.column(c).value(row), expected.column(c).value(row)));
    }
  }
}

void require_same_answer(const RandomCase& random) {
  const Result expected = engine().run(random.query, random.table);
  const std::vector<RowId> cuts = drawn_cuts(random.table.num_rows());
  const Result found = engine().merge(
      random.query, merged_at_random(random.query, partials_of(engine(), random.query, random.table, cuts)));
  RC_ASSERT(found.rows == expected.rows);
  RC_ASSERT(found.levels == expected.levels);
  require_equal(found.table, expected.table);
}

/// Returns the message of the DataError that `f` throws, or nothing.
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const DataError& error) {
    return error.message();
  }
  return "";
}

/// Requires that parts in their order have the error of the whole.
void require_same_error(RandomCase random) {
  random.query.nan(drawn(0, 2) == 0 ? Missing::error : Missing::worst);
  random.query.nulls(drawn(0, 2) == 0 ? Missing::error : Missing::exclude);
  const std::string expected = message_of([&] { engine().run(random.query, random.table); });
  const std::vector<RowId> cuts = drawn_cuts(random.table.num_rows());
  const std::string found =
      message_of([&] { engine().merge(random.query, partials_of(engine(), random.query, random.table, cuts)); });
  RC_ASSERT(found == expected);
}

void require_associative(const RandomCase& random) {
  const std::vector<RowId> cuts = drawn_cuts(random.table.num_rows());
  const std::vector<Partial> parts = partials_of(engine(), random.query, random.table, cuts);
  const Partial one = engine().merge_partials(random.query, merged_at_random(random.query, parts));
  const Partial other = engine().merge_partials(random.query, merged_at_random(random.query, parts));
  const Partial whole = engine().partial(random.query, random.table, 0);
  RC_ASSERT(one.rows() == other.rows());
  RC_ASSERT(one.rows() == whole.rows());
  RC_ASSERT(one.covers() == whole.covers());
  require_equal(one.columns(), other.columns());
  require_equal(one.columns(), whole.columns());
}

/// Runs a law over cases that have an answer.
template <class Law>
void require_for_cases(const Law& law) {
  for (int i = 0; i < kCasesPerRun; ++i) {
    const RandomCase random = drawn_case();
    if (message_of([&] { engine().run(random.query, random.table); }).empty()) law(random);
  }
}

RC_GTEST_PROP(PartialLaw, MergesOfPartsAnswerAsTheWhole, ()) { require_for_cases(require_same_answer); }

RC_GTEST_PROP(PartialLaw, MergeIsAssociative, ()) { require_for_cases(require_associative); }

RC_GTEST_PROP(PartialLaw, ErrorsAreThoseOfTheWhole, ()) {
  for (int i = 0; i < kCasesPerRun; ++i) require_same_error(drawn_case());
}

}  // namespace
}  // namespace skyrank

#include <gtest/gtest.h>

#include "tests/build.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/random_case.hpp"

// Random tables of all types with NaN, NULL and extremes, and random queries over them, against the reference.
namespace skyrank {
namespace {

class RandomQueries : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomQueries, AgreeWithTheReference) {
  constexpr std::uint64_t kQueries = tests::kSanitized ? 16 : 40;
  for (std::uint64_t i = 0; i < kQueries && !HasFailure(); ++i) {
    const std::uint64_t seed = GetParam() * kQueries + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase random = random_case(seed);
    expect_reference(random.query, random.table, random.evaluate());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomQueries, testing::Range<std::uint64_t>(0, 25));

}  // namespace
}  // namespace skyrank

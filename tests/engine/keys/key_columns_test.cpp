#include "engine/keys/key_columns.hpp"

#include <memory>
#include <numeric>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Ids = std::vector<std::int64_t>;

template <class Key>
Keys keys_of(std::vector<Key> values) {
  auto owner = std::make_shared<const std::vector<Key>>(std::move(values));
  return {{owner->data(), static_cast<kernels::KeyWidth>(sizeof(Key))}, owner};
}

template <class Key>
void expect_takes_and_slices() {
  const Keys keys = keys_of<Key>({10, 20, 30, static_cast<Key>(~Key{0})});
  const Keys taken = take(keys, Ids{3, 0, 3});
  EXPECT_EQ(taken.column.width, keys.column.width);
  EXPECT_EQ(key_at(taken, 0), static_cast<Key>(~Key{0}));
  EXPECT_EQ(key_at(taken, 1), 10U);
  EXPECT_EQ(key_at(slice(keys, 2), 0), 30U);
}

TEST(KeyColumns, TakeAndSliceEveryWidth) {
  expect_takes_and_slices<std::uint8_t>();
  expect_takes_and_slices<std::uint16_t>();
  expect_takes_and_slices<std::uint32_t>();
  expect_takes_and_slices<std::uint64_t>();
}

TEST(KeyColumns, RunsOfEqualKeysAreAscending) {
  const std::vector<Keys> columns{keys_of<std::uint8_t>({2, 1, 2, 1, 2}), keys_of<std::uint64_t>({5, 5, 4, 5, 5})};
  const Runs runs = runs_of_equal(columns, {0, 1, 2, 3, 4});
  EXPECT_EQ(runs.positions, (Ids{1, 3, 2, 0, 4}));
  EXPECT_EQ(runs.bounds, (Ids{0, 2, 3, 5}));
}

TEST(KeyColumns, OneRunKeepsItsOrder) {
  const Runs runs = runs_of_equal({keys_of<std::uint32_t>({7, 7, 8, 7})}, {0, 1, 3});
  EXPECT_EQ(runs.positions, (Ids{0, 1, 3}));
  EXPECT_EQ(runs.bounds, (Ids{0, 3}));
}

TEST(KeyColumns, NoPositionsMakeNoRuns) { EXPECT_EQ(runs_of_equal({}, {}).bounds, (Ids{0})); }

}  // namespace
}  // namespace skyrank::exec

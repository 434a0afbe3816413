#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <vector>

#include "engine/keys/key_columns.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/keys/keys.hpp"
#include "tests/engine/operator_test.hpp"
#include "tests/engine/reference.hpp"

namespace skyrank::exec {
namespace {

std::vector<std::uint64_t> numbers(const Keys& keys, std::int64_t n) {
  std::vector<std::uint64_t> result;
  with_width(keys.column.width, [&]<class Key>(Key) {
    for (std::int64_t i = 0; i < n; ++i) result.push_back(keys.column.as<Key>()[i]);
  });
  return result;
}

/// Any bits, small numbers, and numbers near the ends: so that keys of every width come up.
template <class T>
rc::Gen<T> any_integer() {
  return rc::gen::oneOf(
      rc::gen::inRange<T>(0, 5),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t x) { return static_cast<T>(x); }),
      rc::gen::map(rc::gen::inRange<int>(-3, 3), [](int x) { return static_cast<T>(x); }));
}

rc::Gen<double> any_double() {
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](auto x) { return std::bit_cast<double>(x); }),
      rc::gen::map(rc::gen::inRange<int>(-6, 6), [](int x) { return x / 2.0; }));
}

int missing_rank(const Value& value) {
  if (reference::is_null(value)) return 2;
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number) ? 1 : 0;
}

template <class T>
void check_order(const std::vector<T>& values, bool high) {
  const auto valid =
      *rc::gen::container<std::vector<bool>>(values.size(), rc::gen::weightedElement<bool>({{9, true}, {1, false}}));
  const Table table({Column::own("a", values, valid)});
  const auto n = static_cast<std::int64_t>(values.size());
  const auto key = numbers(make_keys(query::BoundRankTerm{bound("a", table), high}, table, all_rows(table)), n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const Value a = table.column(0).value(i);
      const Value b = table.column(0).value(j);
      std::partial_ordering expected = missing_rank(a) <=> missing_rank(b);
      if (missing_rank(a) == 0 && missing_rank(b) == 0)
        expected = high ? reference::compare(b, a) : reference::compare(a, b);
      RC_ASSERT((key[static_cast<std::size_t>(i)] <=> key[static_cast<std::size_t>(j)]) == expected);
    }
  }
}

RC_GTEST_PROP(KeysProperty, SignedIntegers, (bool high)) {
  check_order(*rc::gen::container<std::vector<std::int64_t>>(any_integer<std::int64_t>()), high);
}
RC_GTEST_PROP(KeysProperty, UnsignedIntegers, (bool high)) {
  check_order(*rc::gen::container<std::vector<std::uint64_t>>(any_integer<std::uint64_t>()), high);
}
RC_GTEST_PROP(KeysProperty, Shorts, (bool high)) {
  check_order(*rc::gen::container<std::vector<std::int16_t>>(any_integer<std::int16_t>()), high);
}
RC_GTEST_PROP(KeysProperty, Floats, (bool high)) {
  check_order(*rc::gen::container<std::vector<double>>(any_double()), high);
}

RC_GTEST_PROP(KeysProperty, DistancesToQuarters, (bool inverted)) {
  // Ends in quarters: four times everything is an integer.
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(any_integer<std::int64_t>());
  const auto low = *rc::gen::inRange(-20, 20);
  const auto high = low + *rc::gen::inRange(0, 12);
  const Table table({Column::own("a", values)});
  query::BoundPreference term;
  term.kind = Preference::Kind::between;
  term.expression = bound("a", table);
  term.target = low / 4.0;
  term.upper = high / 4.0;
  term.inverted = inverted;
  const auto key = numbers(make_keys(term, table, all_rows(table)), table.num_rows());
  const auto distance = [&](std::int64_t value) {
    const reference::Wide x = reference::Wide{value} * 4;
    return x < low ? low - x : x > high ? x - high : reference::Wide{0};
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const auto expected =
          inverted ? distance(values[j]) <=> distance(values[i]) : distance(values[i]) <=> distance(values[j]);
      RC_ASSERT((key[i] <=> key[j]) == expected);
    }
  }
}

RC_GTEST_PROP(KeysProperty, PriorIsLexicographic, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 40);
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<std::vector<std::uint64_t>> columns;
  std::vector<Keys> keys;
  for (std::size_t c = 0; c < count; ++c) {
    const int bits = *rc::gen::inRange(0, 65);
    columns.push_back(*rc::gen::container<std::vector<std::uint64_t>>(
        rows, rc::gen::map(any_integer<std::uint64_t>(), [bits](std::uint64_t x) {
          return bits == 0 ? 0 : x & (~std::uint64_t{0} >> (64 - bits));
        })));
    KeyMemory<std::uint64_t> memory(static_cast<std::int64_t>(rows));
    for (std::size_t i = 0; i < rows; ++i) memory[static_cast<std::int64_t>(i)] = columns.back()[i];
    keys.push_back(std::move(memory).keys());
  }
  const auto key = numbers(combine_prior(keys, static_cast<std::int64_t>(rows)), static_cast<std::int64_t>(rows));
  const auto row = [&](std::size_t i) {
    std::vector<std::uint64_t> values;
    for (const auto& column : columns) values.push_back(column[i]);
    return values;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) RC_ASSERT((key[i] <=> key[j]) == (row(i) <=> row(j)));
  }
}

}  // namespace
}  // namespace skyrank::exec

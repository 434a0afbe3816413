#include "engine/operators/missing/missing.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

class MissingRules : public testing::Test {
 protected:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Table table{
      {Column::own("a", std::vector<double>{1, kNan, 3, 4, kNan, 6}, {true, true, false, true, true, true}),
       Column::own("b", std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {true, true, true, true, false, true}),
       Column::own("h", std::vector<Float16>{Float16{0x7c00}, Float16{0}, Float16{0}, Float16{0}, Float16{0},
                                             Float16{0xfc01}})}};

  Vector<RowId> kept(const std::vector<std::string_view>& expressions, Missing nan, Missing null,
                     const std::vector<RowId>* ids = nullptr) const {
    std::vector<query::BoundExpression> bound_expressions;
    for (const std::string_view text : expressions) bound_expressions.push_back(bound(text, table));
    std::vector<const query::BoundExpression*> pointers;
    for (const auto& expression : bound_expressions) pointers.push_back(&expression);
    const Rows rows = ids == nullptr ? all_rows(table) : Rows{static_cast<std::int64_t>(ids->size()), ids->data()};
    return apply_missing_rules(pointers, table, rows, nan, null);
  }
  std::string message(const std::vector<std::string_view>& expressions, Missing nan, Missing null) const {
    try {
      kept(expressions, nan, null);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(MissingRules, Worst) {
  EXPECT_EQ(kept({"a", "b"}, Missing::worst, Missing::worst), (std::vector<RowId>{0, 1, 2, 3, 4, 5}));
  const std::vector<RowId> ids{1, 4};
  EXPECT_EQ(kept({"a", "b"}, Missing::worst, Missing::worst, &ids), ids);
}

TEST_F(MissingRules, Exclude) {
  EXPECT_EQ(kept({"a", "b"}, Missing::exclude, Missing::worst), (std::vector<RowId>{0, 2, 3, 5}));
  EXPECT_EQ(kept({"a", "b"}, Missing::worst, Missing::exclude), (std::vector<RowId>{0, 1, 3, 5}));
  EXPECT_EQ(kept({"a", "b"}, Missing::exclude, Missing::exclude), (std::vector<RowId>{0, 3, 5}));
  EXPECT_EQ(kept({"h"}, Missing::exclude, Missing::exclude), (std::vector<RowId>{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept({"a + b"}, Missing::exclude, Missing::exclude), (std::vector<RowId>{0, 3, 5}));
  EXPECT_EQ(kept({}, Missing::exclude, Missing::exclude).size(), 6U);
  const std::vector<RowId> ids{1, 3, 4, 5};
  EXPECT_EQ(kept({"a"}, Missing::exclude, Missing::exclude, &ids), (std::vector<RowId>{3, 5}));
}

TEST_F(MissingRules, ErrorNamesTheFirstRowAndItsExpression) {
  EXPECT_EQ(message({"b", "a"}, Missing::error, Missing::worst),
            "expression:1:1: NaN in row 1 of 'a', which 'nan: error' refuses; 'exclude' leaves such rows out");
  EXPECT_EQ(message({"b", "a"}, Missing::worst, Missing::error),
            "expression:1:1: NULL in row 2 of 'a', which 'nulls: error' refuses; 'exclude' leaves such rows out");
  EXPECT_EQ(message({"b"}, Missing::error, Missing::error),
            "expression:1:1: NULL in row 4 of 'b', which 'nulls: error' refuses; 'exclude' leaves such rows out");
  EXPECT_EQ(message({"h"}, Missing::error, Missing::worst),
            "expression:1:1: NaN in row 5 of 'h', which 'nan: error' refuses; 'exclude' leaves such rows out");
  EXPECT_EQ(kept({"b"}, Missing::error, Missing::worst).size(), 6U);
}

TEST(MissingRulesOfManyRows, KeepTheOrderAcrossChunks) {
  const std::int64_t n = 5 * 64 * 2048 + 3;
  std::vector<float> values(static_cast<std::size_t>(n), 1);
  std::vector<RowId> expected;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i / 100'000 == 1 || i % 3 == 0) {
      values[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
    } else {
      expected.push_back(i);
    }
  }
  const Table table({Column::view<float>("a", values)});
  const query::BoundExpression a = bound("a", table);
  EXPECT_EQ(apply_missing_rules({&a}, table, all_rows(table), Missing::exclude, Missing::worst), expected);
}

}  // namespace
}  // namespace skyrank::exec

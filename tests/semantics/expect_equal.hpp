#pragma once

#include <gtest/gtest.h>

#include <skyrank/engine.hpp>

#include "tests/semantics/reference.hpp"

// Answers that have to be the same, for programs with reference.cpp.
namespace skyrank {

inline void expect_equal(const Table& found, const Table& expected) {
  ASSERT_EQ(found.num_columns(), expected.num_columns());
  ASSERT_EQ(found.num_rows(), expected.num_rows());
  for (int c = 0; c < found.num_columns(); ++c) {
    const Column& there = found.column(c);
    const Column& here = expected.column(c);
    EXPECT_EQ(there.name(), here.name());
    EXPECT_EQ(there.type(), here.type());
    for (std::int64_t row = 0; row < here.size(); ++row) {
      ASSERT_TRUE(reference::same(there.value(row), here.value(row))) << here.name() << " in row " << row;
    }
  }
}

inline void expect_equal(const Result& found, const Result& expected) {
  ASSERT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.levels, expected.levels);
  expect_equal(found.table, expected.table);
}

}  // namespace skyrank

#include "kernels/cpu/skyline/strict_dominance.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace skyrank::kernels::skyline {
namespace {

/// Few values, so that many are equal, and those that compare in their own ways.
float random_value(std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kValues[] = {
      -kInfinity, -1.0F, -0.0F, 0.0F, 0.5F, 1.0F, 2.0F, 3.0F, 4.0F, kInfinity, std::numeric_limits<float>::quiet_NaN()};
  return kValues[random() % std::size(kValues)];
}

std::vector<float> random_values(std::size_t count, std::mt19937& random) {
  std::vector<float> values(count);
  for (float& value : values) value = random_value(random);
  return values;
}

bool is_dominated(const std::vector<std::vector<float>>& columns, std::size_t row, const std::vector<float>& known) {
  for (std::size_t i = 0; i < known.size(); i += columns.size()) {
    bool less = true;
    for (std::size_t c = 0; c < columns.size(); ++c) less = less && known[i + c] < columns[c][row];
    if (less) return true;
  }
  return false;
}

TEST(StrictDominance, FindsTheRowsThatAComparisonOfAllPairsLeaves) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t width = 1 + random() % 9;
    const std::size_t rows = random() % 100;
    std::vector<std::vector<float>> columns;
    for (std::size_t c = 0; c < width; ++c) columns.push_back(random_values(rows, random));
    const std::vector<float> known = random_values(width * (random() % 12), random);
    std::vector<std::uint32_t> expected;
    for (std::size_t row = 0; row < rows; ++row) {
      if (!is_dominated(columns, row, known)) expected.push_back(static_cast<std::uint32_t>(row));
    }
    std::vector<const float*> pointers;
    for (const auto& column : columns) pointers.push_back(column.data());
    std::vector<std::uint32_t> found(rows);
    found.resize(find_not_dominated(pointers, rows, known, found.data()));
    ASSERT_EQ(found, expected) << width << " columns, " << rows << " rows, " << known.size() / width << " known rows";
  }
}

}  // namespace
}  // namespace skyrank::kernels::skyline

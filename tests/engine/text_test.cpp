#include "engine/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace skyrank {
namespace {

using query::did_you_mean;
using query::nearest_name;

TEST(NearestName, FindsTypingErrors) {
  const std::vector<std::string> names = {"price", "rating", "distance_km", "city"};
  EXPECT_EQ(nearest_name("prise", names), "price");
  EXPECT_EQ(nearest_name("pirce", names), "price");
  EXPECT_EQ(nearest_name("ratin", names), "rating");
  EXPECT_EQ(nearest_name("ratings", names), "rating");
  EXPECT_EQ(nearest_name("distance", names), "distance_km");
  EXPECT_EQ(nearest_name("PRICE", names), "price");
}

TEST(NearestName, OffersNothingThatIsFar) {
  EXPECT_EQ(nearest_name("stars", {"price", "rating"}), "");
  EXPECT_EQ(nearest_name("x", {"y", "z"}), "");
  EXPECT_EQ(nearest_name("", {"price"}), "");
  EXPECT_EQ(nearest_name("price", {}), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), {"price", std::string(1'000'000, 'x')}), "");
}

TEST(NearestName, PrefersTheNearestThenTheFirst) {
  EXPECT_EQ(nearest_name("pts", {"ptx", "pts"}), "pts");
  EXPECT_EQ(nearest_name("col3", {"col1", "col2"}), "col1");
  EXPECT_EQ(nearest_name("swpa", {"swap", "swpt"}), "swap");
}

TEST(DidYouMean, EndsAMessage) {
  EXPECT_EQ(did_you_mean("prise", {"price"}), "; did you mean 'price'?");
  EXPECT_EQ(did_you_mean("stars", {"price"}), "");
}

TEST(FormatNumber, FloatsAreShorterThanTheirDoubles) {
  EXPECT_EQ(format_number(0.1F), "0.1");
  EXPECT_EQ(format_number(double{0.1F}), "0.10000000149011612");
  EXPECT_EQ(format_number(16777216.0F), "16777216");
  EXPECT_EQ(format_number(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(format_number(std::nanf("")), "nan");
  for (const float value : {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), 1.0F / 3}) {
    EXPECT_EQ(std::strtof(format_number(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace skyrank

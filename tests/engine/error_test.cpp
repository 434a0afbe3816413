#include <gtest/gtest.h>

#include <type_traits>

#include <skyrank/error.hpp>

namespace skyrank {
namespace {

TEST(Location, IsPrintedAsFarAsItIsKnown) {
  EXPECT_EQ(to_string(Location{"a.yaml", 3, 7}), "a.yaml:3:7");
  EXPECT_EQ(to_string(Location{"a.yaml", 3, 0}), "a.yaml:3");
  EXPECT_EQ(to_string(Location{"a.yaml", 0, 7}), "a.yaml");
  EXPECT_EQ(to_string(Location{"", 3, 7}), "3:7");
  EXPECT_EQ(to_string(Location{}), "");
}

TEST(Error, BeginsWithItsPlace) {
  const BindError error("there is no column 'prise'", {"hotels.yaml", 12, 5});
  EXPECT_STREQ(error.what(), "hotels.yaml:12:5: there is no column 'prise'");
  EXPECT_EQ(error.message(), "there is no column 'prise'");
  EXPECT_EQ(error.location(), (Location{"hotels.yaml", 12, 5}));
}

TEST(Error, WithoutPlaceIsTheMessageAlone) {
  EXPECT_STREQ(DataError("row 17 overflows").what(), "row 17 overflows");
  EXPECT_STREQ(DataError("row 17 overflows", {"points.csv"}).what(), "points.csv: row 17 overflows");
}

TEST(Error, KindsAreCaughtAsErrorAndAsStandardExceptions) {
  EXPECT_THROW(throw QueryError("x"), Error);
  EXPECT_THROW(throw DeviceError("x"), std::runtime_error);
  EXPECT_FALSE((std::is_base_of_v<QueryError, BindError>));
}

}  // namespace
}  // namespace skyrank

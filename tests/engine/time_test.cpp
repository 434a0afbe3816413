#include "engine/time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace skyrank {
namespace {

constexpr auto kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr auto kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr auto kMinInt64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMaxInt64 = std::numeric_limits<std::int64_t>::max();

TEST(Date, IsPrintedAsIso8601) {
  EXPECT_EQ(format_date({0}), "1970-01-01");
  EXPECT_EQ(format_date({-1}), "1969-12-31");
  EXPECT_EQ(format_date({17287}), "2017-05-01");
  EXPECT_EQ(format_date({11016}), "2000-02-29");
  EXPECT_EQ(format_date({-719528}), "0000-01-01");
  EXPECT_EQ(format_date({-719529}), "-0001-12-31");
  EXPECT_EQ(format_date({2932896}), "9999-12-31");
  EXPECT_EQ(format_date({2932897}), "+10000-01-01");
  EXPECT_EQ(format_date({kMaxInt32}), "+5881580-07-11");
  EXPECT_EQ(format_date({kMinInt32}), "-5877641-06-23");
}

TEST(Date, AgreesWithTheStandardLibraryOverItsRange) {
  // A prime step visits every day of the month, month and leap rule.
  for (std::int32_t day = -12'600'000; day < 11'200'000; day += 97) {
    const std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{day}}};
    ASSERT_TRUE(ymd.ok());
    const std::string text = format_date({day});
    const std::size_t month_at = text.find('-', 1);
    ASSERT_EQ(std::stol(text.substr(0, month_at)), static_cast<int>(ymd.year()));
    ASSERT_EQ(std::stoul(text.substr(month_at + 1, 2)), static_cast<unsigned>(ymd.month()));
    ASSERT_EQ(std::stoul(text.substr(month_at + 4, 2)), static_cast<unsigned>(ymd.day()));
    ASSERT_EQ(parse_date(text), Date{day});
  }
}

TEST(Date, EveryDayOfTwoErasReadsBack) {
  for (std::int32_t day = -146'097; day <= 146'097; ++day) ASSERT_EQ(parse_date(format_date({day})), Date{day});
}

TEST(Date, LimitsReadBack) {
  EXPECT_EQ(parse_date("+5881580-07-11"), Date{kMaxInt32});
  EXPECT_EQ(parse_date("-5877641-06-23"), Date{kMinInt32});
  EXPECT_EQ(parse_date("+5881580-07-12"), std::nullopt);
  EXPECT_EQ(parse_date("-5877641-06-22"), std::nullopt);
}

TEST(Date, RefusesWhatIsNoDate) {
  for (const char* text : {"",
                           "2017",
                           "2017-05",
                           "2017-5-01",
                           "2017-05-1",
                           "2017-05-01 ",
                           " 2017-05-01",
                           "2017/05/01",
                           "2017-00-01",
                           "2017-13-01",
                           "2017-05-00",
                           "2017-05-32",
                           "2017-04-31",
                           "2017-02-29",
                           "1900-02-29",
                           "20170501",
                           "217-05-01",
                           "12017-05-01",
                           "--2017-05-01",
                           "+-2017-05-01",
                           "2017-05-01T00:00:00",
                           "2017-0a-01",
                           "+99999999999999-01-01"}) {
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  }
  EXPECT_TRUE(parse_date("2000-02-29"));
  EXPECT_TRUE(parse_date("2016-02-29"));
  EXPECT_EQ(parse_date("+2017-05-01"), Date{17287});
  EXPECT_EQ(parse_date(std::string_view("2017-05-01\0", 11)), std::nullopt);
}

TEST(Timestamp, TakesTheUnitOfItsFraction) {
  EXPECT_EQ(parse_timestamp("2017-05-01 12:00:00"), (Timestamp{1493640000, TimeUnit::second}));
  EXPECT_EQ(parse_timestamp("2017-05-01T12:00:00Z"), (Timestamp{1493640000, TimeUnit::second}));
  EXPECT_EQ(parse_timestamp("2017-05-01 12:00"), (Timestamp{1493640000, TimeUnit::second}));
  EXPECT_EQ(parse_timestamp("2017-05-01"), (Timestamp{1493596800, TimeUnit::second}));
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:00.5"), (Timestamp{500, TimeUnit::millisecond}));
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:00.500"), (Timestamp{500, TimeUnit::millisecond}));
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:01.0001"), (Timestamp{1000100, TimeUnit::microsecond}));
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:01.0000001"), (Timestamp{1000000100, TimeUnit::nanosecond}));
  EXPECT_EQ(parse_timestamp("1969-12-31 23:59:59.999999999"), (Timestamp{-1, TimeUnit::nanosecond}));
}

TEST(Timestamp, RefusesWhatIsNoTimestamp) {
  for (const char* text :
       {"", "2017-05-01 ", "2017-05-01 12", "2017-05-01 24:00:00", "2017-05-01 12:60:00", "2017-05-01 12:00:60",
        "2017-05-01 12:00:00.", "2017-05-01 12:00:00.1234567890", "2017-05-01  12:00:00", "2017-05-01t12:00:00",
        "2017-05-01 12:00:00 ", "2017-05-01 12:00:00+02:00", "2017-05-01Z", "2017-02-29 12:00:00", "12:00:00"}) {
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
  }
}

TEST(Timestamp, IsPrintedWithTheDigitsOfItsUnit) {
  EXPECT_EQ(format_timestamp({1493640000, TimeUnit::second}), "2017-05-01 12:00:00");
  EXPECT_EQ(format_timestamp({1493640000000, TimeUnit::millisecond}), "2017-05-01 12:00:00.000");
  EXPECT_EQ(format_timestamp({-1, TimeUnit::millisecond}), "1969-12-31 23:59:59.999");
  EXPECT_EQ(format_timestamp({1, TimeUnit::microsecond}), "1970-01-01 00:00:00.000001");
}

TEST(Timestamp, LimitsOfEveryUnitReadBack) {
  for (const TimeUnit unit : {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond}) {
    for (const std::int64_t ticks : {kMinInt64, kMinInt64 + 1, std::int64_t{-1}, std::int64_t{0}, kMaxInt64}) {
      const Timestamp timestamp{ticks, unit};
      EXPECT_EQ(parse_timestamp(format_timestamp(timestamp)), timestamp) << format_timestamp(timestamp);
    }
  }
  EXPECT_EQ(format_timestamp({kMinInt64, TimeUnit::nanosecond}), "1677-09-21 00:12:43.145224192");
  EXPECT_EQ(parse_timestamp("1677-09-21 00:12:43.145224191"), std::nullopt);
  EXPECT_EQ(parse_timestamp("2262-04-11 23:47:16.854775808"), std::nullopt);
  EXPECT_EQ(format_timestamp({kMaxInt64, TimeUnit::second}), "+292277026596-12-04 15:30:07");
}

}  // namespace
}  // namespace skyrank

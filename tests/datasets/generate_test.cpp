#include "datasets/generate/generate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/build.hpp"

namespace skyrank::datasets {

void PrintTo(const Distribution& distribution, std::ostream* out) { *out << distribution.name; }

namespace {

using ::testing::HasSubstr;

Table make(const std::string& distribution, std::int64_t rows, int dims, std::uint64_t seed = 1, int threads = 0) {
  return generate({distribution, rows, dims, seed}, threads);
}

template <class T>
std::span<const T> values(const Table& table, int column) {
  const ColumnData& data = table.column(column).data();
  EXPECT_EQ(data.type, DataType(type_of<T>()));
  EXPECT_EQ(data.stride, static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<const T*>(data.values), static_cast<std::size_t>(data.length)};
}

std::span<const std::uint32_t> bits(const Table& table, int column) {
  const ColumnData& data = table.column(column).data();
  return {static_cast<const std::uint32_t*>(data.values), static_cast<std::size_t>(data.length)};
}

std::uint64_t checksum(const Table& table) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a by words
  for (int i = 0; i < table.num_columns(); ++i) {
    for (const std::uint32_t word : bits(table, i)) hash = (hash ^ word) * 0x100000001B3;
  }
  return hash;
}

void expect_same_rows(const Table& a, const Table& b, std::int64_t rows) {
  ASSERT_EQ(a.num_columns(), b.num_columns());
  for (int i = 0; i < a.num_columns(); ++i) {
    const auto n = static_cast<std::size_t>(rows);
    EXPECT_TRUE(std::ranges::equal(bits(a, i).first(n), bits(b, i).first(n))) << "column " << i;
  }
}

// ------------------------------------------------------------------------------------------------- every distribution

class EveryDistribution : public ::testing::TestWithParam<Distribution> {
 protected:
  std::string name() const { return std::string(GetParam().name); }
};

INSTANTIATE_TEST_SUITE_P(Generate, EveryDistribution,
                         ::testing::ValuesIn(distributions().begin(), distributions().end()), [](const auto& instance) {
                           std::string name(instance.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EveryDistribution, IsTheSameForAnyNumberOfThreads) {
  const Table one = make(name(), 10'000, 3, 5, 1);
  for (const int threads : {2, 3, 16, 0}) expect_same_rows(one, make(name(), 10'000, 3, 5, threads), 10'000);
}

TEST_P(EveryDistribution, DependsOnTheSeedWhereItIsRandom) {
  const bool random = name() != "all-equal";
  EXPECT_EQ(checksum(make(name(), 1000, 2, 1)) != checksum(make(name(), 1000, 2, 2)), random);
  EXPECT_EQ(checksum(make(name(), 1000, 2, 0)) != checksum(make(name(), 1000, 2, ~std::uint64_t{0})), random);
}

TEST_P(EveryDistribution, ColumnsDifferWhereTheyAreRandom) {
  const Table table = make(name(), 1000, 3);
  const bool equal = std::ranges::equal(bits(table, 0), bits(table, 1));
  EXPECT_EQ(equal, name() == "all-equal");
}

TEST_P(EveryDistribution, ALongerTableBeginsWithTheShorterUnlessRowsCount) {
  const bool rows_count =
      name() == "increasing" || name() == "decreasing" || name() == "bucket-killer" || name() == "crowded-bucket";
  const auto beginning = [&](std::int64_t rows) {
    const Table table = make(name(), rows, 2);
    const auto first = bits(table, 1).first(3000);
    return std::vector<std::uint32_t>(first.begin(), first.end());
  };
  EXPECT_EQ(beginning(3000) == beginning(5000), !rows_count);
}

TEST_P(EveryDistribution, MayBeEmptyOrTiny) {
  for (const std::int64_t rows : {0, 1, 2, 3, 4, 5}) {
    const Table table = make(name(), rows, 2);
    EXPECT_EQ(table.num_rows(), rows);
    ASSERT_EQ(table.num_columns(), 2);
    EXPECT_EQ(table.column(1).name(), "c1");
    EXPECT_EQ(table.column(1).type(), make(name(), 100, 1).column(0).type());
    EXPECT_FALSE(table.column(0).may_have_nulls());
  }
}

TEST_P(EveryDistribution, HasItsPinnedRows) {
  static const std::map<std::string, std::uint64_t> kPinned = {
      {"independent", 0xF42E2534918DA0D8},    {"correlated", 0xDDC4FD24F80CD953},
      {"anticorrelated", 0xDBADE3BB36EEE12D}, {"uniform", 0xF42E2534918DA0D8},
      {"normal", 0x5A0165E2B0961C63},         {"increasing", 0xCC8B59873EEA7AEB},
      {"decreasing", 0x885CB2752D55377D},     {"bucket-killer", 0x3118025AB71A8E80},
      {"all-equal", 0x3E9585A1C2353505},      {"few-distinct", 0xCDACC0FE20753505},
      {"nan-heavy", 0x9D374EC08D662F95},      {"zipf", 0xDD848BF2EE2601BD},
      {"crowded-bucket", 0x11DCAB6EA2C748B2},
  };
  EXPECT_EQ(checksum(make(name(), 3000, 5, 7)), kPinned.at(name()));
}

TEST_P(EveryDistribution, IsDescribedInOneLine) {
  EXPECT_FALSE(GetParam().summary.empty());
  EXPECT_EQ(GetParam().summary.find('\n'), std::string_view::npos);
}

TEST_P(EveryDistribution, FloatsLieBetween0And1) {
  const float top = name() == "bucket-killer" ? 1 + 0x1p-15F : 1;
  for (int dims = 1; dims <= 32; ++dims) {
    const Table table = make(name(), 50, dims, 3);
    if (table.column(0).type() != DataType(Type::float32)) continue;
    for (int i = 0; i < dims; ++i) {
      for (const float value : values<float>(table, i)) {
        EXPECT_TRUE((value >= 0 && value <= top) || (name() == "nan-heavy" && std::isnan(value))) << value;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------- the skyline distributions

/// First and second moments of rows, averaged over the columns by their distance around the circle.
struct Moments {
  double mean = 0;
  std::vector<double> covariance;  // of columns 0, 1, 2, ... steps apart
};

using Rows = std::vector<std::vector<double>>;

Moments moments(const Rows& rows) {
  const std::size_t dims = rows[0].size();
  const auto n = static_cast<double>(rows.size());
  Moments result;
  for (const auto& row : rows) {
    for (const double x : row) result.mean += x / n / static_cast<double>(dims);
  }
  for (std::size_t step = 0; step <= dims / 2; ++step) {
    double sum = 0;
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < dims; ++i) sum += (row[i] - result.mean) * (row[(i + step) % dims] - result.mean);
    }
    result.covariance.push_back(sum / n / static_cast<double>(dims));
  }
  return result;
}

Rows rows_of(const Table& table) {
  Rows rows(static_cast<std::size_t>(table.num_rows()),
            std::vector<double>(static_cast<std::size_t>(table.num_columns())));
  for (int j = 0; j < table.num_columns(); ++j) {
    const auto column = values<float>(table, j);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i][static_cast<std::size_t>(j)] = double{column[i]};
  }
  return rows;
}

/// The definition of the header, word by word and with another source of random numbers.
class Classic {
 public:
  Rows correlated(std::size_t n, std::size_t dims) {
    return make(
        n, dims, [&] { return peak(dims); }, [&](double l) { return normal(0, l); });
  }
  Rows anticorrelated(std::size_t n, std::size_t dims) {
    return make(
        n, dims, [&] { return normal(0.5, 0.25); }, [&](double l) { return uniform(-l, l); });
  }

 private:
  double uniform(double a, double b) { return std::uniform_real_distribution(a, b)(random_); }
  double peak(std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += uniform(0, 1);
    return sum / static_cast<double>(count);
  }
  double normal(double center, double radius) { return center - radius + 2 * radius * peak(12); }

  template <class Center, class Offset>
  Rows make(std::size_t n, std::size_t dims, Center&& center, Offset&& offset) {
    Rows rows;
    while (rows.size() < n) {
      const double v = center();
      const double l = v <= 0.5 ? v : 1 - v;
      std::vector<double> x(dims, v);
      for (std::size_t i = 0; i < dims; ++i) {
        const double h = offset(l);
        x[i] += h;
        x[(i + 1) % dims] -= h;
      }
      if (std::ranges::all_of(x, [](double c) { return c >= 0 && c <= 1; })) rows.push_back(std::move(x));
    }
    return rows;
  }

  std::mt19937_64 random_{42};
};

class SkylineDistribution : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Dims, SkylineDistribution, ::testing::Values(1, 2, 3, 4, 5, 8, 12));

constexpr int kSample = 40'000;

void expect_near(const Moments& a, const Moments& b) {
  EXPECT_NEAR(a.mean, b.mean, 0.006);
  ASSERT_EQ(a.covariance.size(), b.covariance.size());
  for (std::size_t step = 0; step < a.covariance.size(); ++step) {
    EXPECT_NEAR(a.covariance[step], b.covariance[step], 0.0015) << step << " apart";
  }
}

TEST_P(SkylineDistribution, CorrelatedIsTheClassicOne) {
  const int dims = GetParam();
  expect_near(moments(rows_of(make("correlated", kSample, dims))),
              moments(Classic().correlated(kSample, static_cast<std::size_t>(dims))));
}

TEST_P(SkylineDistribution, AnticorrelatedIsTheClassicOne) {
  const int dims = GetParam();
  const Moments drawn = moments(rows_of(make("anticorrelated", kSample, dims)));
  expect_near(drawn, moments(Classic().anticorrelated(kSample, static_cast<std::size_t>(dims))));
  if (dims > 1) {
    EXPECT_LT(drawn.covariance[1], -0.01);
  }
}

TEST_P(SkylineDistribution, IndependentIsUniform) {
  const Moments drawn = moments(rows_of(make("independent", kSample, GetParam())));
  EXPECT_NEAR(drawn.mean, 0.5, 0.006);
  EXPECT_NEAR(drawn.covariance[0], 1.0 / 12, 0.0015);
  for (std::size_t step = 1; step < drawn.covariance.size(); ++step) EXPECT_NEAR(drawn.covariance[step], 0, 0.0015);
}

TEST(Correlated, ColumnsRiseTogether) {
  const Moments drawn = moments(rows_of(make("correlated", kSample, 4)));
  EXPECT_GT(drawn.covariance[1] / drawn.covariance[0], 0.5);
  EXPECT_GT(drawn.covariance[2], drawn.covariance[1]);
}

std::size_t skyline_size(const Table& table) {
  const Rows rows = rows_of(table);
  const auto dominates = [](const auto& a, const auto& b) {
    return a != b && std::ranges::equal(a, b, [](double x, double y) { return x <= y; });
  };
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&](const auto& row) {
    return std::ranges::none_of(rows, [&](const auto& other) { return dominates(other, row); });
  }));
}

TEST(Skyline, GrowsFromCorrelatedToAnticorrelated) {
  const std::size_t correlated = skyline_size(make("correlated", 3000, 4));
  const std::size_t independent = skyline_size(make("independent", 3000, 4));
  const std::size_t anticorrelated = skyline_size(make("anticorrelated", 3000, 4));
  EXPECT_GE(correlated, 1U);
  EXPECT_GT(independent, 2 * correlated);
  EXPECT_GT(anticorrelated, 3 * independent);
}

TEST(Independent, NoRowComesTwice) {
  const Table table = make("independent", 200'000, 2);
  std::set<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (std::size_t i = 0; i < 200'000; ++i) rows.emplace(bits(table, 0)[i], bits(table, 1)[i]);
  EXPECT_EQ(rows.size(), 200'000U);
}

// --------------------------------------------------------------------------------------------- the top-k distributions

TEST(Normal, HasItsFrequencies) {
  const int n = 400'000;
  const Table table = make("normal", n, 1);
  std::map<std::uint32_t, int> counts;
  double sum = 0, squares = 0;
  for (const std::uint32_t value : values<std::uint32_t>(table, 0)) {
    ++counts[value];
    const double x = static_cast<double>(value) - 1e8;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.1);
  EXPECT_NEAR(squares / n, 100 + 1.0 / 12, 1.2);  // rounding adds its own variance
  for (int x = -30; x <= 30; x += 5) {
    const double expected = n * std::exp(-x * x / 200.0) / (10 * std::sqrt(2 * 3.141592653589793));
    EXPECT_NEAR(counts[static_cast<std::uint32_t>(100'000'000 + x)], expected, 6 * std::sqrt(expected)) << x;
  }
  EXPECT_GT(counts.begin()->first, 100'000'000U - 80);
  EXPECT_LT(counts.rbegin()->first, 100'000'000U + 80);
}

TEST(Zipf, HasItsFrequencies) {
  const int n = 400'000;
  const Table table = make("zipf", n, 1);
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t value : values<std::uint32_t>(table, 0)) ++counts[value];
  double harmonic = 0;
  for (int k = 1; k <= 65'536; ++k) harmonic += 1.0 / k;
  for (const std::uint32_t k : {1U, 2U, 3U, 10U, 100U, 1000U}) {
    const double expected = n / harmonic / k;
    EXPECT_NEAR(counts[k], expected, 6 * std::sqrt(expected)) << k;
  }
  EXPECT_EQ(counts.begin()->first, 1U);
  EXPECT_LE(counts.rbegin()->first, 65'536U);
  EXPECT_GT(counts.rbegin()->first, 65'000U);
}

TEST(Increasing, AscendsThroughItsStrata) {
  const std::int64_t n = 5000;
  const Table table = make("increasing", n, 2);
  const auto column = values<float>(table, 1);
  EXPECT_TRUE(std::ranges::is_sorted(column));
  for (std::int64_t row = 0; row < n; row += 7) {
    EXPECT_NEAR(column[static_cast<std::size_t>(row)], (static_cast<double>(row) + 0.5) / n, 0.5 / n + 1e-6);
  }
}

TEST(Decreasing, Descends) {
  const Table table = make("decreasing", 5000, 2);
  const auto column = values<float>(table, 1);
  EXPECT_TRUE(std::ranges::is_sorted(column, std::greater<>()));
  EXPECT_GT(column.front(), 0.999F);
  EXPECT_LT(column.back(), 0.001F);
}

TEST(BucketKiller, FourRowsDifferFromOneByADigitEach) {
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 1000, 100'000}) {
    const Table table = make("bucket-killer", rows, 3, 9);
    for (int i = 0; i < 3; ++i) {
      std::set<int> digits;
      std::size_t others = 0;
      for (const std::uint32_t word : bits(table, i)) {
        if (word == one) continue;
        ++others;
        for (int digit = 0; digit < 4; ++digit) {
          if (((word ^ one) >> (8 * digit)) == 0) continue;
          if (((word ^ one) & ~(0xFFU << (8 * digit))) == 0) digits.insert(digit);
        }
      }
      const auto expected = static_cast<std::size_t>(std::min<std::int64_t>(rows, 4));
      EXPECT_EQ(others, expected);
      EXPECT_EQ(digits.size(), expected);
    }
  }
}

// The paper asks that in every pass of a bucket select with 256 buckets each bucket other than the k-th row's has a
// row, and that most rows are in that one.
TEST(CrowdedBucket, EveryPassFillsAllBucketsAndLeavesMostRows) {
  for (const std::int64_t rows : {2040, 5000, 100'003}) {
    const Table table = make("crowded-bucket", rows, 2, 9);
    for (int i = 0; i < 2; ++i) {
      std::vector<std::uint32_t> left(bits(table, i).begin(), bits(table, i).end());
      for (int digit = 3; digit >= 0; --digit) {
        std::array<std::size_t, 256> counts{};
        for (const std::uint32_t value : left) ++counts[(value >> (8 * digit)) & 0xFF];
        for (std::size_t bucket = 1; bucket < 256; ++bucket) EXPECT_EQ(counts[bucket], 1U) << digit << ' ' << bucket;
        std::erase_if(left, [&](std::uint32_t value) { return ((value >> (8 * digit)) & 0xFF) != 0; });
      }
      EXPECT_EQ(left.size(), static_cast<std::size_t>(rows) - 1020);
    }
  }
}

TEST(CrowdedBucket, OfFewRowsHalfAreCrowded) {
  for (const std::int64_t rows : {1, 2, 3, 10, 1000, 2039}) {
    const Table table = make("crowded-bucket", rows, 1, 4);
    const auto zeros = std::ranges::count(bits(table, 0), 0U);
    EXPECT_EQ(zeros, rows - std::min<std::int64_t>(1020, rows / 2)) << rows;
  }
}

TEST(AllEqual, IsOneValue) {
  const Table table = make("all-equal", 1000, 1);
  EXPECT_THAT(values<float>(table, 0), ::testing::Each(0.5F));
}

TEST(FewDistinct, AreSixteen) {
  const Table table = make("few-distinct", 16'000, 1);
  std::map<float, int> counts;
  for (const float value : values<float>(table, 0)) ++counts[value];
  EXPECT_EQ(counts.size(), 16U);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 200) << value;
}

TEST(NanHeavy, IsHalfNan) {
  const Table table = make("nan-heavy", 40'000, 1);
  int positive = 0, negative = 0;
  double sum = 0;
  for (const float value : values<float>(table, 0)) {
    if (std::isnan(value)) {
      ++(std::signbit(value) ? negative : positive);
    } else {
      sum += double{value};
    }
  }
  EXPECT_NEAR(positive, 10'000, 500);
  EXPECT_NEAR(negative, 10'000, 500);
  EXPECT_NEAR(sum / (40'000 - positive - negative), 0.5, 0.02);
}

// -------------------------------------------------------------------------------------------------------------- errors

template <class Thrown>
std::string message_of(const GeneratorSpec& spec) {
  try {
    generate(spec, 0, {"batch.yaml", 4, 9});
  } catch (const Thrown& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Generate, OffersTheNearestDistribution) {
  EXPECT_EQ(message_of<BindError>({"anti-correlated", 10, 2, 1}),
            "batch.yaml:4:9: there is no distribution 'anti-correlated'; did you mean 'anticorrelated'?");
  EXPECT_EQ(message_of<BindError>({"", 10, 2, 1}), "batch.yaml:4:9: there is no distribution ''");
}

TEST(Generate, RefusesRangesItCannotMake) {
  EXPECT_EQ(message_of<QueryError>({"uniform", -1, 2, 1}), "batch.yaml:4:9: rows must be 0 or more, not -1");
  EXPECT_EQ(message_of<QueryError>({"uniform", 1, 0, 1}), "batch.yaml:4:9: dims must be 1 to 64, not 0");
  EXPECT_EQ(message_of<QueryError>({"uniform", 1, 65, 1}), "batch.yaml:4:9: dims must be 1 to 64, not 65");
}

TEST(Generate, SaysWhenThereIsNoMemory) {
  std::vector<std::int64_t> impossible = {std::numeric_limits<std::int64_t>::max()};
  // Sanitizers end the program where the system only refuses.
  if (!tests::kSanitized) impossible.push_back(std::int64_t{1} << 55);
  for (const std::int64_t rows : impossible) {
    EXPECT_THAT(message_of<ResourceError>({"uniform", rows, 2, 1}), HasSubstr(std::to_string(rows) + " rows"));
  }
}

TEST(Generate, Reaches64Dimensions) {
  for (const char* name : {"independent", "correlated", "anticorrelated", "uniform"}) {
    for (const int dims : {17, 64}) {
      const Rows rows = rows_of(make(name, 2000, dims));
      ASSERT_EQ(rows.size(), 2000U);
      for (const auto& row : rows) {
        ASSERT_EQ(row.size(), static_cast<std::size_t>(dims));
        for (const double value : row) ASSERT_TRUE(value >= 0 && value <= 1);
      }
    }
  }
}

TEST(Generate, EndsSoonAfterAStop) {
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  // Minutes of work.
  EXPECT_THROW(generate({"anticorrelated", 3'000'000, 16, 1}, 1, {}, source.get_token()), CancelledError);
}

// ------------------------------------------------------------------------------------------------------------- tweets

Table tweets(std::int64_t rows, const std::string& name = "tweets", std::uint64_t seed = 1, int threads = 0) {
  return generate({name, rows, 1, seed}, threads);
}

template <class T>
std::vector<T> values(const Table& table, const char* column) {
  const ColumnData& data = table.column(column).data();
  const auto* const first = static_cast<const T*>(data.values);
  return {first, first + data.length};
}

std::size_t distinct(std::vector<std::int64_t> all) {
  std::ranges::sort(all);
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

TEST(GenerateTweets, AreTheSameForAnyNumberOfThreads) {
  for (const char* name : {"tweets", "tweets-shuffled"}) {
    const Table one = tweets(10'000, name, 5, 1);
    for (const int threads : {2, 16}) {
      const Table many = tweets(10'000, name, 5, threads);
      for (const char* column : {"id", "uid", "tweet_time"}) {
        EXPECT_EQ(values<std::int64_t>(one, column), values<std::int64_t>(many, column));
      }
      for (const char* column : {"retweet_count", "likes_count"}) {
        EXPECT_EQ(values<std::int32_t>(one, column), values<std::int32_t>(many, column));
      }
      EXPECT_EQ(values<std::int8_t>(one, "lang"), values<std::int8_t>(many, "lang"));
    }
    EXPECT_NE(values<std::int64_t>(one, "uid"), values<std::int64_t>(tweets(10'000, name, 6), "uid"));
  }
}

TEST(GenerateTweets, AreOfMayInTheOrderOfTimeOrInNone) {
  const auto times = values<std::int64_t>(tweets(100'000), "tweet_time");
  EXPECT_TRUE(std::ranges::is_sorted(times));
  for (const std::int64_t end : {times.front(), times.back()}) {
    EXPECT_GE(end, 1'493'596'800);
    EXPECT_LT(end, 1'493'596'800 + 31 * 86'400);
  }
  const auto ids = values<std::int64_t>(tweets(100'000), "id");
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  EXPECT_EQ(distinct(ids), ids.size());
  EXPECT_EQ(((ids.back() >> 22) + 1'288'834'974'657) / 1000, times.back());
  const auto shuffled = values<std::int64_t>(tweets(100'000, "tweets-shuffled"), "tweet_time");
  EXPECT_FALSE(std::ranges::is_sorted(shuffled.begin(), shuffled.begin() + 100));
}

// 10^6 draws of the law in tweets.hpp: sum over users of 1 - (1 - p)^n is 545,222 by numerical integration.
TEST(GenerateTweets, UsersFollowTheLaw) {
  const auto users = values<std::int64_t>(tweets(1'000'000, "tweets-shuffled"), "uid");
  EXPECT_NEAR(static_cast<double>(distinct(users)), 545'222, 4000);
  const auto first = static_cast<double>(std::ranges::count(users, 0));
  const auto second = static_cast<double>(std::ranges::count(users, 1));
  EXPECT_NEAR(first / second, std::exp2(0.9635), 0.05);
  EXPECT_NEAR(first, 34'206, 800);
}

TEST(GenerateTweets, CountsHaveHeavyTailsAndGoTogether) {
  const Table table = tweets(1'000'000);
  const auto retweets = values<std::int32_t>(table, "retweet_count");
  const auto likes = values<std::int32_t>(table, "likes_count");
  // P(exp(2.2 a - 1.5) < 1) = P(a < 0.6818) = 0.7523; P(b < 0.3182) = 0.6248.
  EXPECT_NEAR(static_cast<double>(std::ranges::count(retweets, 0)), 752'300, 2500);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(likes, 0)), 624'800, 2500);
  EXPECT_GT(std::ranges::max(retweets), 2000);
  std::int64_t liked = 0;
  std::int64_t retweeted = 0;
  for (std::size_t i = 0; i < retweets.size(); ++i) {
    retweeted += retweets[i] > 100 ? 1 : 0;
    liked += retweets[i] > 100 && likes[i] > 20 ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(liked), 0.95 * static_cast<double>(retweeted));
}

TEST(GenerateTweets, LanguagesHaveTheirShares) {
  const Table table = tweets(100'000);
  int english_and_spanish = 0;
  for (std::int64_t row = 0; row < table.num_rows(); ++row) {
    const auto language = table.column("lang").data().string_at(row);
    english_and_spanish += language == "en" || language == "es" ? 1 : 0;
  }
  EXPECT_NEAR(english_and_spanish, 80'000, 600);
}

TEST(GenerateTweets, MayBeEmptyAndTakeNoDims) {
  EXPECT_EQ(tweets(0).num_rows(), 0);
  EXPECT_EQ(tweets(1).num_columns(), 6);
  EXPECT_THROW(generate({"tweets", 5, 2, 1}), QueryError);
}

TEST(Generate, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Distribution& distribution : distributions()) EXPECT_TRUE(names.insert(distribution.name).second);
  for (const Distribution& table : tables_with_own_columns()) EXPECT_TRUE(names.insert(table.name).second);
  EXPECT_EQ(names.size(), 15U);
}

// Ranks of a distributed run make their own rows.
TEST(GenerateRows, AreThoseOfTheWholeTable) {
  for (const Distribution& distribution : distributions()) {
    const GeneratorSpec spec{std::string(distribution.name), 5000, 3, 7};
    const Table whole = generate(spec);
    for (const RowRange range : {RowRange{0, 5000}, RowRange{1, 3}, RowRange{2047, 4999}, RowRange{5000, 5000}}) {
      const Table part = generate_rows(spec, range);
      ASSERT_EQ(part.num_rows(), range.end - range.begin);
      for (int c = 0; c < part.num_columns(); ++c) {
        const auto expected = bits(whole, c).subspan(static_cast<std::size_t>(range.begin), bits(part, c).size());
        EXPECT_TRUE(std::ranges::equal(bits(part, c), expected)) << distribution.name;
      }
    }
  }
}

TEST(GenerateRows, OfTweets) {
  for (const Distribution& table : tables_with_own_columns()) {
    const GeneratorSpec spec{std::string(table.name), 3000, 1, 7};
    const Table whole = generate(spec);
    const Table part = generate_rows(spec, {2040, 2100});
    ASSERT_EQ(part.num_rows(), 60);
    for (int c = 0; c < whole.num_columns(); ++c) {
      for (std::int64_t row = 0; row < 60; ++row) {
        EXPECT_EQ(part.column(c).value(row), whole.column(c).value(2040 + row)) << table.name;
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::datasets

#include "datasets/generate/tweets.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/generate/random.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kTweetsOfBlock = 2048;
constexpr std::int64_t kFirstMillisecond = 1'493'596'800'000;  // 2017-05-01 00:00:00
constexpr std::int64_t kMilliseconds = std::int64_t{31} * 86'400'000;
constexpr std::int64_t kEpochOfIds = 1'288'834'974'657;
constexpr int kSequenceBits = 22;
constexpr double kUsers = 330e6;
constexpr double kExponent = 0.9635;

struct Language {
  const char* name;
  double share;
};
constexpr std::array kLanguages = {
    Language{"en", 0.55}, Language{"es", 0.25},  Language{"ja", 0.07},  Language{"pt", 0.04},
    Language{"ar", 0.03}, Language{"fr", 0.02},  Language{"tr", 0.01},  Language{"ko", 0.01},
    Language{"de", 0.01}, Language{"it", 0.005}, Language{"ru", 0.003}, Language{"und", 0.002},
};

/// Draws k = 1 to n with a probability proportional to k^-s, s not 1, by rejection-inversion: Hörmann, Derflinger,
/// "Rejection-Inversion to Generate Variates from Monotone Discrete Distributions", ACM TOMACS 6, 1996.
class Zipf {
 public:
  Zipf(double n, double s)
      : n_(n),
        s_(s),
        first_(integral(1.5) - 1),
        last_(integral(n + 0.5)),
        accepted_(2 - inverse(integral(2.5) - pow(2))) {}

  std::int64_t operator()(Stream& stream) const {
    while (true) {
      const double u = last_ + unit(stream.next()) * (first_ - last_);
      const double x = inverse(u);
      const double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
      if (k - x <= accepted_ || u >= integral(k + 0.5) - pow(k)) return static_cast<std::int64_t>(k);
    }
  }

 private:
  double pow(double k) const { return std::pow(k, -s_); }
  double integral(double x) const { return std::pow(x, 1 - s_) / (1 - s_); }  // of k^-s, but for a constant
  double inverse(double y) const { return std::pow(y * (1 - s_), 1 / (1 - s_)); }

  double n_;
  double s_;
  double first_;
  double last_;
  double accepted_;  // distance below k within which x is k for sure
};

/// Two independent draws from N(0, 1): Box, Muller, "A Note on the Generation of Random Normal Deviates", 1958.
std::pair<double, double> normals(Stream& stream) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(stream.next())));
  const double angle = 2 * std::numbers::pi * unit(stream.next());
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::int32_t count_of(double log_mean, double draw) {
  constexpr double kSpread = 2.2;
  return static_cast<std::int32_t>(std::min(std::exp(kSpread * draw + log_mean), 2e9));
}

std::int8_t language_of(double draw) {
  std::size_t language = 0;
  while (language + 1 < kLanguages.size() && draw >= kLanguages[language].share) draw -= kLanguages[language++].share;
  return static_cast<std::int8_t>(language);
}

/// Memory that nobody has written yet, so that the threads that fill it also touch it first.
template <class T>
std::shared_ptr<T[]> allocate(std::int64_t rows) {
  return std::make_shared_for_overwrite<T[]>(static_cast<std::size_t>(rows));
}

template <class T>
Column column_of(std::string name, Type type, std::int64_t rows, std::shared_ptr<T[]> values) {
  ColumnData data;
  data.type = type;
  data.length = rows;
  data.stride = sizeof(T);
  data.values = values.get();
  data.owner = std::move(values);
  return {std::move(name), std::move(data)};
}

Column languages_of(std::int64_t rows, std::shared_ptr<std::int8_t[]> codes) {
  std::vector<std::string> names;
  for (const Language& language : kLanguages) names.emplace_back(language.name);
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.index_type = Type::int8;
  data.length = rows;
  data.stride = 1;
  data.values = codes.get();
  data.dictionary = std::make_shared<const ColumnData>(Column::own("", names).data());
  data.owner = std::move(codes);
  return {"lang", std::move(data)};
}

/// The columns in the making.
class Tweets {
 public:
  Tweets(const TweetTable& whole, RowRange rows) : whole_(whole), first_(rows.begin), count_(rows.end - rows.begin) {}

  void fill(std::int64_t begin, std::int64_t end) {
    static const Zipf kUser(kUsers, kExponent);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t place = row - first_;
      Stream stream(whole_.seed, row);
      const std::int64_t time = kFirstMillisecond + millisecond(row, unit(stream.next()));
      id_[place] = (time - kEpochOfIds) << kSequenceBits | (row & ((1 << kSequenceBits) - 1));
      time_[place] = time / 1000;
      const auto [a, other] = normals(stream);
      retweets_[place] = count_of(-1.5, a);
      likes_[place] = count_of(-0.7, 0.95 * a + 0.312 * other);
      language_[place] = language_of(unit(stream.next()));
      user_[place] = kUser(stream) - 1;
    }
  }

  Table table() && {
    return Table(
        {column_of("id", Type::int64, count_, std::move(id_)), column_of("uid", Type::int64, count_, std::move(user_)),
         column_of("tweet_time", Type::int64, count_, std::move(time_)),
         column_of("retweet_count", Type::int32, count_, std::move(retweets_)),
         column_of("likes_count", Type::int32, count_, std::move(likes_)), languages_of(count_, std::move(language_))});
  }

 private:
  std::int64_t millisecond(std::int64_t row, double draw) const {
    const double place =
        whole_.order == TweetOrder::time ? (static_cast<double>(row) + draw) / static_cast<double>(whole_.rows) : draw;
    return std::min(static_cast<std::int64_t>(place * static_cast<double>(kMilliseconds)), kMilliseconds - 1);
  }

  TweetTable whole_;
  std::int64_t first_;
  std::int64_t count_;
  std::shared_ptr<std::int64_t[]> id_ = allocate<std::int64_t>(count_);
  std::shared_ptr<std::int64_t[]> user_ = allocate<std::int64_t>(count_);
  std::shared_ptr<std::int64_t[]> time_ = allocate<std::int64_t>(count_);
  std::shared_ptr<std::int32_t[]> retweets_ = allocate<std::int32_t>(count_);
  std::shared_ptr<std::int32_t[]> likes_ = allocate<std::int32_t>(count_);
  std::shared_ptr<std::int8_t[]> language_ = allocate<std::int8_t>(count_);
};

}  // namespace

Table generate_tweets(const TweetTable& whole, RowRange rows, const std::stop_token& stop) {
  constexpr std::int64_t kMaxRows = std::int64_t{1} << 56;
  try {
    if (whole.rows > kMaxRows) throw std::bad_alloc();
    Tweets tweets(whole, rows);
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(rows.begin, rows.end, kTweetsOfBlock), [&](const auto& block) {
      if (stop.stop_requested()) throw CancelledError("generating was cancelled");
      tweets.fill(block.begin(), block.end());
    });
    return std::move(tweets).table();
  } catch (const std::bad_alloc&) {
    throw ResourceError("no memory for a generated table of " + std::to_string(rows.end - rows.begin) + " tweets");
  }
}

}  // namespace skyrank::datasets

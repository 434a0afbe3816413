#pragma once

#include <cstdint>
#include <stop_token>

#include <skyrank/partial.hpp>
#include <skyrank/table.hpp>

namespace skyrank::datasets {

/// The order of the rows of a generated table of tweets.
enum class TweetOrder : std::uint8_t { time, shuffled };

/// The settings of a generated table of tweets.
struct TweetTable {
  std::int64_t rows = 0;
  TweetOrder order = TweetOrder::time;
  std::uint64_t seed = 0;
};

/// Makes rows of a table like the 250 million tweets of May 2017 in Shanbhag, Pirk, Madden, "Efficient Top-K Query
/// Processing on Massively Parallel Hardware", SIGMOD 2018, section 6.8:
///   id             int64, the time in milliseconds since 2010-11-04 01:42:54.657 * 2^22 + row mod 2^22
///   uid            int64, 0 to 330 million, user k with a probability proportional to (k + 1)^-0.9635: of 250 million
///                  tweets, 57 million have users of their own, and of 20 million, 7.5 million
///   tweet_time     int64, seconds since 1970, in May 2017: ascending, or in any order
///   retweet_count  int32, max(0, floor(exp(2.2 a - 1.5))) for a from N(0, 1): most tweets have none
///   likes_count    int32, max(0, floor(exp(2.2 b - 0.7))) for b from N(0, 1), of which a explains nine tenths
///   lang           one of twelve languages as a dictionary, of which en (55 %) and es (25 %) are 80 %
/// A row depends on the seed, its own number and, in the order of time, the number of rows (0 or more) alone.
/// ResourceError when there is not enough memory, CancelledError soon after a stop is requested. Call it in a task
/// arena.
Table generate_tweets(const TweetTable& whole, RowRange rows, const std::stop_token& stop);

}  // namespace skyrank::datasets

#pragma once

#include <span>
#include <stop_token>
#include <string_view>

#include <skyrank/batch.hpp>
#include <skyrank/error.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/table.hpp>

// Generated tables: points of the distributions that papers on skylines and top-k queries use.
namespace skyrank::datasets {

struct Distribution {
  std::string_view name;
  std::string_view summary;  ///< one line
};

/// Returns the distributions that `generate` knows.
std::span<const Distribution> distributions();

/// Returns the tables that `generate` knows besides, which have columns of their own instead of `spec.dims` equal ones
/// (tweets.hpp).
std::span<const Distribution> tables_with_own_columns();

/// Makes a table of `spec.rows` rows (0 or more) and `spec.dims` columns c0, c1, ... (1 to 64). A row depends on the
/// distribution, dims, seed and its own number alone (for increasing, decreasing, bucket-killer and crowded-bucket also
/// on the number of rows), not on `threads` (0: all cores the process may use): a longer table begins with the rows of
/// a shorter one.
///
/// Three distributions are those of the classic skyline generator: Börzsönyi, Kossmann, Stocker, "The Skyline
/// Operator", ICDE 2001, in the form of the authors' program as H. Eder published it (randdataset). Columns are
/// float32. With U(a, b) uniform, P(m) the mean of m draws of U(0, 1), and N(c, r) = c - r + 2r P(12), a row x of d
/// coordinates is drawn anew until all of it lies in [0, 1]:
///   independent     x_i = U(0, 1)
///   correlated      v = P(d), l = min(v, 1 - v), h_i = N(0, l),   x_i = v + h_i - h_(i-1 mod d)
///   anticorrelated  v = N(0.5, 0.25), l likewise, h_i = U(-l, l), x_i = v + h_i - h_(i-1 mod d)
/// A row of anticorrelated data takes 2.4 tries on average for d = 4, 5.7 for 8, 13 for 12, 32 for 16, and would take
/// most of a million for 64. From d = 17 on, h_i is drawn anew as long as x_i falls outside, and the row only when x_0
/// does.
///
/// The others, for top-k, have independent columns:
///   uniform         float32, U(0, 1)
///   normal          uint32, the normal distribution of mean 1e8 and standard deviation 10, rounded
///   increasing      float32, ascending; U(0, 1) within each of n equal strata
///   decreasing      the same, descending
///   bucket-killer   float32, all 1 but 4 rows that each differ in another 8-bit digit, so that a radix pass discards
///                   one row only: Shanbhag, Pirk, Madden, "Efficient Top-K Query Processing on Massively Parallel
///                   Hardware", SIGMOD 2018, section 6.4
///   crowded-bucket  uint32, all 0 but 1,020 rows (of few rows, half): for each 8-bit digit, every other value of it
///                   occurs once below digits that are 0, so that a bucket select of 256 buckets goes all the way and
///                   each pass leaves nearly all rows in the bucket of the least. The customised distribution (CD) of
///                   Gaihre et al., "Dr. Top-k", SC 2021, section 6, which looks for the greatest
///   all-equal       float32, all 0.5
///   few-distinct    float32, 16 values, equally likely
///   nan-heavy       float32, half NaN (of both signs), half U(0, 1)
///   zipf            uint32, 1 to 65,536, the value k with a probability proportional to 1 / k
///
/// Random numbers: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), one
/// stream a row, its state the mixed hash of seed and row. The 12 draws within N have 16 bits each.
///
/// BindError with the nearest name for an unknown distribution, QueryError for rows or dims out of range, or dims for a
/// table that has columns of its own (all at `where`), ResourceError when there is not enough memory, CancelledError
/// soon after a stop is requested.
Table generate(const GeneratorSpec& spec, int threads = 0, const Location& where = {},
               const std::stop_token& stop = {});

/// Makes the rows of a range within [0, spec.rows) as they are in the table that generate() makes. Throws as it does.
Table generate_rows(const GeneratorSpec& spec, RowRange rows, int threads = 0, const Location& where = {},
                    const std::stop_token& stop = {});

}  // namespace skyrank::datasets

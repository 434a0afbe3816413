#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/topk/block/guess.cuh"
#include "tests/kernels/cuda/segments.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// One top-k selection for each of many segments, against the oracle.
namespace skyrank::kernels::tests {
namespace {

/// The answer of the oracle for rows [offsets[i], offsets[i + 1]) after one another, each filled up with -1.
std::vector<RowId> expected(const Values& keys, KeyWidth width, const std::vector<std::size_t>& offsets, std::size_t k,
                            TieRule ties) {
  std::vector<RowId> rows;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]);
    const std::size_t size = offsets[i + 1] - offsets[i];
    std::vector<RowId> best;
    if (size > 0) best = oracle::topk(TopKCase(size, {Values(begin, end)}, {width}).problem(k, ties));
    for (RowId& row : best) row += static_cast<RowId>(offsets[i]);
    best.resize(k, -1);
    rows.insert(rows.end(), best.begin(), best.end());
  }
  return rows;
}

template <class E>
void expect_least(const Values& keys, const std::vector<std::size_t>& offsets, bool equal, std::size_t k) {
  using Key = typename E::Key;
  using Element = typename E::Element;
  const KeyWidth width = sizeof(Key) == 4 ? KeyWidth::bytes4 : KeyWidth::bytes8;
  for (const TieRule ties : {TieRule::first, TieRule::last}) {
    const Element complement = ties == TieRule::last ? E::kRowMask : Element{0};
    const std::vector<RowId> found = least_on_device<E>(narrowed<Key>(keys), offsets, equal, k, complement);
    EXPECT_EQ(found, expected(keys, width, offsets, k, ties)) << k << " of segments of " << offsets[1];
  }
}

TEST(BatchedTopK, EveryLengthAndK) {
  for (const std::size_t rows : {1, 3, 33, 1000, 8193}) {
    const Values keys = make_columns(Distribution::independent, 5 * rows, 1, KeyWidth::bytes4, rows).front();
    for (const std::size_t k : {std::size_t{1}, std::size_t{31}, std::size_t{700}}) {
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(5, rows), true, k);
    }
    expect_least<cuda::topk::LongElements>(keys, equal_offsets(5, rows), true, 40);
    expect_least<cuda::topk::ManyElements>(keys, equal_offsets(5, rows), true, 40);
  }
}

TEST(BatchedTopK, EveryDistributionWithAndWithoutASample) {
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    for (const std::size_t rows : {9000, 33'000}) {
      const Values keys = make_columns(distribution, 2 * rows, 1, KeyWidth::bytes8, 1).front();
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(2, rows), true, 32);
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(2, rows), true,
                                             cuda::topk::kMaxOfSegment<cuda::topk::LongElements>);
    }
  }
}

TEST(BatchedTopK, SegmentsOfManyLengths) {
  std::mt19937_64 engine(3);
  std::vector<std::size_t> offsets{0};
  for (const std::size_t rows : {5, 0, 1, 40'000, 17, 4096, 0}) offsets.push_back(offsets.back() + rows);
  Values keys(offsets.back());
  for (std::uint64_t& key : keys) key = engine() % 50'000;
  for (const std::size_t k : {1, 16, 60, 2000}) expect_least<cuda::topk::ShortElements>(keys, offsets, false, k);
}

// More good rows than there is room for, over and over again: each tile is better than all before.
TEST(BatchedTopK, DescendingKeys) {
  Values keys(50'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = keys.size() - i;
  expect_least<cuda::topk::ShortElements>(keys, equal_offsets(1, keys.size()), true, 2048);
  expect_least<cuda::topk::LongElements>(keys, equal_offsets(2, keys.size() / 2), true, 1000);
}

// Only sampled rows are good ones, so that the threshold lets too few through.
TEST(BatchedTopK, ASegmentWhoseThresholdLetsTooFewThrough) {
  constexpr std::size_t kRows = 40'000;
  for (const std::size_t sampled : {256, 512, 1024}) {
    Values keys(kRows, 1);
    for (std::size_t i = 0; i < sampled; ++i) keys[cuda::topk::sampled_place(i, sampled, kRows)] = 0;
    expect_least<cuda::topk::ShortElements>(keys, equal_offsets(1, kRows), true, sampled * 3 / 4);
  }
}

// The best of each lane's rows are spread in every way: all with one lane, or the same to each.
TEST(BatchedTopK, SegmentsOfAWarp) {
  for (const std::size_t rows : {1, 31, 1000, 1024, 2048}) {
    for (const Distribution distribution : kDistributions) {
      SCOPED_TRACE(name_of(distribution));
      const Values keys = make_columns(distribution, 3 * rows, 1, KeyWidth::bytes8, rows).front();
      for (const std::size_t k : {1, 16, 32, 100, 256}) {
        expect_least<cuda::topk::ShortElements>(keys, equal_offsets(3, rows), true, k);
        expect_least<cuda::topk::LongElements>(keys, equal_offsets(3, rows), true, k);
      }
    }
  }
  Values one_lane(2048);
  for (std::size_t i = 0; i < one_lane.size(); ++i) one_lane[i] = i / 4 % 32 == 5 ? one_lane.size() - i : 100'000 + i;
  expect_least<cuda::topk::ShortElements>(one_lane, equal_offsets(1, one_lane.size()), true, 16);
  Values descending(2048);
  for (std::size_t i = 0; i < descending.size(); ++i) descending[i] = descending.size() - i;
  for (const std::size_t k : {1, 16}) {
    expect_least<cuda::topk::ShortElements>(descending, equal_offsets(1, descending.size()), true, k);
    expect_least<cuda::topk::ManyElements>(descending, equal_offsets(1, descending.size()), true, k);
  }
}

// As many as the emulated device holds warps.
TEST(BatchedTopK, LongSegmentsThatFillADevice) {
  constexpr std::size_t kRows = 16'500;
  constexpr std::size_t kCount = 120;
  const Values keys = make_columns(Distribution::independent, kCount * kRows, 1, KeyWidth::bytes4, 1).front();
  expect_least<cuda::topk::ShortElements>(keys, equal_offsets(kCount, kRows), true, 20);
}

// A warp that searches for bounds: every tile is better than those before, nearly all keys are one, most are far from
// the rest, the wanted rows are as many as are sorted, or as there are.
TEST(BatchedTopK, SegmentsWhoseBoundIsSearchedFor) {
  for (const std::size_t rows : {200, 256, 3000, 9001}) {
    Values descending(2 * rows);
    Values nearly_one(2 * rows, 7);
    Values far(2 * rows);
    for (std::size_t i = 0; i < descending.size(); ++i) {
      descending[i] = descending.size() - i;
      if (i % 97 == 5) nearly_one[i] = i % 3;
      far[i] = i % 50 == 0 ? i : 0xfffffff0u - i % 7;
    }
    for (const Values& keys : {descending, nearly_one, far}) {
      for (const std::size_t k : {33, 64, 102, 103, 200, 256}) {
        expect_least<cuda::topk::ShortElements>(keys, equal_offsets(2, rows), true, k);
      }
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(2, rows), true, 100);
      expect_least<cuda::topk::ManyElements>(keys, equal_offsets(2, rows), true, 40);
    }
  }
}

/// Rows in every order that makes a block's bound come closer slowly, and keys that are far from even.
std::vector<Values> rows_for_running_bounds(std::size_t n) {
  std::mt19937_64 engine(n);
  std::vector<Values> all(9, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t random = engine();
    all[0][i] = i;
    all[1][i] = n - i;
    all[2][i] = 7;
    all[3][i] = random % 16;
    all[4][i] = random % 1000 << 12;
    // All but a few are close together and far from the least one.
    all[5][i] = i == n / 2 ? 0 : 0xf0000000u + random % 5000;
    // Nearly all are the greatest there is.
    all[6][i] = random % 50 == 0 ? random % 3 : ~std::uint64_t{0};
    // Each is half as far from zero as others.
    all[7][i] = std::uint64_t{0xffffffffu} >> random % 32;
    all[8][i] = random;
  }
  return all;
}

TEST(BatchedTopK, BlocksWhoseBoundComesCloser) {
  for (const std::size_t rows : {1, 511, 513, 4096, 4097, 20'001}) {
    for (const Values& keys : rows_for_running_bounds(2 * rows)) {
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(2, rows), true, 65);
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(2, rows), true, 1024);
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(2, rows), true, 2048);
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(2, rows), true, 300);
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(2, rows), true, 1024);
      expect_least<cuda::topk::ManyElements>(keys, equal_offsets(2, rows), true, 1000);
    }
  }
}

// A block with a large sample: rows in every order and keys that are far from even, at every offset from 16 bytes, with
// rows that are in no whole tile; and where the sample keeps too few, or too many.
TEST(BatchedTopK, LongSegmentsWithALargeSample) {
  for (const std::size_t rows : {32'768, 33'333}) {
    for (const Values& keys : rows_for_running_bounds(3 * rows)) {
      for (const std::size_t k : {1, 10, 33, 100, 256, 700, 1024}) {
        expect_least<cuda::topk::ShortElements>(keys, equal_offsets(3, rows), true, k);
      }
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(3, rows), true, 1024);
    }
  }
  const Values keys = rows_for_running_bounds(70'001).back();
  expect_least<cuda::topk::ShortElements>(keys, equal_offsets(1, 70'001), true, 2048);
  expect_least<cuda::topk::ManyElements>(keys, equal_offsets(1, 70'001), true, 1000);
}

TEST(BatchedTopK, LongAndShortSegmentsTogether) {
  std::mt19937_64 engine(5);
  std::vector<std::size_t> offsets{0};
  for (const std::size_t rows : {33'001, 0, 40'003, 20'000, 100, 32'767, 65'536}) {
    offsets.push_back(offsets.back() + rows);
  }
  Values keys(offsets.back());
  for (std::uint64_t& key : keys) key = engine() % 100'000;
  for (const std::size_t k : {70, 128, 300, 1500}) expect_least<cuda::topk::ShortElements>(keys, offsets, false, k);
  expect_least<cuda::topk::LongElements>(keys, offsets, false, 900);
}

// Bins by keys and rows: nearly all rows have one key; a key of many rows beside few others; the least far from the
// rest; keys that get further apart as they rise; and more rows in a bin than are ranked in it.
TEST(BatchedTopK, LongSegmentsOfUnevenKeys) {
  constexpr std::size_t kRows = 65'536;
  std::mt19937_64 engine(9);
  std::vector<Values> all(6, Values(kRows));
  std::normal_distribution<double> near(1e8, 10);
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::uint64_t random = engine();
    all[0][i] = i % 16'000 == 77 ? i : 0x80000000u;
    all[1][i] = i % 16'000 == 77 ? 0xf0000000u + i : 0x80000000u;
    all[2][i] = static_cast<std::uint64_t>(near(engine));
    all[3][i] = i == 0 ? 0 : 0x3f800000u + i;
    all[4][i] = std::uint64_t{1} << i / 2100 | i % 2100;
    all[5][i] = random % 64 == 0 ? 10 + random / 64 % 2 : 0x10000000u + random % 0x40000000u;
  }
  for (const Values& keys : all) {
    for (const std::size_t k : {32, 1024}) {
      expect_least<cuda::topk::ShortElements>(keys, equal_offsets(1, kRows), true, k);
      expect_least<cuda::topk::LongElements>(keys, equal_offsets(1, kRows), true, k);
    }
    expect_least<cuda::topk::ShortElements>(keys, equal_offsets(1, kRows), true, 2048);
    expect_least<cuda::topk::ManyElements>(keys, equal_offsets(1, kRows), true, 1024);
  }
}

/// Only sampled rows are good ones, or bad ones: `neighbours` at each of 256 places.
template <class E>
void expect_least_where_samples_mislead(std::size_t rows, std::size_t neighbours, std::size_t k) {
  constexpr std::size_t kPlaces = 256;
  Values best_are_sampled(rows);
  Values worst_are_sampled(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    best_are_sampled[i] = 100'000 + i;
    worst_are_sampled[i] = rows - i;
  }
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const std::size_t place = neighbours * cuda::topk::sampled_place(i, kPlaces, rows / neighbours);
    for (std::size_t j = 0; j < neighbours; ++j) {
      best_are_sampled[place + j] = i;
      worst_are_sampled[place + j] = 100'000 + i;
    }
  }
  expect_least<E>(best_are_sampled, equal_offsets(1, rows), true, k);
  expect_least<E>(worst_are_sampled, equal_offsets(1, rows), true, k);
}

TEST(BatchedTopK, SamplesThatAreOfNoUse) {
  for (const std::size_t k : {100, 300, 1000}) {
    for (const std::size_t rows : {20'000, 40'000, 65'536}) {
      expect_least_where_samples_mislead<cuda::topk::ShortElements>(rows, 8, k);
    }
  }
  expect_least_where_samples_mislead<cuda::topk::ShortElements>(65'536, 8, 2048);
  expect_least_where_samples_mislead<cuda::topk::LongElements>(40'000, 4, 300);
  expect_least_where_samples_mislead<cuda::topk::LongElements>(65'536, 8, 1024);
  expect_least_where_samples_mislead<cuda::topk::ManyElements>(65'536, 8, 1024);
}

}  // namespace
}  // namespace skyrank::kernels::tests

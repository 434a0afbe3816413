#include "engine/operators/rank/rank.hpp"

#include <limits>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using kernels::KeyWidth;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Window, EndsWithinTheSegment) {
  EXPECT_EQ((Window{0, 3}.end(10)), 3);
  EXPECT_EQ((Window{2, 3}.end(10)), 5);
  EXPECT_EQ((Window{2, std::nullopt}.end(10)), 10);
  EXPECT_EQ((Window{8, 3}.end(10)), 10);
  EXPECT_EQ((Window{kHuge, kHuge}.end(10)), 10);
  EXPECT_EQ((Window{1, kHuge}.end(10)), 10);
}

TEST(Cut, TakesTheWindowOfEachSegment) {
  const Segments segments{{0, 3, 4}, {0, 2, 3, 1}};
  EXPECT_EQ(cut(Window{1, 1}, segments), (Ids{2}));
  EXPECT_EQ(cut(Window{0, 2}, segments), (Ids{0, 2, 1}));
  EXPECT_EQ(cut(Window{0, 0}, segments), (Ids{}));
  EXPECT_EQ(cut(Window{5, std::nullopt}, segments), (Ids{}));
  EXPECT_EQ(cut(Window{}, one_segment(2)), (Ids{0, 1}));
}

TEST(PackedWidths, NeighboursShareAKeyWhereTheyFit) {
  using Widths = std::vector<KeyWidth>;
  EXPECT_EQ(packed_widths({KeyWidth::bytes4, KeyWidth::bytes4}), (Widths{KeyWidth::bytes8}));
  EXPECT_EQ(packed_widths({KeyWidth::bytes1, KeyWidth::bytes2}), (Widths{KeyWidth::bytes4}));
  EXPECT_EQ(packed_widths({KeyWidth::bytes8, KeyWidth::bytes1, KeyWidth::bytes1}),
            (Widths{KeyWidth::bytes8, KeyWidth::bytes2}));
  EXPECT_EQ(packed_widths({KeyWidth::bytes2}), (Widths{KeyWidth::bytes2}));
}

}  // namespace
}  // namespace skyrank::exec

#include "engine/query/places.hpp"

#include <gtest/gtest.h>

#include <string>

#include "engine/query/utf8.hpp"

namespace skyrank::query {
namespace {

TEST(Places, CountCharactersAndLines) {
  const std::string text = "aü€😀b\n\nx";
  const Places places(text, {"file", 1, 1});
  EXPECT_EQ(places.at(0), (Location{"file", 1, 1}));
  EXPECT_EQ(places.at(1), (Location{"file", 1, 2}));            // ü, 2 bytes
  EXPECT_EQ(places.at(3), (Location{"file", 1, 3}));            // €, 3 bytes
  EXPECT_EQ(places.at(6), (Location{"file", 1, 4}));            // 😀, 4 bytes
  EXPECT_EQ(places.at(10), (Location{"file", 1, 5}));           // b
  EXPECT_EQ(places.at(12), (Location{"file", 2, 1}));           // the empty line
  EXPECT_EQ(places.at(13), (Location{"file", 3, 1}));           // x
  EXPECT_EQ(places.at(text.size()), (Location{"file", 3, 2}));  // the end
}

TEST(Places, StartAtTheOrigin) {
  const Places places("ab\nc", {"file", 5, 7});
  EXPECT_EQ(places.at(1), (Location{"file", 5, 8}));
  EXPECT_EQ(places.at(3), (Location{"file", 6, 1}));
}

TEST(Places, AgreeWithCountingFromTheStart) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 37 == 0 ? "\n" : i % 5 == 0 ? "é" : "x";
  const Places places(text, {"", 1, 1});
  std::int64_t line = 1;
  std::int64_t column = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    ASSERT_EQ(places.at(i), (Location{"", line, column})) << i;
    line += text[i] == '\n' ? 1 : 0;
    column = text[i] == '\n' ? 1 : column + 1;
  }
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("a\x7F"
                              "ü€😀\U0010FFFF"),
            std::nullopt);
  EXPECT_EQ(find_invalid_utf8("ab\x80"), 2u);            // a continuation byte alone
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("a\xE0\x80\x80"), 1u);     // overlong
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\xF5\x80\x80\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("ok\xE2\x82"), 2u);  // cut off
  EXPECT_EQ(find_invalid_utf8("ok\xE2\x82z"), 2u);
  EXPECT_EQ(find_invalid_utf8("\xFF"), 0u);
}

}  // namespace
}  // namespace skyrank::query

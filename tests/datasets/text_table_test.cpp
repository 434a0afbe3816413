#include "datasets/write/display.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

std::string text_of(const Table& table, const TextOptions& options = {}) {
  std::ostringstream out;
  write_text(table, out, options);
  return out.str();
}

TEST(TextTable, NumbersRightTextLeftNullSpelled) {
  const Table table({Column::own("name", std::vector<std::string>{"Fjord", "Å", "x"}, {true, true, false}),
                     Column::own("price", std::vector<std::int64_t>{5, -12345678, 0}, {true, true, false}),
                     Column::own("d", std::vector<Date>{{0}, {1}, {2}}),
                     Column::own("ok", std::vector<bool>{true, false, true})});
  EXPECT_EQ(text_of(table),
            "name       price  d           ok\n"
            "-----  ---------  ----------  -----\n"
            "Fjord          5  1970-01-01  true\n"
            "Å      -12345678  1970-01-02  false\n"
            "NULL        NULL  1970-01-03  true\n");
}

TEST(TextTable, EmptyTablesShowTheirColumns) {
  EXPECT_EQ(text_of(Table({Column::own("abc", std::vector<std::int64_t>{})})), "abc\n---\n");
}

TEST(TextTable, SaysHowManyRowsAreLeftOut) {
  const Table table({Column::own("n", std::vector<std::int64_t>{1, 2, 30000})});
  EXPECT_EQ(text_of(table, {.max_rows = 2}), "    n\n-----\n    1\n(1 row left out)\n30000\n");
  EXPECT_EQ(text_of(table, {.max_rows = 0}), "n\n-\n(3 rows left out)\n");
}

TEST(TextTable, LongTextIsCutAndControlCharactersAreEscaped) {
  const Table table({Column::own("s", std::vector<std::string>{"abcdefgh", "a\nb\x1b[31m", "日本語日本語"}),
                     Column::own("t", std::vector<std::string>{"1", "2", "3"})});
  EXPECT_EQ(text_of(table, {.max_cell_width = 6}),
            "s       t\n"
            "------  -\n"
            "abcde…  1\n"
            "a\\nb\\…  2\n"
            "日本…   3\n");
}

TEST(Display, Width) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("Ærø"), 3);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("한"), 2);
  EXPECT_EQ(display_width("🏨"), 2);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);  // e with a combining acute accent
}

TEST(Display, PrintableTextHasNoControlCharactersAndIsUtf8) {
  EXPECT_EQ(printable("a\tb\r\n\x01\x7F"), "a\\tb\\r\\n\\x01\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\x9b31m");  // the one-character form of ESC [
  EXPECT_EQ(printable("ok ø"), "ok ø");
  EXPECT_EQ(printable("a\xFF"
                      "b\xE2\x82"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(printable("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
}

TEST(Display, Truncate) {
  EXPECT_EQ(truncate("abc", 3), "abc");
  EXPECT_EQ(truncate("abcd", 3), "ab…");
  EXPECT_EQ(truncate("日本", 3), "日…");
  EXPECT_EQ(truncate("日本", 2), "…");
  EXPECT_EQ(truncate("ab", 1), "…");
}

}  // namespace
}  // namespace skyrank::datasets

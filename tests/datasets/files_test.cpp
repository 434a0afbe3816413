#include "datasets/input/files.hpp"

#include <sys/resource.h>

#include "tests/build.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Files, FormatGoesByTheExtension) {
  EXPECT_EQ(format_of("a.csv"), Format::csv);
  EXPECT_EQ(format_of("dir.parquet/A.CSV"), Format::csv);
  EXPECT_EQ(format_of("a.b.tsv"), Format::tsv);
  EXPECT_EQ(format_of("a.parquet"), Format::parquet);
  for (const char* name : {"a.arrow", "a.feather", "a.ipc"}) EXPECT_EQ(format_of(name), Format::arrow);
  EXPECT_THAT(error_of<DataError>([] { format_of("photo.jpeg"); }),
              AllOf(HasSubstr("photo.jpeg"), HasSubstr("'.jpeg'"), HasSubstr(".parquet")));
  EXPECT_THAT(error_of<DataError>([] { format_of("data"); }), HasSubstr("names no format"));
}

TEST(Files, OutputFormatsByName) {
  for (const Format format : {Format::csv, Format::jsonl, Format::parquet, Format::arrow}) {
    EXPECT_EQ(parse_output_format(to_string(format)), format);
  }
  EXPECT_THAT(error_of<QueryError>([] { parse_output_format("tsv"); }),
              HasSubstr("did you mean 'csv'? (formats are csv, jsonl, parquet, arrow)"));
}

TEST(Files, GlobsAreSortedAndRelativeToTheBase) {
  const TemporaryFolder folder;
  for (const char* name : {"b.csv", "a.csv", "a10.csv", "c.txt"}) folder.write(name, "");
  EXPECT_THAT(expand_files({"*.csv"}, folder.path()),
              ElementsAre(folder / "a.csv", folder / "a10.csv", folder / "b.csv"));
  EXPECT_THAT(expand_files({"c.txt", "a?0.csv", "[b]*"}, folder.path()),
              ElementsAre(folder / "c.txt", folder / "a10.csv", folder / "b.csv"));
  EXPECT_THAT(expand_files({(folder / "a*.csv").string()}, "/nowhere"),
              ElementsAre(folder / "a.csv", folder / "a10.csv"));
}

TEST(Files, NamesWithWildcardCharacters) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "x[1]");
  folder.write("x[1]/a*b.csv", "");
  folder.write("x[1]/aab.csv", "");
  EXPECT_THAT(expand_files({"a*b.csv"}, folder / "x[1]"), ElementsAre(folder / "x[1]/a*b.csv"));
  EXPECT_THAT(expand_files({"a?b.csv"}, folder / "x[1]"),
              ElementsAre(folder / "x[1]/a*b.csv", folder / "x[1]/aab.csv"));
}

TEST(Files, NothingFoundIsAnErrorAtThePlaceInTheBatch) {
  const TemporaryFolder folder;
  folder.write("a.csv", "");
  const Location where{"batch.yaml", 3, 12};
  const auto refusal = [&](const std::vector<std::string>& patterns) {
    return error_of<DataError>([&] { expand_files(patterns, folder.path(), where); });
  };
  EXPECT_THAT(refusal({"*.tsv"}),
              AllOf(StartsWith("batch.yaml:3:12"), HasSubstr("no file matches"), HasSubstr("*.tsv")));
  EXPECT_THAT(refusal({"b.csv"}),
              AllOf(StartsWith("batch.yaml:3:12"), HasSubstr("there is no file"), HasSubstr("b.csv")));
  EXPECT_THAT(refusal({"a.csv", "*.csv"}), HasSubstr("named twice"));
  EXPECT_THAT(refusal({}), HasSubstr("no file is named"));
  EXPECT_THAT(refusal({""}), HasSubstr("empty"));
}

TEST(Files, OffersTheFileThatWasMeant) {
  const TemporaryFolder folder;
  for (const char* name : {"hotels.csv", "tweets.parquet", "ab.csv"}) folder.write(name, "");
  const auto refusal = [&](const std::string& name) {
    return error_of<DataError>([&] { expand_files({name}, folder.path()); });
  };
  const auto offers = [&](const std::string& name) {
    return HasSubstr("; did you mean '" + (folder.path() / name).string() + "'?");
  };
  EXPECT_THAT(refusal("hotel.csv"), offers("hotels.csv"));
  EXPECT_THAT(refusal("hotels.cvs"), offers("hotels.csv"));
  EXPECT_THAT(refusal("tweets.csv"), offers("tweets.parquet"));
  EXPECT_THAT(refusal("xy.csv"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(refusal("none/hotels.csv"), Not(HasSubstr("did you mean")));
  std::filesystem::create_symlink("gone.csv", folder / "link.csv");
  EXPECT_THAT(refusal("link.csv"), HasSubstr("; the link of this name leads to 'gone.csv', which does not exist"));
}

TEST(Files, LinksThatLeadInCirclesAreFollowedOnce) {
  const TemporaryFolder folder;
  for (const char* name : {"t/a", "t/b", "u"}) std::filesystem::create_directories(folder / name);
  folder.write("t/a/1.csv", "");
  folder.write("t/b/2.csv", "");
  folder.write("u/3.csv", "");
  std::filesystem::create_symlink("..", folder / "t/a/up");
  std::filesystem::create_symlink("../b", folder / "t/a/other");
  std::filesystem::create_symlink("../a", folder / "t/b/other");
  std::filesystem::create_symlink("../u", folder / "t/u");
  EXPECT_THAT(expand_files({"t"}, folder.path()),
              ElementsAre(folder / "t/a/1.csv", folder / "t/a/other/2.csv", folder / "t/b/2.csv",
                          folder / "t/b/other/1.csv", folder / "t/u/3.csv"));
}

TEST(Files, AFolderThatCannotBeOpenedIsNoFolderWithoutMatches) {
  if (skyrank::tests::kSanitized) GTEST_SKIP() << "sanitizers need file descriptors of their own";
  const TemporaryFolder folder;
  folder.write("a.csv", "");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string refusal = error_of<DataError>([&] {
    expand_files({"*.csv"}, folder.path(), {"batch.yaml", 3, 12});
  });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refusal,
            "batch.yaml:3:12: cannot look for files like '" + (folder / "*.csv").string() + "': Too many open files");
}

}  // namespace
}  // namespace skyrank::datasets

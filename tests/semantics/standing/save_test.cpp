#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/standing.hpp>

#include "engine/standing/saved_file.hpp"
#include "tests/build.hpp"

// Tests of saved standing queries; histories_test.cpp loads them between the calls of every kind of query.
namespace skyrank {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const Engine& saving_engine() {
  static const Engine two({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  return two;
}

/// A folder that is removed at the end, and the name of a file in it.
class StandingSave : public testing::Test {
 protected:
  StandingSave() {
    std::string name = (std::filesystem::temp_directory_path() / "standing-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ / "best.standing";
  }
  ~StandingSave() override { std::filesystem::remove_all(folder_); }

  std::string content() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

Table offers(std::vector<double> price, const std::vector<std::string>& name) {
  return Table({Column::own("price", std::move(price)), Column::own("name", name)});
}

Query cheapest(std::int64_t limit = 2) {
  Query query = Query::from("offers");
  query.rank_by({low("price")}).limit(limit).select({"row", "name"});
  return query;
}

StandingQuery loaded(const std::filesystem::path& file, const Query& query, const StandingOptions& options = {}) {
  return StandingQuery::load(saving_engine(), file, query, offers({}, {}), options);
}

/// Returns the message with which a file is refused.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "it is taken";
  return "";
}

/// Puts the checksum right after bytes were changed.
std::string with_checksum(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  exec::Checksum checksum;
  checksum.add(std::as_bytes(std::span(bytes)));
  const std::uint64_t value = checksum.value();
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return bytes;
}

TEST_F(StandingSave, GoesOnWhereItWas) {
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}));
  best.insert(offers({3, 1, 2, 5}, {"c", "a", "b", "e"}));
  best.erase(std::vector<RowId>{1, 3});
  best.save(file_);
  StandingQuery again = loaded(file_, cheapest());
  EXPECT_EQ(again.next_id(), 4);
  EXPECT_EQ(again.num_rows(), 2);
  EXPECT_THAT(again.answer()->rows, ElementsAre(2, 0));
  EXPECT_EQ(again.answer()->table.column("name").value(0), Value(std::string("b")));
  EXPECT_EQ(again.insert(offers({1}, {"a"})), (Changes{{4}, {0}}));
  EXPECT_THROW(again.erase(std::vector<RowId>{1}), DataError);
  EXPECT_EQ(again.update(std::vector<RowId>{0}, offers({0}, {"z"})), (Changes{{0}, {2}}));
  EXPECT_THAT(best.answer()->rows, ElementsAre(2, 0));
}

TEST_F(StandingSave, TheWindowStaysWhereItWas) {
  const StandingOptions last_two{.window = RowWindow{2}};
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}), last_two);
  best.insert(offers({1, 2, 3}, {"a", "b", "c"}));
  best.save(file_);
  StandingQuery again = loaded(file_, cheapest(), last_two);
  EXPECT_EQ(again.insert(offers({4}, {"d"})), (Changes{{3}, {1}}));
}

TEST_F(StandingSave, AppendOnlySavesWhatCanMatter) {
  const StandingOptions append_only{.append_only = true};
  Query skyline = Query::from("offers");
  skyline.prefer({low("price"), high("name")}).select({"row", "name"});
  Query plain = Query::from("offers");
  plain.prefer({low("price")}).select({"row", "name"});
  Query groups = Query::from("offers");
  groups.group_by({"name"}).aggregate({sum("total", "price"), min("least", "price")}).rank_by({low("total")});
  for (const Query& query : {cheapest(), skyline, plain, groups}) {
    SCOPED_TRACE(to_sql(query));
    StandingQuery best(saving_engine(), query, offers({}, {}), append_only);
    best.save(file_);
    EXPECT_EQ(loaded(file_, query, append_only).next_id(), 0);
    best.insert(offers({3, 0.1, 0.2, 5, 0.1}, {"c", "a", "b", "e", "c"}));
    best.save(file_);
    StandingQuery again = loaded(file_, query, append_only);
    EXPECT_EQ(again.num_rows(), best.num_rows());
    EXPECT_EQ(again.next_id(), 5);
    EXPECT_EQ(again.answer()->rows, best.answer()->rows);
    const Table more = offers({0.05, 7, 1e300}, {"c", "a", "q"});
    EXPECT_EQ(again.insert(more), best.insert(more));
    EXPECT_EQ(again.answer()->rows, best.answer()->rows);
  }
}

TEST_F(StandingSave, IsForTheSameQueryAlone) {
  StandingQuery(saving_engine(), cheapest(), offers({}, {})).save(file_);
  EXPECT_NO_THROW(loaded(file_, cheapest().name("other")));
  EXPECT_THAT(
      refusal([&] { loaded(file_, cheapest(3)); }),
      AllOf(HasSubstr("best.standing: was saved by another query"), HasSubstr("LIMIT 2"), HasSubstr("LIMIT 3")));
  const auto with_schema = [&](const Table& schema) {
    return [&] { StandingQuery::load(saving_engine(), file_, cheapest(), schema); };
  };
  EXPECT_THAT(refusal(with_schema(Table(
                  {Column::own("price", std::vector<float>{}), Column::own("name", std::vector<std::string>{})}))),
              HasSubstr("column 0 is 'price' float64, and in the schema given 'price' float32"));
  EXPECT_THAT(refusal(with_schema(
                  Table({Column::own("price", std::vector<double>{}), Column::own("name", std::vector<std::string>{}),
                         Column::own("more", std::vector<double>{})}))),
              HasSubstr("column 2 is no more columns, and in the schema given 'more' float64"));
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest(), {.window = RowWindow{3}}); }),
              HasSubstr("another window: none, and the one given is the last 3 rows"));
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest(), {.append_only = true}); }), HasSubstr("is not append-only"));
}

TEST_F(StandingSave, NamesBothVersions) {
  StandingQuery(saving_engine(), cheapest(), offers({}, {})).save(file_);
  std::string bytes = content();
  bytes[8] = 77;
  write(bytes);
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest()); }),
              HasSubstr("of version 77; this library reads version " + std::to_string(exec::kSavedVersion)));
}

TEST_F(StandingSave, RefusesWhatIsNoSavedQuery) {
  EXPECT_THROW(loaded(file_, cheapest()), ResourceError);  // there is none
  write("price,name\n1,a\n");
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest()); }), HasSubstr("is no saved standing query"));
  write("");
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest()); }), HasSubstr("is no saved standing query"));
  EXPECT_THAT(refusal([&] { loaded(folder_, cheapest()); }), HasSubstr("no regular file"));
  EXPECT_THAT(refusal([&] { loaded("/dev/zero", cheapest()); }), HasSubstr("no regular file"));
}

TEST_F(StandingSave, FindsEachChangeAndEachCut) {
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}));
  best.insert(offers({3, 1}, {"c", ""}));
  best.save(file_);
  const std::string right = content();
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::string bytes = right;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    write(bytes);
    EXPECT_NE(refusal([&] { loaded(file_, cheapest()); }), "") << i;
    write(right.substr(0, i));
    EXPECT_NE(refusal([&] { loaded(file_, cheapest()); }), "") << i;
  }
}

TEST_F(StandingSave, SaysWhatIsWrongAndWhere) {
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}));
  best.insert(offers({3, 1}, {"ccc", "a"}));
  best.save(file_);
  const std::string right = content();
  // The last numbers before the checksum are two prices, or the lengths of names, and the characters of names.
  const std::size_t names = right.find("ccca");
  ASSERT_NE(names, std::string::npos);
  const auto with_number = [&](std::size_t at, std::uint64_t number) {
    std::string bytes = right;
    std::memcpy(bytes.data() + at, &number, sizeof(number));
    write(with_checksum(bytes));
    return refusal([&] { loaded(file_, cheapest()); });
  };
  EXPECT_THAT(with_number(names - 16, 1000), AllOf(HasSubstr("is damaged at byte " + std::to_string(names)),
                                                   HasSubstr("the value of row 0 in column 'name' would end behind")));
  EXPECT_THAT(with_number(names - 16, 2), HasSubstr("bytes too many"));
  EXPECT_THAT(with_number(names - 8, ~std::uint64_t{0}), HasSubstr("the value of row 1"));
  const std::uint64_t second_id = 1;
  const std::size_t ids =
      right.find(std::string(8, '\0') + std::string(reinterpret_cast<const char*>(&second_id), sizeof(second_id)));
  ASSERT_NE(ids, std::string::npos);
  EXPECT_THAT(with_number(ids + 8, 0), HasSubstr("the id 0 follows the id 0; ids ascend from 0"));
  EXPECT_THAT(with_number(ids + 8, 2), HasSubstr("the id 2 is not below the next one, 2"));
  EXPECT_THAT(with_number(ids, ~std::uint64_t{0}), HasSubstr("the id -1"));
  EXPECT_THAT(with_number(ids - 8, std::uint64_t{1} << 61), HasSubstr("the number of rows is 2305843009213693952"));
  write(with_checksum(right.substr(0, right.size() - 8) + "12345678" + right.substr(right.size() - 8)));
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest()); }), HasSubstr("there are 8 bytes too many"));
}

TEST_F(StandingSave, IdsFarApartTakeNoMemoryBetweenThem) {
  Query skyline = Query::from("offers");
  skyline.prefer({low("price")}).select({"row"});
  for (const Query& query : {skyline, cheapest()}) {
    StandingQuery best(saving_engine(), query, offers({}, {}));
    best.insert(offers({3, 1}, {"ccc", "a"}));
    best.save(file_);
    std::string bytes = content();
    const std::uint64_t before[] = {2, 0, 1};  // the number of rows, and their ids
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(before), sizeof(before)));
    ASSERT_NE(at, std::string::npos);
    const std::uint64_t far = std::uint64_t{1} << 61;
    const std::uint64_t next = far + 1;
    std::memcpy(bytes.data() + at + 16, &far, sizeof(far));
    std::memcpy(bytes.data() + at - 24, &next, sizeof(next));  // before the greatest time
    write(with_checksum(bytes));
    StandingQuery again = loaded(file_, query);
    EXPECT_EQ(again.next_id(), static_cast<RowId>(next));
    EXPECT_EQ(again.insert(offers({2}, {"b"})).entered.size(), query.prefer() ? 0 : 1);
    EXPECT_EQ(again.erase(std::vector<RowId>{static_cast<RowId>(far)}).left,
              std::vector<RowId>{static_cast<RowId>(far)});
  }
}

TEST_F(StandingSave, RefusesRowsOutOfTheWindow) {
  const StandingOptions last_two{.window = RowWindow{2}};
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}), last_two);
  best.insert(offers({3, 1, 2}, {"ccc", "a", "bb"}));
  best.save(file_);
  std::string bytes = content();
  const std::uint64_t ids[] = {1, 2};
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(ids), sizeof(ids)));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 0;
  write(with_checksum(bytes));
  EXPECT_THAT(refusal([&] { loaded(file_, cheapest(), last_two); }), HasSubstr("row 0 is out of the window"));
}

TEST_F(StandingSave, RefusesASkylineWithRowsThatOthersDominate) {
  const StandingOptions append_only{.append_only = true};
  Query query = Query::from("offers");
  query.prefer({low("price")}).select({"row"});
  StandingQuery best(saving_engine(), query, offers({}, {}), append_only);
  best.insert(offers({3, 3}, {"a", "b"}));
  best.save(file_);
  std::string bytes = content();
  // Both rows have one key.
  std::size_t at = std::string::npos;
  for (std::size_t i = 0; i + 16 < bytes.size(); ++i) {
    const bool is_key = bytes.compare(i, 8, bytes, i + 8, 8) == 0 && static_cast<unsigned char>(bytes[i + 7]) == 0xc0;
    if (is_key) at = i;
  }
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 1;
  write(with_checksum(bytes));
  EXPECT_THAT(refusal([&] { loaded(file_, query, append_only); }), HasSubstr("cannot be in the answer any more"));
}

TEST_F(StandingSave, LeavesTheFileBeforeWhereItFails) {
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}));
  best.save(file_);
  const std::string before = content();
  best.insert(offers(std::vector<double>(10'000, 1), std::vector<std::string>(10'000, "a")));
  EXPECT_THROW(best.save(folder_ / "none" / "best.standing"), ResourceError);
  EXPECT_THROW(best.save(folder_), ResourceError);
  // In a process of its own, whose files may not grow.
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1024, 1024};
    std::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    try {
      best.save(file_);
    } catch (const ResourceError&) {
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(), before);
  EXPECT_THAT(names(), ElementsAre("best.standing"));
  best.save(file_);
  EXPECT_EQ(loaded(file_, cheapest()).num_rows(), 10'000);
}

TEST_F(StandingSave, KeepsALimitOfMemory) {
  StandingQuery best(saving_engine(), cheapest(), offers({}, {}));
  best.insert(offers(std::vector<double>(100'000, 1), std::vector<std::string>(100'000, "a")));
  best.save(file_);
  const Engine small({.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = std::size_t{1} << 20});
  EXPECT_THROW(StandingQuery::load(small, file_, cheapest(), offers({}, {})), ResourceError);
}

TEST_F(StandingSave, OneWritesWhileOthersReadAndSave) {
  StandingQuery best(saving_engine(), cheapest(5), offers({}, {}));
  std::atomic<bool> done = false;
  const auto read = [&] {
    while (!done) {
      const auto answer = best.answer();
      EXPECT_EQ(answer->table.num_rows(), std::ssize(answer->rows));
      EXPECT_LE(std::ssize(answer->rows), std::min<std::int64_t>(best.next_id(), 5));
    }
  };
  std::vector<std::jthread> others;
  for (int i = 0; i < 3; ++i) others.emplace_back(read);
  others.emplace_back([&] {
    while (!done) {
      best.save(file_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // else the lock is hardly ever free
    }
  });
  for (int i = 0; i < (tests::kSanitized ? 50 : 200); ++i) {
    best.insert(offers({static_cast<double>(-i), 1e6}, {"a", "b"}));
    if (i % 3 == 2) best.erase(std::vector<RowId>{2 * i});
  }
  done = true;
  others.clear();
  best.save(file_);
  EXPECT_EQ(loaded(file_, cheapest(5)).answer()->rows, best.answer()->rows);
}

}  // namespace
}  // namespace skyrank

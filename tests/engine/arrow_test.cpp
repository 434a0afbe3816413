#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/arrow.hpp>
#include <skyrank/arrow_device.hpp>
#include <skyrank/error.hpp>

#include "kernels/cuda/device/device.hpp"
#include "tests/engine/column_values.hpp"

namespace skyrank {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value text(const char* characters) { return Value{std::string(characters)}; }
Value number(std::int64_t n) { return Value{n}; }

/// A record batch made by hand, so that every field can be wrong. Counts how often it is released.
class Producer {
 public:
  struct Child {
    ArrowArray array{};
    ArrowSchema schema{};
    std::vector<const void*> buffers;
    std::unique_ptr<Child> dictionary;
  };

  explicit Producer(std::int64_t rows) {
    array.length = rows;
    array.n_buffers = 1;
    array.buffers = no_validity_.data();
    array.private_data = this;
    array.release = [](ArrowArray* released) {
      ++static_cast<Producer*>(released->private_data)->array_releases;
      released->release = nullptr;
    };
    schema.format = "+s";
    schema.private_data = this;
    schema.release = [](ArrowSchema* released) {
      ++static_cast<Producer*>(released->private_data)->schema_releases;
      released->release = nullptr;
    };
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  static std::unique_ptr<Child> make_child(const char* format, const char* name, std::int64_t rows,
                                           std::vector<const void*> buffers) {
    auto child = std::make_unique<Child>();
    child->buffers = std::move(buffers);
    child->array.length = rows;
    child->array.null_count = child->buffers.empty() || child->buffers[0] == nullptr ? 0 : -1;
    child->array.n_buffers = static_cast<std::int64_t>(child->buffers.size());
    child->array.buffers = child->buffers.data();
    child->array.release = [](ArrowArray* released) { released->release = nullptr; };
    child->schema.format = format;
    child->schema.name = name;
    child->schema.release = [](ArrowSchema* released) { released->release = nullptr; };
    return child;
  }

  Child& add(const char* format, const char* name, std::vector<const void*> buffers) {
    children_.push_back(make_child(format, name, array.length + array.offset, std::move(buffers)));
    relink();
    return *children_.back();
  }

  Child& add_dictionary(const char* index_format, const char* name, std::vector<const void*> buffers,
                        std::unique_ptr<Child> dictionary) {
    Child& child = add(index_format, name, std::move(buffers));
    child.dictionary = std::move(dictionary);
    child.array.dictionary = &child.dictionary->array;
    child.schema.dictionary = &child.dictionary->schema;
    return child;
  }

  Table import() { return import_arrow(&array, &schema); }

  /// The message of the refusal, after which both structs must be released exactly once.
  std::string refusal() {
    std::string message;
    try {
      import();
      ADD_FAILURE() << "nothing was refused";
    } catch (const DataError& error) {
      message = error.what();
    }
    EXPECT_EQ(array.release, nullptr);
    EXPECT_EQ(schema.release, nullptr);
    EXPECT_EQ(array_releases, 1);
    EXPECT_EQ(schema_releases, 1);
    return message;
  }

  ArrowArray array{};
  ArrowSchema schema{};
  int array_releases = 0;
  int schema_releases = 0;

 private:
  void relink() {
    arrays_.clear();
    schemas_.clear();
    for (const auto& child : children_) {
      arrays_.push_back(&child->array);
      schemas_.push_back(&child->schema);
    }
    array.n_children = schema.n_children = static_cast<std::int64_t>(children_.size());
    array.children = arrays_.data();
    schema.children = schemas_.data();
  }

  std::array<const void*, 1> no_validity_ = {nullptr};
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<ArrowArray*> arrays_;
  std::vector<ArrowSchema*> schemas_;
};

// ------------------------------------------------------------------------------------------------- what is imported

TEST(ImportArrow, ViewsBuffersWithoutCopying) {
  const std::vector<std::int32_t> memory = {3, 1, 2};
  Producer producer(3);
  producer.add("i", "x", {nullptr, memory.data()});
  const Table table = producer.import();
  EXPECT_EQ(producer.array.release, nullptr);
  EXPECT_EQ(producer.schema.release, nullptr);
  EXPECT_EQ(table.column("x").data().values, memory.data());
  EXPECT_EQ(table.column("x").type(), DataType(Type::int32));
  EXPECT_FALSE(table.column("x").may_have_nulls());
}

TEST(ImportArrow, ReleasesTheArrayOnceWhenTheLastColumnIsGone) {
  const std::vector<std::int32_t> memory = {3, 1, 2};
  Producer producer(3);
  producer.add("i", "x", {nullptr, memory.data()});
  producer.add("i", "y", {nullptr, memory.data()});
  std::optional<Table> table = producer.import();
  EXPECT_EQ(producer.schema_releases, 1);
  std::optional<Column> last = table->column("y").renamed("z");
  table.reset();
  EXPECT_EQ(producer.array_releases, 0);
  EXPECT_EQ(last->value(0), number(3));
  last.reset();
  EXPECT_EQ(producer.array_releases, 1);
  EXPECT_EQ(producer.schema_releases, 1);
}

template <class T>
void expect_import(const char* format, DataType type, std::vector<T> memory, std::vector<Value> expected) {
  Producer producer(static_cast<std::int64_t>(memory.size()));
  producer.add(format, "x", {nullptr, memory.data()});
  const Table table = producer.import();
  EXPECT_EQ(table.column(0).type(), type) << format;
  EXPECT_EQ(values(table.column(0)), expected) << format;
  EXPECT_EQ(table.column(0).data().values, memory.data()) << format;
}

TEST(ImportArrow, EveryTypeOfFixedWidth) {
  expect_import<std::int8_t>("c", Type::int8, {-128, 127}, {number(-128), number(127)});
  expect_import<std::uint8_t>("C", Type::uint8, {0, 255}, {number(0), number(255)});
  expect_import<std::int16_t>("s", Type::int16, {-32768, 1}, {number(-32768), number(1)});
  expect_import<std::uint16_t>("S", Type::uint16, {65535}, {number(65535)});
  expect_import<std::int32_t>("i", Type::int32, {-7}, {number(-7)});
  expect_import<std::uint32_t>("I", Type::uint32, {4294967295U}, {number(4294967295)});
  expect_import<std::int64_t>("l", Type::int64, {-7}, {number(-7)});
  expect_import<std::uint64_t>("L", Type::uint64, {~std::uint64_t{0}}, {Value{~std::uint64_t{0}}});
  expect_import<std::uint16_t>("e", Type::float16, {0x3C00, 0xC000}, {Value{1.0}, Value{-2.0}});
  expect_import<float>("f", Type::float32, {0.5F}, {Value{0.5}});
  expect_import<double>("g", Type::float64, {0.1}, {Value{0.1}});
  expect_import<std::int32_t>("tdD", Type::date, {17287}, {Value{Date{17287}}});
}

TEST(ImportArrow, TimestampsOfEveryUnitAndZone) {
  const std::vector<std::int64_t> ticks = {-5};
  const std::vector<std::pair<const char*, TimeUnit>> formats = {{"tss:", TimeUnit::second},
                                                                 {"tsm:", TimeUnit::millisecond},
                                                                 {"tsu:UTC", TimeUnit::microsecond},
                                                                 {"tsn:Europe/Copenhagen", TimeUnit::nanosecond}};
  for (const auto& [format, unit] : formats) {
    expect_import<std::int64_t>(format, DataType(Type::timestamp, unit), ticks, {Value{Timestamp{-5, unit}}});
  }
}

TEST(ImportArrow, BooleansAndValidityFromTheirOffset) {
  const std::array<std::uint8_t, 2> bits = {0b1000'0000, 0b0000'0010};
  const std::array<std::uint8_t, 2> valid = {0b1000'0000, 0b0000'0011};
  Producer producer(3);
  producer.add("b", "b", {valid.data(), bits.data()}).array.offset = 7;
  const Table table = producer.import();
  EXPECT_THAT(values(table.column(0)), ElementsAre(Value{true}, Value{false}, Value{true}));
  const std::array<std::uint8_t, 2> other = {0b1000'0000, 0b0000'0001};
  Producer with_nulls(3);
  with_nulls.add("b", "b", {other.data(), bits.data()}).array.offset = 7;
  EXPECT_THAT(values(with_nulls.import().column(0)), ElementsAre(Value{true}, Value{false}, Value{Null{}}));
}

TEST(ImportArrow, OffsetsOfStructAndColumnAddUp) {
  const std::vector<std::int16_t> memory = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::array<std::uint8_t, 2> valid = {0b1101'1111, 0b0000'0111};  // row 5 is NULL
  Producer producer(4);
  producer.array.offset = 3;
  auto& child = producer.add("s", "x", {valid.data(), memory.data()});
  child.array.offset = 1;
  child.array.null_count = 1;
  const Table table = producer.import();
  EXPECT_EQ(table.num_rows(), 4);
  EXPECT_THAT(values(table.column(0)), ElementsAre(number(4), Value{Null{}}, number(6), number(7)));
}

TEST(ImportArrow, ABitmapWithoutNullsIsIgnored) {
  const std::vector<std::int16_t> memory = {1, 2};
  const std::uint8_t valid = 0;
  Producer producer(2);
  producer.add("s", "x", {&valid, memory.data()}).array.null_count = 0;
  EXPECT_THAT(values(producer.import().column(0)), ElementsAre(number(1), number(2)));
}

TEST(ImportArrow, Strings) {
  const std::vector<std::int32_t> offsets = {2, 5, 5, 8};
  const std::vector<std::int64_t> large(offsets.begin(), offsets.end());
  const char* characters = "__onetwo";
  Producer producer(3);
  producer.add("u", "s", {nullptr, offsets.data(), characters});
  producer.add("U", "l", {nullptr, large.data(), characters});
  const Table table = producer.import();
  EXPECT_THAT(values(table.column("s")), ElementsAre(text("one"), text(""), text("two")));
  EXPECT_THAT(values(table.column("l")), ElementsAre(text("one"), text(""), text("two")));
  EXPECT_EQ(table.column("s").data().string_at(0).data(), characters + 2);
}

TEST(ImportArrow, StringsWithAnOffset) {
  const std::vector<std::int32_t> offsets = {0, 3, 3, 6};
  Producer producer(2);
  producer.add("u", "s", {nullptr, offsets.data(), "onetwo"}).array.offset = 1;
  EXPECT_THAT(values(producer.import().column(0)), ElementsAre(text(""), text("two")));
}

TEST(ImportArrow, EmptyArraysNeedNoBuffers) {
  Producer producer(0);
  for (const char* format : {"c", "b", "g", "tdm", "tsu:"}) producer.add(format, format, {nullptr, nullptr});
  producer.add("u", "s", {nullptr, nullptr, nullptr});
  producer.add("U", "l", {nullptr, nullptr, nullptr});
  producer.add_dictionary("i", "d", {nullptr, nullptr}, Producer::make_child("u", "", 0, {nullptr, nullptr, nullptr}));
  const Table table = producer.import();
  EXPECT_EQ(table.num_rows(), 0);
  EXPECT_EQ(table.num_columns(), 8);
}

TEST(ImportArrow, StringsWithoutCharactersNeedNoThirdBuffer) {
  const std::vector<std::int32_t> offsets = {0, 0, 0};
  Producer producer(2);
  producer.add("u", "s", {nullptr, offsets.data(), nullptr});
  EXPECT_THAT(values(producer.import().column(0)), ElementsAre(text(""), text("")));
}

TEST(ImportArrow, ColumnsAreOptional) {
  Producer producer(7);
  const Table table = producer.import();
  EXPECT_EQ(table.num_rows(), 7);
  EXPECT_EQ(table.num_columns(), 0);
  EXPECT_EQ(producer.array_releases, 1);
}

TEST(ImportArrow, Date64BecomesDate) {
  const std::vector<std::int64_t> memory = {17287LL * 86'400'000, -86'400'000, 1};
  const std::uint8_t valid = 0b011;
  Producer producer(3);
  producer.add("tdm", "d", {&valid, memory.data()});
  const Table table = producer.import();
  EXPECT_EQ(table.column(0).type(), DataType(Type::date));
  EXPECT_THAT(values(table.column(0)), ElementsAre(Value{Date{17287}}, Value{Date{-1}}, Value{Null{}}));
}

TEST(ImportArrow, MisalignedBuffersAreCopied) {
  alignas(8) std::array<std::byte, 4 + 3 * sizeof(double)> memory{};
  const std::array<double, 3> numbers = {1.5, 2.5, 3.5};
  std::memcpy(memory.data() + 4, numbers.data(), sizeof numbers);
  Producer producer(2);
  producer.add("g", "x", {nullptr, memory.data() + 4}).array.offset = 1;
  const Table table = producer.import();
  EXPECT_THAT(values(table.column(0)), ElementsAre(Value{2.5}, Value{3.5}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.column(0).data().values) % alignof(double), 0U);
}

template <class Index>
void expect_dictionary(const char* format) {
  const std::vector<Index> indices = {1, 0, 2, 1};
  const std::vector<std::int32_t> offsets = {0, 2, 5, 5};
  Producer producer(3);
  auto& child = producer.add_dictionary(format, "d", {nullptr, indices.data()},
                                        Producer::make_child("u", "", 3, {nullptr, offsets.data(), "noyes"}));
  child.array.offset = 1;
  const Table table = producer.import();
  EXPECT_EQ(table.column(0).type(), DataType(Type::string));
  EXPECT_THAT(values(table.column(0)), ElementsAre(text("no"), text(""), text("yes"))) << format;
  EXPECT_EQ(table.column(0).data().values, indices.data() + 1);
}

TEST(ImportArrow, DictionariesWithEveryIndexType) {
  expect_dictionary<std::int8_t>("c");
  expect_dictionary<std::int16_t>("s");
  expect_dictionary<std::int32_t>("i");
  expect_dictionary<std::int64_t>("l");
  expect_dictionary<std::uint8_t>("C");
  expect_dictionary<std::uint16_t>("S");
  expect_dictionary<std::uint32_t>("I");
  expect_dictionary<std::uint64_t>("L");
}

TEST(ImportArrow, NullsOfTheDictionaryAreNullsOfTheColumn) {
  const std::vector<std::int8_t> indices = {1, 0, -100, 1, 0, 0, 1, 0, 1};
  const std::vector<std::int64_t> offsets = {0, 2, 5};
  const std::array<std::uint8_t, 2> rows = {0b1111'1011, 0b1};  // row 2 is NULL: its index does not count
  const std::uint8_t entries = 0b01;
  Producer producer(9);
  producer.add_dictionary("c", "d", {rows.data(), indices.data()},
                          Producer::make_child("U", "", 2, {&entries, offsets.data(), "noyes"}));
  const Value null{Null{}};
  EXPECT_THAT(values(producer.import().column(0)),
              ElementsAre(null, text("no"), null, null, text("no"), text("no"), null, text("no"), null));
}

TEST(ImportArrow, DictionaryWithAnOffset) {
  const std::vector<std::int32_t> indices = {0, 1};
  const std::vector<std::int32_t> offsets = {0, 1, 2, 3};
  auto words = Producer::make_child("u", "", 2, {nullptr, offsets.data(), "abc"});
  words->array.offset = 1;
  Producer producer(2);
  producer.add_dictionary("i", "d", {nullptr, indices.data()}, std::move(words));
  EXPECT_THAT(values(producer.import().column(0)), ElementsAre(text("b"), text("c")));
}

// -------------------------------------------------------------------------------------------------- what is refused

TEST(ImportArrow, DecimalsOfEveryWidth) {
  const std::vector<std::int32_t> narrow = {-5, 1230};
  const std::vector<std::int64_t> usual = {-5, 999999999999999999};
  const std::vector<Int128> wide = {-5, Int128{1} << 100};
  const std::vector<Int128> short_wide = {-5, 1230};
  const std::vector<std::uint64_t> widest = {
      ~std::uint64_t{4}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 1, 0, 0};
  Producer producer(2);
  producer.add("d:9,2,32", "narrow", {nullptr, narrow.data()});
  producer.add("d:18,2,64", "usual", {nullptr, usual.data()});
  producer.add("d:38,2", "wide", {nullptr, wide.data()});
  producer.add("d:12,2,128", "short", {nullptr, short_wide.data()});
  producer.add("d:30,0,256", "widest", {nullptr, widest.data()});
  producer.add("d:3,5", "deep", {nullptr, short_wide.data()});
  producer.add("d:4,-2", "hundreds", {nullptr, short_wide.data()});
  const Table table = producer.import();
  const auto column = [&](const char* name) { return table.column(name); };
  EXPECT_EQ(column("narrow").type(), DataType::decimal(9, 2));
  EXPECT_THAT(values(column("narrow")), ElementsAre(Decimal{-5, 2}, Decimal{1230, 2}));
  EXPECT_EQ(column("usual").data().values, usual.data());
  EXPECT_THAT(values(column("usual")), ElementsAre(Decimal{-5, 2}, Decimal{999999999999999999, 2}));
  EXPECT_EQ(column("wide").data().values, wide.data());
  EXPECT_THAT(values(column("wide")), ElementsAre(Decimal{-5, 2}, Decimal{Int128{1} << 100, 2}));
  EXPECT_EQ(column("short").type(), DataType::decimal(12, 2));
  EXPECT_THAT(values(column("short")), ElementsAre(Decimal{-5, 2}, Decimal{1230, 2}));
  EXPECT_THAT(values(column("widest")), ElementsAre(Decimal{-5, 0}, Decimal{Int128{1} << 64, 0}));
  EXPECT_EQ(column("deep").type(), DataType::decimal(5, 5));
  EXPECT_THAT(values(column("deep")), ElementsAre(Decimal{-5, 5}, Decimal{1230, 5}));
  EXPECT_EQ(column("hundreds").type(), DataType::decimal(6, 0));
  EXPECT_THAT(values(column("hundreds")), ElementsAre(Decimal{-500, 0}, Decimal{123000, 0}));
}

TEST(ImportArrow, RefusesDecimalsBeyondTheirFormat) {
  const std::vector<Int128> wide = {1, Int128{1} << 100};
  Producer producer(2);
  producer.add("d:12,2", "cost", {nullptr, wide.data()});
  EXPECT_THAT(producer.refusal(), HasSubstr("column 'cost' has in row 1 a decimal of more than the 12 digits"));
}

TEST(ImportArrow, RefusesNullAndReleasedStructs) {
  Producer producer(0);
  EXPECT_THROW(import_arrow(nullptr, &producer.schema), DataError);
  EXPECT_EQ(producer.schema_releases, 1);
  Producer other(0);
  EXPECT_THROW(import_arrow(&other.array, nullptr), DataError);
  EXPECT_EQ(other.array_releases, 1);
  EXPECT_THROW(import_arrow(nullptr, nullptr), DataError);
  EXPECT_THROW(other.import(), DataError);
  EXPECT_EQ(other.array_releases, 1);
  EXPECT_EQ(other.schema_releases, 1);
}

TEST(ImportArrow, RefusesOtherFormatsByName) {
  for (const char* format : {"vz",  "z",      "Z",        "w:42",        "d:50,2,256", "d:39,0", "d:30,-20", "d:0,0",
                             "d:9", "d:9,2,", "d:9,2,16", "d:9,2,128,1", "d:a,2",      "w:16",   "ttm",      "tDm",
                             "tiM", "+l",     "+s",       "x",           "",           "ts"}) {
    Producer producer(0);
    producer.add(format, "cost", {nullptr, nullptr});
    const std::string message = producer.refusal();
    EXPECT_THAT(message, HasSubstr("column 'cost'"));
    EXPECT_THAT(message, HasSubstr("format '" + std::string(format) + "'"));
  }
}

TEST(ImportArrow, RefusesScalesOfAnySize) {
  for (const char* format : {"d:9,-2147483648", "d:9,2147483647", "d:38,-1", "d:9,39"}) {
    Producer producer(0);
    producer.add(format, "cost", {nullptr, nullptr});
    EXPECT_THAT(producer.refusal(), HasSubstr("format '" + std::string(format) + "'"));
  }
}

/// Strings of the layout string_view, with the buffers that hold the long ones.
class Views {
 public:
  /// Adds a string that lies in its entry.
  void add_short(std::string_view text) {
    Entry entry{static_cast<std::int32_t>(text.size()), {}};
    std::memcpy(entry.rest, text.data(), text.size());
    entries_.push_back(entry);
  }

  /// Adds a string of `size` characters at `offset` of a buffer.
  void add_long(std::int32_t size, std::int32_t buffer, std::int32_t offset) {
    Entry entry{size, {}};
    std::memcpy(entry.rest + 4, &buffer, sizeof buffer);
    std::memcpy(entry.rest + 8, &offset, sizeof offset);
    entries_.push_back(entry);
  }

  std::vector<const void*> buffers(const std::uint8_t* validity) const {
    std::vector<const void*> all = {validity, entries_.data()};
    for (const std::string& text : texts) all.push_back(text.data());
    all.push_back(sizes.data());
    return all;
  }

  std::vector<std::string> texts = {"a text of more than twelve characters", "another one, as long"};
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(texts[0].size()),
                                     static_cast<std::int64_t>(texts[1].size())};

 private:
  struct Entry {
    std::int32_t size;
    char rest[12];
  };

  std::vector<Entry> entries_;
};

TEST(ImportArrow, StringViewsStayWhereTheyAre) {
  Views views;
  views.add_short("skipped");
  views.add_short("Oslo");
  views.add_long(13, 0, 2);
  views.add_long(-1, 7, -7);  // NULL
  views.add_short("");
  views.add_long(20, 1, 0);
  views.add_short("twelve chars");
  const std::uint8_t valid = 0b1110111;
  Producer producer(6);
  producer.array.offset = 1;
  producer.add("vu", "city", views.buffers(&valid));
  const Table table = producer.import();
  EXPECT_EQ(table.column("city").type(), Type::string);
  EXPECT_THAT(values(table.column("city")), ElementsAre(text("Oslo"), text("text of more "), Value{Null{}}, text(""),
                                                        text("another one, as long"), text("twelve chars")));
  EXPECT_EQ(table.column("city").data().string_at(4).data(), views.texts[1].data());
  EXPECT_EQ(producer.array_releases, 0);
}

TEST(ImportArrow, DictionariesHaveStringViewsToo) {
  Views views;
  views.add_short("Oslo");
  views.add_long(20, 1, 0);
  views.add_short("");
  const std::vector<std::int8_t> indices = {1, 0, 1, 2};
  const std::uint8_t valid = 0b011;
  Producer producer(4);
  producer.add_dictionary("c", "city", {nullptr, indices.data()},
                          Producer::make_child("vu", nullptr, 3, views.buffers(&valid)));
  EXPECT_THAT(values(producer.import().column("city")),
              ElementsAre(text("another one, as long"), text("Oslo"), text("another one, as long"), Value{Null{}}));
}

TEST(ImportArrow, StringViewsWithoutRowsNeedNoBuffer) {
  Producer producer(0);
  producer.add("vu", "city", {nullptr, nullptr, nullptr});
  EXPECT_EQ(producer.import().column("city").size(), 0);
}

TEST(ImportArrow, RefusesStringViewsOutsideTheirBuffers) {
  struct Case {
    std::int32_t size, buffer, offset;
    const char* why;
  };
  for (const Case& it : {Case{-1, 0, 0, "a string of negative length"}, Case{38, 0, 0, "outside its buffers"},
                         Case{13, 0, 25, "outside its buffers"}, Case{13, -1, 0, "outside its buffers"},
                         Case{13, 2, 0, "outside its buffers"}, Case{13, 1, -1, "outside its buffers"},
                         Case{2147483647, 1, 2147483647, "outside its buffers"}}) {
    Views views;
    views.add_long(it.size, it.buffer, it.offset);
    Producer producer(1);
    producer.add("vu", "city", views.buffers(nullptr));
    EXPECT_THAT(producer.refusal(), AllOf(HasSubstr("column 'city'"), HasSubstr(it.why)));
  }
  Views views;
  views.add_long(13, 0, 0);
  for (const auto& [buffers, why] : std::vector<std::pair<std::vector<const void*>, const char*>>{
           {{nullptr, nullptr}, "2 buffers; its format needs at least 3"},
           {{nullptr, nullptr, nullptr}, "no buffer 1"},
           {{nullptr, views.buffers(nullptr)[1], nullptr, nullptr}, "no sizes of its buffers"},
           {{nullptr, views.buffers(nullptr)[1], nullptr, views.sizes.data()}, "outside its buffers"}}) {
    Producer producer(1);
    producer.add("vu", "city", buffers);
    EXPECT_THAT(producer.refusal(), HasSubstr(why));
  }
}

TEST(ImportArrow, ColumnsOfNullsHaveNoValue) {
  Producer producer(9);
  producer.add("n", "cost", {}).array.null_count = 9;
  const Table table = producer.import();
  ASSERT_EQ(table.column("cost").size(), 9);
  for (std::int64_t row = 0; row < 9; ++row) EXPECT_TRUE(table.column("cost").is_null(row)) << row;
}

TEST(ImportArrow, RefusesATableThatIsNoStruct) {
  Producer producer(0);
  producer.schema.format = "i";
  EXPECT_THAT(producer.refusal(), HasSubstr("'i'; a table needs a struct"));
  Producer without(0);
  without.schema.format = nullptr;
  without.refusal();
}

TEST(ImportArrow, RefusesNullRows) {
  const std::vector<std::int32_t> memory = {1, 2, 3};
  const std::uint8_t valid = 0b1011;
  const void* validity = &valid;
  Producer producer(2);
  producer.array.offset = 1;
  producer.array.null_count = -1;
  producer.array.buffers = &validity;
  producer.add("i", "x", {nullptr, memory.data()});
  EXPECT_THAT(producer.refusal(), HasSubstr("NULL in row 1"));
}

TEST(ImportArrow, AStructMayHaveABitmapWithoutNullRows) {
  const std::vector<std::int32_t> memory = {1, 2, 3};
  const std::uint8_t valid = 0b110;
  const void* validity = &valid;
  Producer producer(2);
  producer.array.offset = 1;
  producer.array.null_count = -1;
  producer.array.buffers = &validity;
  producer.add("i", "x", {nullptr, memory.data()});
  EXPECT_THAT(values(producer.import().column(0)), ElementsAre(number(2), number(3)));
}

using Damage = void (*)(Producer&, Producer::Child&);

struct Malformed {
  const char* name;
  Damage damage;
  const char* message;
};

class ImportArrowMalformed : public ::testing::TestWithParam<Malformed> {};

TEST_P(ImportArrowMalformed, IsRefusedAndReleased) {
  const std::vector<std::int32_t> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  Producer producer(4);
  auto& child = producer.add("u", "x", {nullptr, memory.data(), "abcdefgh"});
  GetParam().damage(producer, child);
  EXPECT_THAT(producer.refusal(), HasSubstr(GetParam().message));
}

constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::int32_t, 5> kUnordered = {0, 2, 1, 3, 4};
constexpr std::array<std::int32_t, 5> kNegative = {-1, 0, 1, 2, 3};

INSTANTIATE_TEST_SUITE_P(
    Cases, ImportArrowMalformed,
    ::testing::Values(
        Malformed{"negative_length", [](auto& p, auto&) { p.array.length = -1; }, "negative length -1"},
        Malformed{"negative_offset", [](auto& p, auto&) { p.array.offset = -1; }, "negative offset -1"},
        Malformed{"huge_offset", [](auto& p, auto&) { p.array.offset = kHuge; },
                  "the offset of Arrow struct is 9223372036854775807, but at most 281474976710656 is possible"},
        Malformed{"huge_length", [](auto& p, auto&) { p.array.length = std::int64_t{1} << 61; },
                  "the length of Arrow struct is 2305843009213693952"},
        Malformed{"struct_buffers", [](auto& p, auto&) { p.array.n_buffers = 2; }, "struct has 2 buffers"},
        Malformed{"no_struct_buffers", [](auto& p, auto&) { p.array.buffers = nullptr; }, "struct has no buffers"},
        Malformed{"null_rows_without_bitmap", [](auto& p, auto&) { p.array.null_count = 1; }, "no validity bitmap"},
        Malformed{"children_differ", [](auto& p, auto&) { p.schema.n_children = 2; }, "1 children, its schema 2"},
        Malformed{"negative_children", [](auto& p, auto&) { p.schema.n_children = p.array.n_children = -1; },
                  "-1 children"},
        Malformed{"no_children", [](auto& p, auto&) { p.array.children = nullptr; }, "no array of children"},
        Malformed{"no_schema_children", [](auto& p, auto&) { p.schema.children = nullptr; }, "no array of children"},
        Malformed{"null_child", [](auto& p, auto&) { p.array.children[0] = nullptr; }, "column 0 is a null pointer"},
        Malformed{"null_schema_child", [](auto& p, auto&) { p.schema.children[0] = nullptr; }, "column 0 is a null"},
        Malformed{"released_child", [](auto&, auto& c) { c.array.release = nullptr; }, "'x' was released already"},
        Malformed{"released_schema", [](auto&, auto& c) { c.schema.release = nullptr; }, "schema that was released"},
        Malformed{"no_format", [](auto&, auto& c) { c.schema.format = nullptr; }, "'x' has no format"},
        Malformed{"short_child", [](auto&, auto& c) { c.array.length = 3; }, "3 rows where its parent needs 4"},
        Malformed{"short_for_parent_offset", [](auto& p, auto&) { p.array.offset = 1; },
                  "4 rows where its parent needs 5"},
        Malformed{"child_length", [](auto&, auto& c) { c.array.length = -4; }, "negative length -4"},
        Malformed{"child_offset", [](auto&, auto& c) { c.array.offset = -4; }, "negative offset -4"},
        Malformed{"child_huge_offset", [](auto&, auto& c) { c.array.offset = kHuge - 2; },
                  "the offset of Arrow column 'x' is 9223372036854775805"},
        Malformed{"child_huge_length", [](auto&, auto& c) { c.array.length = kHuge; },
                  "the length of Arrow column 'x' is 9223372036854775807"},
        Malformed{"null_count", [](auto&, auto& c) { c.array.null_count = 5; }, "impossible null count 5"},
        Malformed{"negative_null_count", [](auto&, auto& c) { c.array.null_count = -2; }, "impossible null count -2"},
        Malformed{"nulls_without_bitmap", [](auto&, auto& c) { c.array.null_count = 1; }, "no validity bitmap"},
        Malformed{"two_buffers", [](auto&, auto& c) { c.array.n_buffers = 2; }, "has 2 buffers; its format needs 3"},
        Malformed{"no_buffers", [](auto&, auto& c) { c.array.buffers = nullptr; }, "'x' has no buffers"},
        Malformed{"no_offsets", [](auto&, auto& c) { c.buffers[1] = nullptr; }, "has no buffer 1"},
        Malformed{"no_characters", [](auto&, auto& c) { c.buffers[2] = nullptr; }, "has no buffer 2"},
        Malformed{"unordered", [](auto&, auto& c) { c.buffers[1] = kUnordered.data(); }, "do not ascend"},
        Malformed{"negative_offsets", [](auto&, auto& c) { c.buffers[1] = kNegative.data(); }, "do not ascend"}),
    [](const auto& instance) { return instance.param.name; });

TEST(ImportArrow, RefusesMissingValues) {
  for (const char* format : {"b", "c", "s", "i", "l", "g", "tdm"}) {
    Producer producer(1);
    producer.add(format, "x", {nullptr, nullptr});
    EXPECT_THAT(producer.refusal(), HasSubstr("'x' has no buffer 1")) << format;
  }
}

TEST(ImportArrow, RefusesDate64WithinADayOrBeyond32Bits) {
  const std::vector<std::int64_t> within = {86'400'000, 86'400'001};
  Producer producer(2);
  producer.add("tdm", "d", {nullptr, within.data()});
  EXPECT_THAT(producer.refusal(), HasSubstr("row 1 the date64 value 86400001"));
  const std::vector<std::int64_t> beyond = {86'400'000LL * (std::int64_t{1} << 31)};
  Producer other(1);
  other.add("tdm", "d", {nullptr, beyond.data()});
  EXPECT_THAT(other.refusal(), HasSubstr("no date of 32 bits"));
}

class ImportArrowDictionary : public ::testing::Test {
 protected:
  std::unique_ptr<Producer::Child> words() const {
    return Producer::make_child("u", "", 2, {nullptr, offsets.data(), "noyes"});
  }

  std::vector<std::int8_t> indices = {0, 1, 0};
  std::vector<std::int32_t> offsets = {0, 2, 5};
  Producer producer{3};
};

TEST_F(ImportArrowDictionary, RefusesIndicesOutside) {
  indices[2] = 2;
  producer.add_dictionary("c", "d", {nullptr, indices.data()}, words());
  EXPECT_THAT(producer.refusal(), HasSubstr("column 'd' has in row 2 the index 2 into a dictionary of 2 entries"));
}

TEST_F(ImportArrowDictionary, RefusesNegativeIndices) {
  indices[1] = -1;
  producer.add_dictionary("c", "d", {nullptr, indices.data()}, words());
  EXPECT_THAT(producer.refusal(), HasSubstr("in row 1 the index -1"));
}

TEST_F(ImportArrowDictionary, RefusesIndicesThatAreNoIntegers) {
  producer.add_dictionary("e", "d", {nullptr, indices.data()}, words());
  EXPECT_THAT(producer.refusal(), HasSubstr("indices of the format 'e'"));
}

TEST_F(ImportArrowDictionary, RefusesOtherValues) {
  producer.add_dictionary("c", "d", {nullptr, indices.data()},
                          Producer::make_child("i", "", 2, {nullptr, offsets.data()}));
  EXPECT_THAT(producer.refusal(), HasSubstr("dictionary of column 'd' has the format 'i'"));
}

TEST_F(ImportArrowDictionary, RefusesAMissingDictionary) {
  producer.add_dictionary("c", "d", {nullptr, indices.data()}, words()).array.dictionary = nullptr;
  EXPECT_THAT(producer.refusal(), HasSubstr("lacks the dictionary"));
}

TEST_F(ImportArrowDictionary, RefusesAReleasedOrMalformedDictionary) {
  producer.add_dictionary("c", "d", {nullptr, indices.data()}, words()).array.dictionary->release = nullptr;
  EXPECT_THAT(producer.refusal(), HasSubstr("dictionary of column 'd' was released already"));
  Producer other(3);
  other.add_dictionary("c", "d", {nullptr, indices.data()}, words()).schema.dictionary->format = nullptr;
  EXPECT_THAT(other.refusal(), HasSubstr("dictionary of column 'd' has no format"));
}

// ------------------------------------------------------------------------------------------------- what is exported

Table round_trip(const Table& table) {
  ArrowArray array;
  ArrowSchema schema;
  export_arrow(table, &array, &schema);
  return import_arrow(&array, &schema);
}

void expect_equal(const Table& a, const Table& b) {
  ASSERT_EQ(a.num_rows(), b.num_rows());
  ASSERT_EQ(a.num_columns(), b.num_columns());
  for (int i = 0; i < a.num_columns(); ++i) {
    EXPECT_EQ(a.column(i).name(), b.column(i).name());
    EXPECT_EQ(a.column(i).type(), b.column(i).type());
    EXPECT_EQ(values(a.column(i)), values(b.column(i))) << a.column(i).name();
  }
}

Table every_type() {
  const std::vector<bool> valid = {true, false, true};
  return Table({
      Column::own("bool", std::vector<bool>{true, true, false}, valid),
      Column::own("int8", std::vector<std::int8_t>{1, -2, 3}, valid),
      Column::own("int16", std::vector<std::int16_t>{1, -2, 3}),
      Column::own("int32", std::vector<std::int32_t>{1, -2, 3}, valid),
      Column::own("int64", std::vector<std::int64_t>{1, -2, 3}),
      Column::own("uint8", std::vector<std::uint8_t>{1, 2, 255}, valid),
      Column::own("uint16", std::vector<std::uint16_t>{1, 2, 3}),
      Column::own("uint32", std::vector<std::uint32_t>{1, 2, 3}),
      Column::own("uint64", std::vector<std::uint64_t>{1, 2, ~std::uint64_t{0}}),
      Column::own("float16", std::vector<Float16>{{0x3C00}, {0}, {0x7BFF}}, valid),
      Column::own("float32", std::vector<float>{1, 2, 0.1F}),
      Column::own("float64", std::vector<double>{1, 2, 0.1}, valid),
      Column::own("date", std::vector<Date>{{1}, {2}, {-3}}),
      Column::own_as("time", DataType(Type::timestamp, TimeUnit::nanosecond), std::vector<std::int64_t>{1, 2, -3},
                     valid),
      Column::own_as("decimal", DataType::decimal(12, 2), std::vector<std::int64_t>{1, 2, -3}, valid),
      Column::own_as("wide_decimal", DataType::decimal(38, 4), std::vector<Int128>{1, 2, -3}, valid),
      Column::own("string", std::vector<std::string>{"one", "two", ""}, valid),
  });
}

TEST(ExportArrow, EveryTypeRoundTrips) {
  expect_equal(round_trip(every_type()), every_type());
  for (const TimeUnit unit : {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond}) {
    const Table table({Column::own_as("t", DataType(Type::timestamp, unit), std::vector<std::int64_t>{7})});
    expect_equal(round_trip(table), table);
  }
}

TEST(ExportArrow, EmptyTablesRoundTrip) {
  const Table empty({Column::own("x", std::vector<int>{}), Column::own("s", std::vector<std::string>{}),
                     Column::own("b", std::vector<bool>{})});
  expect_equal(round_trip(empty), empty);
  expect_equal(round_trip(Table::with_rows(5)), Table::with_rows(5));
  expect_equal(round_trip(Table()), Table());
}

TEST(ExportArrow, SharesWhatHasArrowsLayout) {
  const std::vector<double> memory = {1, 2, 3};
  const std::array<std::uint8_t, 3> valid = {0, 0, 0b101};
  const Table table({Column::view("x", std::span<const double>(memory), Validity{valid.data(), 16}),
                     Column::own("s", std::vector<std::string>{"a", "b", "c"})});
  const Table back = round_trip(table);
  EXPECT_EQ(back.column("x").data().values, memory.data());
  EXPECT_EQ(back.column("x").data().validity.bits, valid.data() + 2);
  EXPECT_EQ(back.column("s").data().values, table.column("s").data().values);
  EXPECT_EQ(back.column("s").data().offsets32, table.column("s").data().offsets32);
  expect_equal(back, table);
}

TEST(ExportArrow, ShiftsBitmapsThatDoNotStartAtAByte) {
  const std::vector<std::int8_t> memory = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::array<std::uint8_t, 3> valid = {0b0101'1010, 0b1110'0110, 0b0001'0001};
  for (std::int64_t offset = 0; offset < 14; ++offset) {
    const Table table({Column::view("x", std::span<const std::int8_t>(memory), Validity{valid.data(), offset})});
    expect_equal(round_trip(table), table);
  }
}

TEST(ExportArrow, PackedBooleansKeepTheirOffset) {
  const std::array<std::uint8_t, 3> bits = {0b0101'1010, 0b1110'0110, 0b0001'0001};
  for (std::int64_t offset = 0; offset < 14; ++offset) {
    for (std::int64_t valid_offset = 0; valid_offset < 14; ++valid_offset) {
      ColumnData data;
      data.type = Type::boolean;
      data.layout = Layout::bits;
      data.length = 10;
      data.values = bits.data();
      data.bit_offset = offset;
      data.validity = {bits.data(), valid_offset};
      const Table table({Column("b", data)});
      expect_equal(round_trip(table), table);
    }
  }
}

TEST(ExportArrow, CopiesStridedAndViewedColumns) {
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6};
  const std::array<std::uint8_t, 6> flags = {1, 0, 0, 0, 1, 0};
  const std::vector<std::string_view> strings = {"one", "", "three"};
  const std::uint8_t valid = 0b101;
  const Table table({Column::view_strided("x", Type::float32, matrix.data(), 3, 8),
                     Column::view_strided("y", Type::float32, matrix.data() + 5, 3, -8),
                     Column::view_strided("b", Type::boolean, flags.data(), 3, 2),
                     Column::view("s", std::span<const std::string_view>(strings), Validity{&valid, 0})});
  expect_equal(round_trip(table), table);
}

TEST(ExportArrow, DictionariesRoundTrip) {
  const auto words = Column::own("", std::vector<std::string>{"no", "yes", "perhaps"});
  struct Row {
    std::uint16_t index;
    std::uint16_t other;
  };
  const std::array<Row, 4> rows = {{{2, 9}, {0, 9}, {77, 9}, {1, 9}}};
  const std::uint8_t valid = 0b1011;
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.length = 4;
  data.values = rows.data();
  data.stride = sizeof(Row);
  data.index_type = Type::uint16;
  data.validity = {&valid, 0};
  data.dictionary = std::make_shared<const ColumnData>(words.data());
  const Table table({Column("d", data)});
  const Table back = round_trip(table);
  EXPECT_EQ(back.column(0).data().layout, Layout::dictionary);
  expect_equal(back, table);
}

TEST(ExportArrow, KeepsOwnedMemoryAlive) {
  ArrowArray array;
  ArrowSchema schema;
  {
    const Table table = every_type();
    export_arrow(table, &array, &schema);
  }
  expect_equal(import_arrow(&array, &schema), every_type());
}

TEST(ExportArrow, ChildrenMayBeMovedOutAndOutliveTheirParent) {
  ArrowArray array;
  ArrowSchema schema;
  export_arrow(every_type(), &array, &schema);
  ArrowArray child = *array.children[3];
  ArrowSchema child_schema = *schema.children[3];
  array.children[3]->release = nullptr;
  schema.children[3]->release = nullptr;
  array.release(&array);
  schema.release(&schema);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_STREQ(child_schema.format, "i");
  EXPECT_STREQ(child_schema.name, "int32");
  EXPECT_EQ(child_schema.flags, ARROW_FLAG_NULLABLE);
  EXPECT_EQ(static_cast<const std::int32_t*>(child.buffers[1])[2], 3);
  child.release(&child);
  child_schema.release(&child_schema);
  EXPECT_EQ(child.release, nullptr);
}

TEST(ExportArrow, ReleasesItsHoldOnTheMemory) {
  auto owner = std::make_shared<const int>(0);
  ColumnData data;
  data.type = Type::int32;
  data.values = owner.get();
  data.length = 1;
  data.stride = 4;
  data.owner = owner;
  ArrowArray array;
  ArrowSchema schema;
  export_arrow(Table({Column("x", data)}), &array, &schema);
  data.owner.reset();
  EXPECT_EQ(owner.use_count(), 2);
  array.release(&array);
  EXPECT_EQ(owner.use_count(), 1);
  schema.release(&schema);
}

TEST(ExportArrow, NeedsStructsToFill) {
  ArrowArray array{};
  ArrowSchema schema{};
  EXPECT_THROW(export_arrow(Table(), nullptr, &schema), DataError);
  EXPECT_THROW(export_arrow(Table(), &array, nullptr), DataError);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(schema.release, nullptr);
}

/// Moves a producer's array into the struct that names a device; counts go on in the producer.
ArrowDeviceArray on_device(Producer& producer, ArrowDeviceType type, std::int64_t id) {
  ArrowDeviceArray device{};
  device.array = std::exchange(producer.array, ArrowArray{});
  device.device_type = type;
  device.device_id = id;
  return device;
}

TEST(ImportArrowDevice, MemoryOfTheHostIsViewed) {
  const std::int32_t values[] = {3, 1, 2};
  Producer producer(3);
  producer.add("i", "a", {nullptr, values});
  {
    ArrowDeviceArray device = on_device(producer, ARROW_DEVICE_CPU, -1);
    const Table table = import_arrow_device(&device, &producer.schema);
    EXPECT_EQ(device.array.release, nullptr);
    EXPECT_EQ(table.column("a").data().values, values);
    EXPECT_EQ(producer.array_releases, 0);
  }
  EXPECT_EQ(producer.array_releases, 1);
  EXPECT_EQ(producer.schema_releases, 1);
}

TEST(ImportArrowDevice, AGpuThatIsNotThereIsToldAndTheArrayReleased) {
  const auto gpus = kernels::cuda::find_devices();
  const std::int32_t values[] = {3, 1, 2};
  Producer producer(3);
  producer.add("i", "a", {nullptr, values});
  ArrowDeviceArray device = on_device(producer, ARROW_DEVICE_CUDA, 1000);
  try {
    import_arrow_device(&device, &producer.schema);
    FAIL();
  } catch (const DeviceError& error) {
    const std::string expected =
        gpus.devices.empty()
            ? "Arrow device array lies on a GPU, and this process has none: " + gpus.reason + "; copy it to the CPU"
            : "Arrow device array lies on GPU 1000, but there ";
    EXPECT_THAT(error.what(), HasSubstr(expected));
  }
  EXPECT_EQ(producer.array_releases, 1);
  EXPECT_EQ(producer.schema_releases, 1);
}

}  // namespace
}  // namespace skyrank

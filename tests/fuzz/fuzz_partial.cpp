#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "engine/operators/gather/gather.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/require.hpp"

// Partial answers from hostile sources. The first byte picks a query, the others up to five partial answers: genuine
// ones of any query, genuine ones with altered rows or ranges, and record batches made of bytes. Each is refused with a
// message or merges like a genuine one.
//
// The C data interface does not say where buffers end. So the batches keep the promises of a producer that no consumer
// can check (buffers as long as lengths and offsets need, characters for all string offsets), and break all others. Of
// bytes more can be checked: fuzz_partial_stream.cpp breaks these promises too.
namespace {

using namespace skyrank;

constexpr std::int64_t kMaxRows = 12;  // length, and offset, of an array
constexpr std::int64_t kWords = 320;  // of 8 bytes in a buffer: both offsets and the length, 32 bytes a value, and more
constexpr std::int64_t kDrawnWords = 16;
constexpr std::size_t kCharacters = 256;

/// Numbers and texts from the fuzzer's bytes; zeros after their end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool is_empty() const { return at_ == end_; }
  std::uint8_t byte() { return is_empty() ? std::uint8_t{0} : *at_++; }
  /// Returns a number from low to high; low after the end.
  std::int64_t number(std::int64_t low, std::int64_t high) { return low + byte() % (high - low + 1); }
  /// Returns true in one case of eight, and never after the end.
  bool rarely() { return byte() % 8 == 7; }

  template <class T, std::size_t N>
  const T& one_of(const std::array<T, N>& items) {
    return items[byte() % N];
  }

  std::string text() {
    std::string text;
    for (auto left = number(0, 24); left > 0; --left) text += static_cast<char>(byte());
    return text;
  }

  /// Returns `right` or, rarely, a number that is wrong or not what others say.
  std::int64_t altered(std::int64_t right) {
    static constexpr std::array<std::int64_t, 9> kOthers = {-1,
                                                            0,
                                                            1,
                                                            3,
                                                            std::numeric_limits<std::int64_t>::min(),
                                                            std::numeric_limits<std::int64_t>::max(),
                                                            (std::int64_t{1} << 48) + 1,
                                                            std::int64_t{1} << 60,
                                                            std::int64_t{1} << 61};
    return rarely() ? one_of(kOthers) : right;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// A record batch made of bytes, with all memory that it points to. Outlives what imports it.
class HostileBatch {
 public:
  HostileBatch(Input& in, const std::string& fingerprint) : in_(in) {
    const std::int64_t length = in_.number(0, kMaxRows);
    const std::int64_t offset = in_.rarely() ? in_.number(0, kMaxRows) : 0;
    std::vector<ArrowArray*> arrays;
    std::vector<ArrowSchema*> schemas;
    for (auto left = in_.number(0, 5); left > 0; --left) add_column(length + offset, arrays, schemas);
    array_.n_children = in_.altered(static_cast<std::int64_t>(arrays.size()));
    schema_.n_children = static_cast<std::int64_t>(schemas.size());
    array_.children = keep(child_arrays_, std::move(arrays)).data();
    schema_.children = keep(child_schemas_, std::move(schemas)).data();
    array_.length = in_.altered(length);
    array_.offset = in_.altered(offset);
    array_.null_count = in_.altered(0);
    array_.n_buffers = in_.altered(1);
    array_.buffers = keep(pointers_, {in_.rarely() ? words() : nullptr}).data();
    schema_.format = in_.rarely() ? nullptr : "+s";
    schema_.metadata = in_.rarely() ? nullptr : keep(texts_, metadata(fingerprint)).c_str();
    array_.release = [](ArrowArray* released) { count_release(released); };
    schema_.release = [](ArrowSchema* released) { count_release(released); };
    array_.private_data = schema_.private_data = &releases_;
  }
  HostileBatch(const HostileBatch&) = delete;
  HostileBatch& operator=(const HostileBatch&) = delete;
  ~HostileBatch() { SKYRANK_REQUIRE(releases_ == 2); }

  Partial import() {
    try {
      return Partial::import_arrow(&array_, &schema_);
    } catch (const DataError&) {
      SKYRANK_REQUIRE(array_.release == nullptr && schema_.release == nullptr);
      throw;
    }
  }

 private:
  template <class T>
  static T& keep(std::deque<T>& store, T value) {
    return store.emplace_back(std::move(value));
  }

  template <class Struct>
  static void count_release(Struct* released) {
    ++*static_cast<int*>(released->private_data);
    released->release = nullptr;
  }

  void add_column(std::int64_t rows, std::vector<ArrowArray*>& arrays, std::vector<ArrowSchema*>& schemas) {
    static constexpr std::array<const char*, 8> kNames = {"row", "a", "g", "f", "d", "t", "", nullptr};
    arrays.push_back(&keep(arrays_, ArrowArray{}));
    schemas.push_back(&keep(schemas_, ArrowSchema{}));
    fill(*arrays.back(), *schemas.back(), rows, 2);
    schemas.back()->name = in_.one_of(kNames);
    if (in_.rarely()) arrays.back() = nullptr;
    if (in_.rarely()) schemas.back() = nullptr;
  }

  /// Fills an array of at least `rows` rows and its schema, with dictionaries in each other up to a depth.
  void fill(ArrowArray& array, ArrowSchema& schema, std::int64_t rows, int depth) {
    static constexpr std::array<const char*, 24> kFormats = {
        "l",   "u",    "g", "U", "b", "tdD", "tdm", "tsu:", "d:10,2", "d:30,4", "d:9,2,32", "d:30,-2,256",
        "tsn", "tss:", "c", "s", "i", "L",   "C",   "e",    "f",      "n",      "+l",       nullptr};
    const bool is_unusual = in_.rarely();
    schema.format = is_unusual ? keep(texts_, in_.text()).c_str() : in_.one_of(kFormats);
    array.length = in_.altered(rows);
    array.offset = in_.rarely() ? in_.altered(in_.number(0, kMaxRows)) : 0;
    array.null_count = in_.altered(in_.number(-1, 0));
    const std::string format = schema.format == nullptr ? "" : schema.format;
    const bool is_string = format == "u" || format == "U";
    array.n_buffers = in_.altered(is_string ? 3 : 2);
    std::vector<const void*> buffers = {
        in_.rarely() ? words() : nullptr,
        is_string ? (format == "u" ? offsets<std::int32_t>() : offsets<std::int64_t>()) : words(), characters()};
    for (const void*& buffer : buffers) buffer = in_.rarely() ? nullptr : buffer;
    array.buffers = in_.rarely() ? nullptr : keep(pointers_, std::move(buffers)).data();
    if (!in_.rarely()) array.release = [](ArrowArray*) {};
    if (!in_.rarely()) schema.release = [](ArrowSchema*) {};
    if (depth == 0 || !in_.rarely()) return;
    array.dictionary = &keep(arrays_, ArrowArray{});
    schema.dictionary = &keep(schemas_, ArrowSchema{});
    fill(*array.dictionary, *schema.dictionary, in_.number(0, kMaxRows), depth - 1);
    if (in_.rarely()) array.dictionary = nullptr;
    if (in_.rarely()) schema.dictionary = nullptr;
  }

  /// Returns a buffer of numbers, most of which ascend; rarely one that is not aligned.
  const void* words() {
    static constexpr std::array<std::int64_t, 4> kExtremes = {
        -1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 0x7ff8000000000000};
    std::vector<std::int64_t> words(kWords);
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < kDrawnWords; ++i) {
      const std::uint8_t byte = in_.byte();
      if (byte < 224) last += byte % 8;
      words[static_cast<std::size_t>(i)] = byte < 224 ? last : kExtremes[byte % 4];
    }
    const auto* bytes = reinterpret_cast<const char*>(keep(words_, std::move(words)).data());
    return bytes + (in_.rarely() ? 1 : 0);
  }

  /// Returns string offsets, of which few descend or are negative, all within the characters.
  template <class T>
  const void* offsets() {
    std::vector<std::int64_t> store(kWords);
    T last = 0;
    for (std::int64_t i = 0; i < 2 * kDrawnWords; ++i) {
      const std::uint8_t byte = in_.byte();
      last = static_cast<T>(byte < 248 ? last + byte % 8 : last - 1);
      std::memcpy(reinterpret_cast<char*>(store.data()) + i * std::int64_t{sizeof(T)}, &last, sizeof last);
    }
    for (std::int64_t i = 2 * kDrawnWords; i < kWords; ++i) {
      std::memcpy(reinterpret_cast<char*>(store.data()) + i * std::int64_t{sizeof(T)}, &last, sizeof last);
    }
    return keep(words_, std::move(store)).data();
  }

  const void* characters() {
    std::string text = "abcab\xff";
    text.resize(kCharacters, 'z');
    return keep(texts_, std::move(text)).data();
  }

  static void append(std::string& bytes, std::int64_t number) {
    const auto value = static_cast<std::int32_t>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  /// Appends the length and the text, or rarely only a length that is none.
  void append(std::string& bytes, const std::string& text) {
    const bool is_broken = in_.rarely();
    append(bytes, is_broken ? std::int64_t{-1} : static_cast<std::int64_t>(text.size()));
    bytes += text;
  }

  std::string metadata(const std::string& fingerprint) {
    static const std::array<std::string, 12> kCovers = {
        "0-4",     "0-8", "4-8", "0-9223372036854775807",  "0-2,3-5", "2-4,0-1",
        "0-3,2-4", "5-3", "",    "0-99999999999999999999", "0-",      "0-1,"};
    const std::array<std::pair<std::string, std::string>, 3> right = {
        {{"skyrank.partial", in_.rarely() ? in_.text() : "2"},
         {"skyrank.query", in_.rarely() ? in_.text() : fingerprint},
         {"skyrank.covers", in_.rarely() ? in_.text() : in_.one_of(kCovers)}}};
    const std::int64_t pairs = in_.rarely() ? in_.number(-1, 3) : 3;
    std::string bytes;
    append(bytes, pairs);
    for (std::int64_t i = 0; i < pairs; ++i) {
      append(bytes, right[static_cast<std::size_t>(i)].first);
      append(bytes, right[static_cast<std::size_t>(i)].second);
    }
    return bytes;
  }

  Input& in_;
  ArrowArray array_{};
  ArrowSchema schema_{};
  int releases_ = 0;
  std::deque<ArrowArray> arrays_;
  std::deque<ArrowSchema> schemas_;
  std::deque<std::vector<ArrowArray*>> child_arrays_;
  std::deque<std::vector<ArrowSchema*>> child_schemas_;
  std::deque<std::vector<const void*>> pointers_;
  std::deque<std::vector<std::int64_t>> words_;
  std::deque<std::string> texts_;
};

const Table& table() {
  static const Table table(
      {Column::own("a", std::vector<std::int64_t>{3, 1, 2, 2, 9, 0, 1, 7},
                   {true, true, true, false, true, true, true, true}),
       Column::own("g", std::vector<std::string>{"x", "y", "x", "", "y", "z", "x", "y"}),
       Column::own("f", std::vector<double>{0.5, -0.0, 1e300, std::numeric_limits<double>::quiet_NaN(), 3, 2, 2, 1})});
  return table;
}

const std::array<Query, 8>& queries() {
  const auto from = [] { return Query::from("t"); };
  static const std::array<Query, 8> queries = {
      from().rank_by({low("a")}).limit(2),
      from().rank_by({high("f")}).offset(1).limit(2).ties(Ties::all).select({"g", "row"}),
      from().prefer({low("a"), high("f")}),
      from().prefer({low("a"), high("f")}).at_least(3).partition_by({"g"}).rank_by({low("f")}).limit(2),
      from().group_by({"g"}).aggregate({count("n"), sum("s", "a"), avg("m", "f"), min("l", "a"), max("h", "f")}),
      from().prefer({low("a"), low("f")}).levels(2).distinct(true).nan(Missing::exclude).select({"row"}),
      from().where("a > 0").rank_by({low("f")}).limit(3).nan(Missing::error).nulls(Missing::exclude),
      from().rank_by({low("1 + 1")}).limit(2).select({"row"}),
  };
  return queries;
}

const Engine& engine() {
  static const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  return engine;
}

/// Returns a genuine partial answer of some of the table's rows.
Partial genuine(Input& in, const Query& query) {
  const std::int64_t begin = in.number(0, table().num_rows());
  const std::int64_t end = in.number(begin, table().num_rows());
  std::vector<RowId> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return engine().partial(in.rarely() ? in.one_of(queries()) : query, exec::gather(table(), rows),
                          in.rarely() ? in.number(0, 20) : begin);
}

/// Returns the column with one other value, as numbers or as texts.
Column altered(Input& in, const Column& column) {
  static const std::array<std::string, 8> kTexts = {"nan", "-inf", "0", "1fp-3", "-1fp1085", "ffffffffffffffff",
                                                    "-1",  ""};
  const auto place = static_cast<std::size_t>(in.number(0, 3));
  std::vector<bool> valid(static_cast<std::size_t>(column.size()), true);
  if (place < valid.size()) valid[place] = !in.rarely();
  if (column.type() == DataType(Type::string)) {
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < column.size(); ++i) values.emplace_back(column.data().string_at(i));
    if (place < values.size()) values[place] = in.rarely() ? in.text() : in.one_of(kTexts);
    return Column::own(column.name(), values, valid);
  }
  std::vector<std::int64_t> values(valid.size(), 1);
  if (place < values.size()) values[place] = in.altered(2);
  return Column::own(column.name(), std::move(values), valid);
}

/// Returns the partial answer with other rows, ranges or columns.
Partial altered(Input& in, const Partial& partial) {
  std::vector<RowRange> covers = partial.covers();
  std::vector<RowId> rows = partial.rows();
  std::vector<Column> columns = partial.columns().columns();
  for (RowRange& range : covers) range = {in.altered(range.begin), in.altered(range.end)};
  for (RowId& row : rows) row = in.altered(row);
  if (in.rarely()) rows.push_back(in.number(0, 20));
  for (Column& column : columns) column = in.rarely() ? altered(in, column) : column;
  if (in.rarely() && !columns.empty()) columns.pop_back();
  if (in.rarely() && !columns.empty()) std::swap(columns.front(), columns.back());
  return {partial.fingerprint(), std::move(covers), std::move(rows),
          columns.empty() ? partial.columns() : Table(std::move(columns))};
}

Partial through_arrow(const Partial& partial) {
  ArrowArray array{};
  ArrowSchema schema{};
  partial.export_arrow(&array, &schema);
  return Partial::import_arrow(&array, &schema);
}

bool is_covered(RowId row, const std::vector<Partial>& partials) {
  for (const Partial& partial : partials) {
    for (const RowRange range : partial.covers()) {
      if (range.begin <= row && row < range.end) return true;
    }
  }
  return false;
}

Partial drawn(Input& in, const Query& query, std::deque<HostileBatch>& batches) {
  switch (in.number(0, 2)) {
    case 0: return genuine(in, query);
    case 1: return altered(in, genuine(in, query));
    default: return batches.emplace_back(in, fingerprint_of(query)).import();
  }
}

std::optional<Result> merged(const Query& query, const std::vector<Partial>& partials) {
  std::optional<Result> result = accepted([&] { return engine().merge(query, partials); });
  if (!result) return result;
  SKYRANK_REQUIRE(result->table.num_rows() == static_cast<std::int64_t>(result->rows.size()));
  for (const RowId row : result->rows) SKYRANK_REQUIRE(is_covered(row, partials));
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const Query& query = in.one_of(queries());
  std::deque<HostileBatch> batches;
  std::vector<Partial> partials;
  for (auto left = in.number(1, 5); left > 0; --left) {
    if (auto partial = accepted([&] { return drawn(in, query, batches); })) partials.push_back(std::move(*partial));
  }
  const std::optional<Result> result = merged(query, partials);
  const std::optional<Partial> one = accepted([&] { return engine().merge_partials(query, partials); });
  if (!result || !one) return 0;
  const Partial sent = through_arrow(*one);
  SKYRANK_REQUIRE(sent.rows() == one->rows() && sent.covers() == one->covers());
  const std::optional<Result> again = merged(query, {sent});
  SKYRANK_REQUIRE(again && again->rows == result->rows && again->levels == result->levels);
  return 0;
}

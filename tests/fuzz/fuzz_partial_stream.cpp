#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "datasets/arrow/partial_stream.hpp"
#include "tests/fuzz/require.hpp"

// Bytes of partial answers from hostile sources. The first byte picks a query; the others alter the bytes of its
// genuine answer, whose fingerprint stays: numbers of the messages' metadata, of offsets and of values are replaced by
// sizes that break things, and bytes by others. All of it is refused with a message, or merges to an answer whose
// values can be read.
namespace {

using namespace skyrank;
using Bytes = std::vector<std::byte>;

const Table& table() {
  static const Table table(
      {Column::own("a", std::vector<std::int64_t>{3, 1, 2, 2, 9}, {true, true, true, false, true}),
       Column::own("g", std::vector<std::string>{"x", "yy", "x", "", "zzz"}, {true, true, false, true, true}),
       Column::own("f", std::vector<double>{0.5, -0.0, 1e300, 3, 2}),
       Column::own("b", std::vector<bool>{true, false, true, true, false}),
       Column::own_as("d", DataType::decimal(10, 2), std::vector<std::int64_t>{100, 250, -5, 0, 7})});
  return table;
}

const std::array<Query, 5>& queries() {
  const auto from = [] { return Query::from("t"); };
  static const std::array<Query, 5> queries = {
      from().rank_by({low("a")}).limit(3),
      from().prefer({low("a"), high("f")}).rank_by({high("g")}),
      from().prefer({low("a"), high("f")}).at_least(3).partition_by({"g"}).rank_by({low("d")}).limit(2),
      from().group_by({"g"}).aggregate({count("n"), sum("s", "a"), avg("m", "f"), min("l", "d"), max("h", "f")}),
      from().where("b").rank_by({low("f")}).limit(2).select({"row"}),
  };
  return queries;
}

const Engine& engine() {
  static const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  return engine;
}

const Bytes& genuine(std::size_t query) {
  static const std::vector<Bytes> all = [] {
    std::vector<Bytes> bytes;
    for (const Query& asked : queries()) {
      bytes.push_back(datasets::partial_to_bytes(engine().partial(asked, table(), 0)));
    }
    return bytes;
  }();
  return all[query];
}

/// Replaces numbers and bytes. Each change takes four bytes: the place in two, what is done, and the new value.
Bytes altered(Bytes bytes, const std::uint8_t* changes, std::size_t size) {
  static constexpr std::array<std::uint64_t, 12> kSizes = {0,
                                                           1,
                                                           7,
                                                           600,
                                                           0x7fffffff,
                                                           0x80000000,
                                                           0xffffffff,
                                                           std::uint64_t{1} << 32,
                                                           std::uint64_t{1} << 48,
                                                           std::uint64_t{1} << 61,
                                                           std::uint64_t{1} << 63,
                                                           ~std::uint64_t{0}};
  for (; size >= 4 && bytes.size() > 16; changes += 4, size -= 4) {
    const std::size_t place = (changes[0] + 256U * changes[1]) % (bytes.size() - 8);
    const std::uint64_t number = kSizes[changes[3] % kSizes.size()];
    switch (changes[2] % 6) {
      case 0: std::memcpy(bytes.data() + (place & ~std::size_t{7}), &number, 8); break;
      case 1: std::memcpy(bytes.data() + (place & ~std::size_t{3}), &number, 4); break;
      case 2: std::memcpy(bytes.data() + (place & ~std::size_t{1}), &number, 2); break;
      case 3: bytes[place] = std::byte{changes[3]}; break;
      case 4: bytes[place] ^= std::byte{1} << (changes[3] % 8); break;
      default: bytes.resize(place + 8);
    }
  }
  return bytes;
}

/// Returns what `f` returns, or nothing where it refuses, with a message.
template <class F>
auto accepted(const F& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
    return std::nullopt;
  }
}

void read_all(const Table& answer) {
  for (const Column& column : answer.columns()) {
    for (std::int64_t row = 0; row < column.size(); ++row) static_cast<void>(to_string(column.value(row)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t picked = data[0] % queries().size();
  const Bytes bytes = altered(genuine(picked), data + 1, size - 1);
  const auto partial = accepted([&] { return datasets::partial_from_bytes(bytes); });
  if (!partial) return 0;
  try {
    const Result result = engine().merge(queries()[picked], {*partial});
    read_all(result.table);
    const Partial one = engine().merge_partials(queries()[picked], {*partial});
    const Partial sent = datasets::partial_from_bytes(datasets::partial_to_bytes(one));
    SKYRANK_REQUIRE(sent.rows() == one.rows() && sent.covers() == one.covers());
    SKYRANK_REQUIRE(engine().merge(queries()[picked], {sent}).rows == result.rows);
  } catch (const DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
  }
  return 0;
}

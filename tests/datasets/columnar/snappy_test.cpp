// Decompression of Snappy: against Arrow's codec over data of many kinds, against a plain reading of the format over
// elements that no compressor writes, and over damaged data.
#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "datasets/columnar/decode/snappy.hpp"

namespace skyrank::datasets {
namespace {

using Octets = std::vector<std::uint8_t>;
using Random = std::mt19937;

arrow::util::Codec& arrow_codec() {
  static const auto codec = arrow::util::Codec::Create(arrow::Compression::SNAPPY).ValueOrDie();
  return *codec;
}

Octets compressed(const Octets& data) {
  arrow::util::Codec& codec = arrow_codec();
  const auto size = static_cast<std::int64_t>(data.size());
  Octets out(static_cast<std::size_t>(codec.MaxCompressedLen(size, data.data())));
  const std::int64_t used =
      codec.Compress(size, data.data(), static_cast<std::int64_t>(out.size()), out.data()).ValueOrDie();
  out.resize(static_cast<std::size_t>(used));
  return out;
}

/// Decompresses into memory of just `size` bytes, so that the address sanitizer sees each byte too many. The bytes come
/// from such memory as well.
std::optional<Octets> decompressed(const Octets& data, std::size_t size) {
  const auto in = std::make_unique<std::uint8_t[]>(data.size());
  const auto out = std::make_unique<std::uint8_t[]>(size);
  std::copy(data.begin(), data.end(), in.get());
  if (!snappy_decompress({in.get(), data.size()}, {out.get(), size})) return std::nullopt;
  return Octets(out.get(), out.get() + size);
}

/// Returns what Arrow makes of the data, or nothing where it refuses them.
std::optional<Octets> decompressed_by_arrow(const Octets& data, std::size_t size) {
  Octets out(size + 1);  // Arrow wants memory even for nothing
  const auto made = arrow_codec().Decompress(static_cast<std::int64_t>(data.size()), data.data(),
                                             static_cast<std::int64_t>(size), out.data());
  if (!made.ok() || *made != static_cast<std::int64_t>(size)) return std::nullopt;
  out.resize(size);
  return out;
}

Octets bytes_of(std::size_t size, const std::function<std::uint8_t(std::size_t)>& byte) {
  Octets bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = byte(i);
  return bytes;
}

/// Numbers of `width` bytes, the lowest first, below `limit`.
Octets numbers(std::size_t size, std::size_t width, std::uint64_t limit, Random& random) {
  std::uint64_t number = 0;
  return bytes_of(size, [&](std::size_t i) {
    if (i % width == 0) number = 1'500'000'000'000 + random() % limit;
    return static_cast<std::uint8_t>(number >> (8 * (i % width)));
  });
}

TEST(Snappy, GivesBackWhatArrowCompressed) {
  Random random(1);
  for (const std::size_t size : {0, 1, 15, 16, 17, 60, 61, 127, 128, 129, 200, 257, 1'000, 65'536, 65'537, 300'000}) {
    std::vector<Octets> all = {
        bytes_of(size, [&](std::size_t) { return static_cast<std::uint8_t>(random()); }),
        bytes_of(size, [&](std::size_t) { return static_cast<std::uint8_t>("abc "[random() % 4]); }),
        numbers(size, 8, 1'000'000, random),
        numbers(size, 4, 50, random),
    };
    for (const std::size_t period : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 33, 100}) {
      all.push_back(bytes_of(size, [&](std::size_t i) { return static_cast<std::uint8_t>(i % period * 37); }));
    }
    for (const Octets& data : all) {
      const Octets packed = compressed(data);
      EXPECT_EQ(snappy_size(packed), data.size());
      EXPECT_EQ(decompressed(packed, data.size()), data);
    }
  }
}

/// Data of Snappy in the making, and what they stand for.
class Elements {
 public:
  /// A literal whose length has `length_bytes` bytes of its own; 0 for one of up to 60 bytes.
  void literal(std::size_t length, std::size_t length_bytes, Random& random) {
    const std::size_t code = length_bytes == 0 ? length - 1 : 59 + length_bytes;
    tags_.push_back(static_cast<std::uint8_t>(code << 2));
    number(length - 1, length_bytes);
    for (std::size_t i = 0; i < length; ++i) {
      tags_.push_back(static_cast<std::uint8_t>(random()));
      data_.push_back(tags_.back());
    }
  }

  /// A copy whose distance has 1 (and then up to 3 bits more), 2 or 4 bytes.
  void copy(std::size_t length, std::size_t distance, std::size_t distance_bytes) {
    if (distance_bytes == 1) {
      tags_.push_back(static_cast<std::uint8_t>(distance >> 8 << 5 | (length - 4) << 2 | 1));
    } else {
      tags_.push_back(static_cast<std::uint8_t>((length - 1) << 2 | (distance_bytes == 2 ? 2 : 3)));
    }
    number(distance, distance_bytes);
    for (std::size_t i = 0; i < length && distance - 1 < data_.size(); ++i) {
      data_.push_back(data_[data_.size() - distance]);
    }
  }

  const Octets& data() const { return data_; }

  Octets packed() const {
    Octets all;
    std::size_t size = data_.size();
    for (; size >= 0x80; size >>= 7) all.push_back(static_cast<std::uint8_t>(size | 0x80));
    all.push_back(static_cast<std::uint8_t>(size));
    all.insert(all.end(), tags_.begin(), tags_.end());
    return all;
  }

 private:
  void number(std::size_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) tags_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }

  Octets tags_;
  Octets data_;
};

TEST(Snappy, CopiesFromEachDistance) {
  Random random(2);
  // Elements after the copy, so that it is among the first or among the last bytes.
  for (const std::size_t after : {0, 1, 20, 300}) {
    for (std::size_t distance = 1; distance <= 40; ++distance) {
      for (std::size_t length = 1; length <= 64; ++length) {
        Elements elements;
        elements.literal(40, 0, random);
        elements.copy(length, distance, 2);
        elements.copy(length, distance, 4);
        if (length >= 4 && length <= 11) elements.copy(length, distance, 1);
        if (after > 0) elements.literal(after, 2, random);
        ASSERT_EQ(decompressed(elements.packed(), elements.data().size()), elements.data())
            << length << " bytes from " << distance << " bytes ahead, and " << after << " after them";
      }
    }
  }
}

/// Elements of all kinds.
Elements some_elements(Random& random) {
  Elements elements;
  elements.literal(1 + random() % 60, 0, random);
  for (std::size_t left = random() % 200; left-- > 0;) {
    const std::size_t room = elements.data().size();
    switch (random() % 6) {
      case 0: elements.literal(1 + random() % 60, 0, random); break;
      case 1: elements.literal(1 + random() % 250, 1 + random() % 4, random); break;
      case 2: elements.copy(4 + random() % 8, 1 + random() % std::min<std::size_t>(room, 2'047), 1); break;
      case 3: elements.copy(1 + random() % 64, 1 + random() % std::min<std::size_t>(room, 20), 2); break;
      case 4: elements.copy(1 + random() % 64, 1 + random() % std::min<std::size_t>(room, 65'535), 2); break;
      default: elements.copy(1 + random() % 64, 1 + random() % room, 4);
    }
  }
  return elements;
}

TEST(Snappy, ReadsElementsOfAllKinds) {
  Random random(3);
  for (int trial = 0; trial < 2'000; ++trial) {
    const Elements elements = some_elements(random);
    ASSERT_EQ(decompressed(elements.packed(), elements.data().size()), elements.data()) << trial;
  }
}

TEST(Snappy, RefusesDataThatAreCutShort) {
  Random random(4);
  for (int trial = 0; trial < 30; ++trial) {
    const Elements elements = some_elements(random);
    Octets data = elements.packed();
    while (!data.empty()) {
      data.pop_back();
      ASSERT_EQ(decompressed(data, elements.data().size()), std::nullopt) << data.size();
    }
  }
}

TEST(Snappy, RefusesAnotherSize) {
  Random random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const Elements elements = some_elements(random);
    Octets data = elements.packed();
    const std::size_t size = elements.data().size();
    EXPECT_EQ(decompressed(data, size + 1), std::nullopt);
    EXPECT_EQ(decompressed(data, size - 1), std::nullopt);
    // Data that state that size have other elements.
    for (const std::size_t stated : {size - 1, size + 1}) {
      if (size < 0x80 || stated < 0x80 || stated >= 0x4000) continue;
      data[0] = static_cast<std::uint8_t>(stated | 0x80);
      data[1] = static_cast<std::uint8_t>(stated >> 7);
      EXPECT_EQ(decompressed(data, stated), std::nullopt);
    }
  }
}

TEST(Snappy, RefusesCopiesFromBeforeTheBeginning) {
  Random random(6);
  for (const std::size_t before : {1, 60}) {
    for (const std::size_t after : {1, 300}) {
      for (const std::size_t distance : {std::size_t{0}, before + 1, before + 300, std::size_t{0xffff}}) {
        for (const std::size_t bytes : {2, 4}) {
          Elements elements;
          elements.literal(before, 0, random);
          elements.copy(8, distance, bytes);
          elements.literal(after + 8, 2, random);  // 8 for the copy's bytes
          EXPECT_EQ(decompressed(elements.packed(), elements.data().size()), std::nullopt) << distance;
        }
      }
    }
  }
}

TEST(Snappy, JudgesDamagedDataAsArrowDoes) {
  Random random(7);
  int refused = 0;
  for (int trial = 0; trial < 5'000; ++trial) {
    const Elements elements = some_elements(random);
    Octets data = elements.packed();
    for (std::size_t left = 1 + random() % 3; left-- > 0;) {
      std::uint8_t& byte = data[2 + random() % (data.size() - 2)];
      byte = static_cast<std::uint8_t>(byte ^ 1U << random() % 8);
    }
    const auto found = decompressed(data, elements.data().size());
    ASSERT_EQ(found, decompressed_by_arrow(data, elements.data().size())) << trial;
    refused += !found;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 4'900);
}

TEST(Snappy, KnowsSizesOfUpToFiveBytes) {
  EXPECT_EQ(snappy_size(Octets{}), std::nullopt);
  EXPECT_EQ(snappy_size(Octets{0}), 0U);
  EXPECT_EQ(snappy_size(Octets{0x7f, 1}), 127U);
  EXPECT_EQ(snappy_size(Octets{0xa0, 0x06}), 800U);
  EXPECT_EQ(snappy_size(Octets{0xff, 0xff, 0xff, 0xff, 0x0f}), 0xffffffffU);
  EXPECT_EQ(snappy_size(Octets{0xff, 0xff, 0xff, 0xff, 0x1f}), std::nullopt);  // 33 bits
  EXPECT_EQ(snappy_size(Octets{0x80, 0x80, 0x80, 0x80, 0x80, 0}), std::nullopt);
  EXPECT_EQ(snappy_size(Octets{0x80, 0x80}), std::nullopt);
}

}  // namespace
}  // namespace skyrank::datasets

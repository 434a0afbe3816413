// The checksum of pages of Parquet files, against its definition.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "datasets/columnar/checks/crc32.hpp"

namespace skyrank::datasets {
namespace {

/// The remainder of the bytes, one bit after the other.
std::uint32_t bit_by_bit(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

TEST(Crc32, IsThatOfOtherPrograms) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32({reinterpret_cast<const std::uint8_t*>(digits.data()), digits.size()}), 0xCBF43926U);
  EXPECT_EQ(crc32({}), 0U);
}

TEST(Crc32, AnyLengthAtAnyAddress) {
  std::vector<std::uint8_t> bytes(5'000);
  std::uint32_t next = 1;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((next = next * 1'664'525 + 1'013'904'223) >> 24);
  const std::span all(bytes);
  for (std::size_t size = 0; size < 400; ++size) {
    for (const std::size_t begin : {std::size_t{0}, size % 17}) {
      const auto part = all.subspan(begin, size);
      ASSERT_EQ(crc32(part), bit_by_bit(part)) << size << " bytes from " << begin;
    }
  }
  EXPECT_EQ(crc32(all), bit_by_bit(all));
  EXPECT_EQ(crc32(all.subspan(3)), bit_by_bit(all.subspan(3)));
}

}  // namespace
}  // namespace skyrank::datasets

#include "datasets/columnar/checks/crc32.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "datasets/columnar/checks/crc32.cpp"
// Vectors of unknown size have no product of 64 bits on every processor that has them.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SKYRANK_DATASETS_CRC32
#define SKYRANK_DATASETS_CRC32
namespace skyrank::datasets {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::size_t kSlices = 8;

using CrcTables = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// Makes tables in which [i][b] is the remainder of a byte b that i bytes follow.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = make_crc_tables();

/// Appends bytes to those that have the remainder `crc`, eight at a time.
std::uint32_t extend_by_tables(std::uint32_t crc, const std::uint8_t* bytes, std::size_t size) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; size >= kSlices; bytes += kSlices, size -= kSlices) {
      std::uint64_t next = 0;
      std::memcpy(&next, bytes, sizeof next);
      next ^= crc;
      crc = 0;
      for (std::size_t i = 0; i < kSlices; ++i) crc ^= kCrcTables[kSlices - 1 - i][(next >> (8 * i)) & 0xFF];
    }
  }
  for (; size > 0; ++bytes, --size) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ *bytes) & 0xFF];
  return crc;
}

}  // namespace
}  // namespace skyrank::datasets
#endif

HWY_BEFORE_NAMESPACE();
namespace skyrank::datasets {
namespace HWY_NAMESPACE {
namespace {

// The other targets would emulate the product bit by bit.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2

std::uint32_t extend_crc(std::uint32_t crc, const std::uint8_t* bytes, std::size_t size) {
  return extend_by_tables(crc, bytes, size);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::FixedTag<std::uint64_t, 2>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kBlock = 16;

HWY_INLINE Vec load(const std::uint8_t* bytes) {
  return hn::BitCast(Tag(), hn::LoadU(hn::FixedTag<std::uint8_t, kBlock>(), bytes));
}

/// Returns the 16 bytes that `next` becomes when `folded`, which lies as far ahead as `factors` say, is added to it.
HWY_INLINE Vec fold(Vec folded, Vec factors, Vec next) {
  return hn::Xor(hn::Xor(hn::CLMulLower(folded, factors), hn::CLMulUpper(folded, factors)), next);
}

std::uint32_t extend_crc(std::uint32_t crc, const std::uint8_t* bytes, std::size_t size) {
  constexpr std::size_t kChains = 4;
  constexpr std::size_t kStride = kChains * kBlock;
  if (size < 2 * kStride) return extend_by_tables(crc, bytes, size);
  const Tag tag;
  // x^(n + 32) and x^(n - 32) mod P, reflected, for n = 512 and 128 bits.
  HWY_ALIGN constexpr std::uint64_t kFactors64[] = {0x1'5444'2BD4, 0x1'C6E4'1596};
  HWY_ALIGN constexpr std::uint64_t kFactors16[] = {0x1'7519'97D0, 0x0'CCAA'009E};
  HWY_ALIGN const std::uint64_t start[] = {crc, 0};
  const Vec by64 = hn::Load(tag, kFactors64);
  const Vec by16 = hn::Load(tag, kFactors16);
  Vec a = hn::Xor(load(bytes), hn::Load(tag, start));
  Vec b = load(bytes + kBlock);
  Vec c = load(bytes + 2 * kBlock);
  Vec d = load(bytes + 3 * kBlock);
  for (bytes += kStride, size -= kStride; size >= kStride; bytes += kStride, size -= kStride) {
    a = fold(a, by64, load(bytes));
    b = fold(b, by64, load(bytes + kBlock));
    c = fold(c, by64, load(bytes + 2 * kBlock));
    d = fold(d, by64, load(bytes + 3 * kBlock));
  }
  Vec all = fold(fold(fold(a, by16, b), by16, c), by16, d);
  for (; size >= kBlock; bytes += kBlock, size -= kBlock) all = fold(all, by16, load(bytes));
  HWY_ALIGN std::uint8_t left[kBlock];
  hn::Store(hn::BitCast(hn::FixedTag<std::uint8_t, kBlock>(), all), hn::FixedTag<std::uint8_t, kBlock>(), left);
  return extend_by_tables(extend_by_tables(0, left, kBlock), bytes, size);
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::datasets
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::datasets {

HWY_EXPORT(extend_crc);

std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
  return ~HWY_DYNAMIC_DISPATCH(extend_crc)(~std::uint32_t{0}, bytes.data(), bytes.size());
}

}  // namespace skyrank::datasets
#endif

#include <arrow/result.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datasets/columnar/decode/snappy.hpp"
#include "tests/fuzz/require.hpp"

namespace {

/// Returns true if bytes may hold a literal of 2^32 bytes, which the library of Snappy takes for one of none.
bool may_wrap(std::span<const std::uint8_t> compressed) {
  static constexpr std::array<std::uint8_t, 5> kLiteral{0xfc, 0xff, 0xff, 0xff, 0xff};
  return std::search(compressed.begin(), compressed.end(), kLiteral.begin(), kLiteral.end()) != compressed.end();
}

}  // namespace

// All bytes are refused, or decompress to what the library of Snappy makes of them. The buffers have no room beyond
// what they hold, so that the sanitizer sees each byte that is read or written outside of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kMaxBytes = 1 << 20;
  static const auto codec = arrow::util::Codec::Create(arrow::Compression::SNAPPY).ValueOrDie();
  const std::vector<std::uint8_t> compressed(data, data + size);
  const auto length = skyrank::datasets::snappy_size(compressed);
  if (!length || *length > kMaxBytes) return 0;
  std::vector<std::uint8_t> out(*length);
  std::vector<std::uint8_t> expected(*length + 1);
  const bool is_sound = skyrank::datasets::snappy_decompress(compressed, out);
  const auto bytes = codec->Decompress(static_cast<std::int64_t>(size), compressed.data(), *length, expected.data());
  SKYRANK_REQUIRE(is_sound == bytes.ok() || (!is_sound && may_wrap(compressed)));
  expected.resize(*length);
  SKYRANK_REQUIRE(!is_sound || out == expected);
  return 0;
}

#include <arrow/result.h>
#include <arrow/util/compression.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datasets/columnar/snappy.hpp"
#include "tests/fuzz/require.hpp"

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
  SKYRANK_REQUIRE(is_sound == bytes.ok());
  expected.resize(*length);
  SKYRANK_REQUIRE(!is_sound || out == expected);
  return 0;
}

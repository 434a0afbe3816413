#include "datasets/columnar/decode/snappy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace skyrank::datasets {
namespace {

using Byte = std::uint8_t;

constexpr std::size_t kBlock = 16;              // bytes that are moved at once
constexpr unsigned kLongLiteral = kBlock << 2;  // least tag of a literal of more than a block
constexpr std::size_t kMaxHeader = 5;           // of an element: its tag, and a length or distance
constexpr std::ptrdiff_t kMargin = 128;         // more than one pass of the fast loop reads and writes without a check

/// Bytes that follow their element's header.
struct Literal {
  std::size_t length = 0;
  std::size_t header = 0;
};

/// Bytes that were written before, `distance` bytes ahead of those that they are copied to.
struct Copy {
  std::size_t length = 0;
  std::size_t distance = 0;
};

bool is_literal(unsigned tag) { return (tag & 3) == 0; }

std::uint32_t load_32(const Byte* in) {
  return std::uint32_t{in[0]} | std::uint32_t{in[1]} << 8 | std::uint32_t{in[2]} << 16 | std::uint32_t{in[3]} << 24;
}

/// Reads the header of a literal. kMaxHeader bytes can be read at `in`.
Literal literal_at(const Byte* in) {
  const unsigned code = *in >> 2U;
  if (code < 60) return {.length = code + 1, .header = 1};
  const unsigned bytes = code - 59;
  const std::uint32_t length = load_32(in + 1) & (0xffffffffU >> (32 - 8 * bytes));
  return {.length = std::size_t{length} + 1, .header = 1 + bytes};
}

/// Reads a copy and moves `in`, where kMaxHeader bytes can be read, behind it. Masks tell the two short kinds apart: a
/// branch predictor cannot, as the kind says how far back the copy is.
inline Copy read_copy(const Byte*& in) {
  const unsigned tag = *in;
  const unsigned kind = tag & 3;
  const unsigned length = (tag >> 2) + 1;
  const std::uint32_t next = load_32(in + 1);
  if (kind == 3) {
    in += 5;
    return {.length = length, .distance = next};
  }
  in += 1 + kind;
  const unsigned is_near = 0U - (kind & 1);  // all bits, or none
  const unsigned high = tag >> 5;            // of the distance of a near copy, whose length has the 3 bits below
  return {.length = length + (is_near & (3 - 8 * high)),
          .distance = (next & (0xffffU >> (is_near & 8))) | (is_near & high << 8)};
}

/// Returns true if `distance` does not lead to before `begin`, and is not 0.
bool is_within(std::size_t distance, const Byte* begin, const Byte* out) {
  return distance - 1 < static_cast<std::size_t>(out - begin);
}

void move_block(Byte* to, const Byte* from) {
  std::array<Byte, kBlock> block;  // both may overlap
  std::memcpy(block.data(), from, kBlock);
  std::memcpy(to, block.data(), kBlock);
}

/// Copies in whole blocks, and returns the end of the copy.
Byte* copy_blocks(Byte* out, const Copy& copy) {
  Byte* const end = out + copy.length;
  const Byte* from = out - copy.distance;
  if (copy.length <= std::min(copy.distance, kBlock)) {
    move_block(out, from);
    return end;
  }
  // The bytes from `from` on repeat, so that each block that overlaps its source doubles the distance between the two.
  while (out - from < static_cast<std::ptrdiff_t>(kBlock) && out < end) {
    move_block(out, from);
    out += out - from;
  }
  for (; out < end; out += kBlock, from += kBlock) move_block(out, from);
  return end;
}

/// Decompresses the elements between `in` and `in_end`, one byte of a copy after the other.
bool decompress_rest(const Byte* in, const Byte* in_end, const Byte* begin, Byte* out, const Byte* out_end) {
  while (in < in_end) {
    const auto in_left = static_cast<std::size_t>(in_end - in);
    const auto out_left = static_cast<std::size_t>(out_end - out);
    std::array<Byte, kMaxHeader> header{};
    std::memcpy(header.data(), in, std::min(in_left, kMaxHeader));
    if (is_literal(header.front())) {
      const Literal literal = literal_at(header.data());
      if (literal.header > in_left || literal.length > in_left - literal.header || literal.length > out_left)
        return false;
      std::memcpy(out, in + literal.header, literal.length);
      in += literal.header + literal.length;
      out += literal.length;
    } else {
      const Byte* header_end = header.data();
      const Copy copy = read_copy(header_end);
      const std::ptrdiff_t bytes = header_end - header.data();
      if (bytes > in_end - in || copy.length > out_left || !is_within(copy.distance, begin, out)) return false;
      const Byte* from = out - copy.distance;
      for (std::size_t i = 0; i < copy.length; ++i) out[i] = from[i];
      in += bytes;
      out += copy.length;
    }
  }
  return out == out_end;
}

/// Decompresses elements while all that a pass may touch is within both spans, then the rest.
bool decompress(const Byte* in, const Byte* in_end, Byte* out, const Byte* out_end) {
  const Byte* const begin = out;
  const Byte* const in_fast = in_end - std::min(kMargin, in_end - in);
  const Byte* const out_fast = out_end - std::min(kMargin, out_end - out);
  while (in < in_fast && out < out_fast) {
    const unsigned tag = *in;
    if (is_literal(tag)) {
      if (tag >= kLongLiteral) {
        const Literal literal = literal_at(in);
        in += literal.header;
        if (literal.length > static_cast<std::size_t>(std::min(in_end - in, out_end - out))) return false;
        std::memcpy(out, in, literal.length);
        in += literal.length;
        out += literal.length;
        continue;
      }
      const std::size_t length = (tag >> 2) + 1;
      move_block(out, in + 1);
      in += length + 1;
      out += length;
      if (is_literal(*in)) continue;
    }
    const Copy copy = read_copy(in);
    if (!is_within(copy.distance, begin, out)) return false;
    out = copy_blocks(out, copy);
  }
  return decompress_rest(in, in_end, begin, out, out_end);
}

/// A number of 7 bits a byte, the lowest first, and how many bytes it has.
struct Prefix {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

std::optional<Prefix> prefix_of(std::span<const Byte> compressed) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min(compressed.size(), kMaxHeader); ++i) {
    value |= std::uint64_t{compressed[i] & 0x7fU} << (7 * i);
    if (compressed[i] >= 0x80) continue;
    if (value > 0xffffffffU) return std::nullopt;
    return Prefix{static_cast<std::uint32_t>(value), i + 1};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> snappy_size(std::span<const std::uint8_t> compressed) {
  const auto prefix = prefix_of(compressed);
  return prefix ? std::optional(prefix->value) : std::nullopt;
}

bool snappy_decompress(std::span<const std::uint8_t> compressed, std::span<std::uint8_t> out) {
  const auto prefix = prefix_of(compressed);
  if (!prefix || prefix->value != out.size()) return false;
  const Byte* const in = compressed.data();
  return decompress(in + prefix->bytes, in + compressed.size(), out.data(), out.data() + out.size());
}

}  // namespace skyrank::datasets

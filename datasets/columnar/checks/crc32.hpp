#pragma once

#include <cstdint>
#include <span>

// The CRC-32 of gzip, zlib and Parquet (polynomial 0x04C11DB7, bits reflected), at about the speed of memory.
//
// Bytes are coefficients of a polynomial over GF(2), and the checksum is its remainder by P of degree 32. What lies `n`
// bits ahead counts x^n mod P times what it is, so 16 bytes are folded onto those 64 bytes on by two carry-less
// products of 64 bits with constants; four such chains run side by side. The 16 bytes that are left have the same
// remainder as all that was folded, and a table gives it. Processors without that product use tables for everything.
// Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009.
namespace skyrank::datasets {

/// Returns the checksum of some bytes.
std::uint32_t crc32(std::span<const std::uint8_t> bytes);

}  // namespace skyrank::datasets

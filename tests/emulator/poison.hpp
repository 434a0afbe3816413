#pragma once

#include <cstdint>

namespace skyrank::emulator {

/// Content of memory that nobody has written.
inline constexpr unsigned char kPoison = 0xa5;
inline constexpr std::uint64_t kPoisonWord = 0xa5a5a5a5a5a5a5a5;

}  // namespace skyrank::emulator

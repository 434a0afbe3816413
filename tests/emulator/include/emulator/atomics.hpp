#pragma once

#include <algorithm>

// Atomic operations: one thread runs at a time, so plain ones are atomic. The types are those that CUDA has, no more.

#define EMULATOR_ATOMIC(name, type, result)                                            \
  inline type name(type* address, type value) {                                        \
    const type old = *address;                                                         \
    *address = result;                                                                 \
    return old;                                                                        \
  }                                                                                    \
  inline type name##_block(type* address, type value) { return name(address, value); } \
  inline type name##_system(type* address, type value) { return name(address, value); }

#define EMULATOR_ATOMICS(type)                           \
  EMULATOR_ATOMIC(atomicExch, type, value)               \
  EMULATOR_ATOMIC(atomicMin, type, std::min(old, value)) \
  EMULATOR_ATOMIC(atomicMax, type, std::max(old, value)) \
  EMULATOR_ATOMIC(atomicAnd, type, old& value)           \
  EMULATOR_ATOMIC(atomicOr, type, old | value)           \
  EMULATOR_ATOMIC(atomicXor, type, old ^ value)

EMULATOR_ATOMICS(int)
EMULATOR_ATOMICS(unsigned)
EMULATOR_ATOMICS(unsigned long long)

// Sums of int wrap around, as those of unsigned do.
EMULATOR_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
EMULATOR_ATOMIC(atomicAdd, unsigned, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicAdd, float, old + value)
EMULATOR_ATOMIC(atomicAdd, double, old + value)
EMULATOR_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
EMULATOR_ATOMIC(atomicSub, unsigned, old - value)
EMULATOR_ATOMIC(atomicMin, long long, std::min(old, value))
EMULATOR_ATOMIC(atomicMax, long long, std::max(old, value))
EMULATOR_ATOMIC(atomicExch, float, value)
EMULATOR_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)

#undef EMULATOR_ATOMICS
#undef EMULATOR_ATOMIC

#define EMULATOR_COMPARE_AND_SWAP(type)                                      \
  inline type atomicCAS(type* address, type expected, type desired) {        \
    const type old = *address;                                               \
    if (old == expected) *address = desired;                                 \
    return old;                                                              \
  }                                                                          \
  inline type atomicCAS_block(type* address, type expected, type desired) {  \
    return atomicCAS(address, expected, desired);                            \
  }                                                                          \
  inline type atomicCAS_system(type* address, type expected, type desired) { \
    return atomicCAS(address, expected, desired);                            \
  }

EMULATOR_COMPARE_AND_SWAP(int)
EMULATOR_COMPARE_AND_SWAP(unsigned)
EMULATOR_COMPARE_AND_SWAP(unsigned short)
EMULATOR_COMPARE_AND_SWAP(unsigned long long)
#undef EMULATOR_COMPARE_AND_SWAP

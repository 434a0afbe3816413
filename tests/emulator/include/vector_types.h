#pragma once

// CUDA's short vectors, with CUDA's alignments, and make_*.

#define EMULATOR_VECTORS(name, type, align2, align4)                             \
  struct name##1 {                                                               \
    type x;                                                                      \
  };                                                                             \
  struct alignas(align2) name##2 {                                               \
    type x, y;                                                                   \
  };                                                                             \
  struct name##3 {                                                               \
    type x, y, z;                                                                \
  };                                                                             \
  struct alignas(align4) name##4 {                                               \
    type x, y, z, w;                                                             \
  };                                                                             \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

EMULATOR_VECTORS(char, signed char, 2, 4)
EMULATOR_VECTORS(uchar, unsigned char, 2, 4)
EMULATOR_VECTORS(short, short, 4, 8)
EMULATOR_VECTORS(ushort, unsigned short, 4, 8)
EMULATOR_VECTORS(int, int, 8, 16)
EMULATOR_VECTORS(uint, unsigned int, 8, 16)
EMULATOR_VECTORS(long, long, 16, 16)
EMULATOR_VECTORS(ulong, unsigned long, 16, 16)
EMULATOR_VECTORS(longlong, long long, 16, 16)
EMULATOR_VECTORS(ulonglong, unsigned long long, 16, 16)
EMULATOR_VECTORS(float, float, 8, 16)
EMULATOR_VECTORS(double, double, 16, 16)

#undef EMULATOR_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_count = 1, unsigned y_count = 1, unsigned z_count = 1)
      : x(x_count), y(y_count), z(z_count) {}
  constexpr dim3(uint3 count) : x(count.x), y(count.y), z(count.z) {}
};

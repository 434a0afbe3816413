#pragma once

#include <cstdio>
#include <cstdlib>

// Ends a fuzz run where a promise is broken; unlike assert, in every build.
#define SKYRANK_REQUIRE(condition)                                                        \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

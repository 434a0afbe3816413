#pragma once

#include <type_traits>

// Loads and stores with cache hints, which mean nothing here.

#define EMULATOR_LOAD(name)  \
  template <class T>         \
  T name(const T* address) { \
    return *address;         \
  }
#define EMULATOR_STORE(name)                             \
  template <class T>                                     \
  void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                    \
  }

EMULATOR_LOAD(__ldg)
EMULATOR_LOAD(__ldca)
EMULATOR_LOAD(__ldcg)
EMULATOR_LOAD(__ldcs)
EMULATOR_LOAD(__ldcv)
EMULATOR_LOAD(__ldlu)
EMULATOR_STORE(__stcg)
EMULATOR_STORE(__stcs)
EMULATOR_STORE(__stwb)
EMULATOR_STORE(__stwt)

#undef EMULATOR_LOAD
#undef EMULATOR_STORE

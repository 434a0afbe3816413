#pragma once

#include <skyrank/export.hpp>

// The version of these headers; CMake takes the project's from here.
#define SKYRANK_VERSION_MAJOR 0
#define SKYRANK_VERSION_MINOR 3
#define SKYRANK_VERSION_PATCH 0

namespace skyrank {
inline namespace v0 {

/// "major.minor.patch" of the linked library.
SKYRANK_EXPORT const char* version() noexcept;

}  // namespace v0
}  // namespace skyrank

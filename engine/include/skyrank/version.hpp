#pragma once

#include <skyrank/export.hpp>

namespace skyrank {

/// "major.minor.patch" of the linked library.
SKYRANK_EXPORT const char* version() noexcept;

}  // namespace skyrank

#pragma once

namespace skyrank {

/// "major.minor.patch" of the linked library.
const char* version() noexcept;

}  // namespace skyrank

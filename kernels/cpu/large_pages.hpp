#pragma once

#include <cstddef>

namespace skyrank::kernels {

/// Asks the system for large pages where memory, which has not been touched yet, is large: pages are fresh from the
/// system, and in small ones that costs more than to fill them. It need not comply.
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace skyrank::kernels

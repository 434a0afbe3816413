#include "kernels/cpu/large_pages.hpp"

#include <memory>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace skyrank::kernels {

void prefer_large_pages(void* memory, std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kPage = std::size_t{2} << 20;
  void* begin = memory;
  std::size_t left = bytes;
  if (std::align(kPage, kPage, begin, left) == nullptr) return;
  (void)madvise(begin, left / kPage * kPage, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

}  // namespace skyrank::kernels

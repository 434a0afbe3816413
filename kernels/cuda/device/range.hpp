#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace skyrank::kernels::cuda {

/// A named stretch of host time that profilers show. Nothing where the toolkit has no NVTX.
class Range {
 public:
#if __has_include(<nvtx3/nvToolsExt.h>)
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
#else
  explicit Range(const char* /*name*/) {}
  ~Range() {}
#endif
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace skyrank::kernels::cuda

#pragma once

#include <vector>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// Stages that the last top-k run in this process noted which counts its work, of algorithms that tell them. Whoever
/// wants them empties the list before the run; runs at the same time share it.
inline std::vector<StageWork>& noted_stages() {
  static std::vector<StageWork> stages;
  return stages;
}

}  // namespace skyrank::kernels

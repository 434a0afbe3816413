#pragma once

#include "kernels/cuda/runtime/start.hpp"

namespace skyrank::planner {

class PriceList;

/// Returns the seconds that a process which has come as far as `step` still needs before its first kernel runs on a
/// GPU, by a profile's rates "driver_start" and "context_start". Both are paid once in a process.
double cuda_start_seconds(kernels::cuda::Started step, const PriceList& prices);

}  // namespace skyrank::planner

#include "planner/cuda_start.hpp"

#include "planner/price_list.hpp"

namespace skyrank::planner {
namespace {

// Seconds on an H100 beside a Xeon, CUDA 13.
constexpr double kDriverStart = 0.2;
constexpr double kContextStart = 0.2;  // with the code of the first kernels, the memory pool, and the end of it all

double rate(const Profile& profile, const char* name, double otherwise) {
  const auto found = profile.rates.find(name);
  return found == profile.rates.end() ? otherwise : found->second;
}

}  // namespace

double cuda_start_seconds(kernels::cuda::Started step, const PriceList& prices) {
  using kernels::cuda::Started;
  double seconds = 0;
  if (step < Started::driver) seconds += rate(prices.profile(), "driver_start", kDriverStart);
  if (step < Started::context) seconds += rate(prices.profile(), "context_start", kContextStart);
  return seconds;
}

}  // namespace skyrank::planner

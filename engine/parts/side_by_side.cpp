#include "engine/parts/side_by_side.hpp"

#include <system_error>
#include <thread>
#include <vector>

namespace skyrank::exec {

void run_side_by_side(std::size_t threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  others.reserve(threads);
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {  // fewer threads do it too
      break;
    }
  }
  work();
}

}  // namespace skyrank::exec

#include "kernels/cuda/runtime/failure.hpp"

#include <utility>

namespace skyrank::kernels::cuda {
namespace {

/// Relative to the source tree, wherever it was compiled.
std::string describe(std::string_view file, int line) {
  const std::size_t root = file.rfind("kernels/");
  if (root != std::string_view::npos) file.remove_prefix(root);
  return std::string(file) + ":" + std::to_string(line);
}

}  // namespace

Failure::Failure(std::string call, std::string reason, std::string_view file, int line)
    : std::runtime_error(call + " at " + describe(file, line) + ": " + reason),
      call_(std::move(call)),
      reason_(std::move(reason)),
      place_(describe(file, line)) {}

OutOfMemory::OutOfMemory(std::size_t count, std::size_t size)
    : Failure("Buffer", "no memory holds " + std::to_string(count) + " objects of " + std::to_string(size) + " bytes",
              __FILE__, __LINE__) {}

}  // namespace skyrank::kernels::cuda

#include "kernels/papers/names.hpp"

#include <algorithm>

namespace skyrank::kernels::papers {
namespace {

#ifdef SKYRANK_PAPERS
constexpr bool kBuilt = true;
#else
constexpr bool kBuilt = false;
#endif

constexpr std::string_view kNames[] = {
    "salsa",
    "bskytree",
    "hybrid",
    "pskyline",
    "divide-and-conquer",
    "stl-heap",
    "bitonic",
    "dr-topk",
    "block-max-wand",
    "cuda-gnl",
    "cuda-ggs",
    "cuda-sort",
    "cuda-dr-topk",
    "cuda-radix-in-place",
    "cuda-radix-select",
    "cuda-bucket-select",
    "cuda-bitonic",
    "cuda-per-thread",
    "cuda-per-thread-registers",
    "cuda-randomized",
    "cuda-thrust-sort",
    "cuda-bit-by-bit",
    "cuda-cutting-plane",
};

}  // namespace

std::span<const std::string_view> names() { return kNames; }

std::string why_left_out(std::string_view name) {
  if (kBuilt || std::ranges::find(kNames, name) == std::end(kNames)) return {};
  return "this build leaves out the algorithm '" + std::string(name) +
         "', which is one of the papers' algorithms; configure with -DSKYRANK_PAPERS=ON to have them";
}

}  // namespace skyrank::kernels::papers

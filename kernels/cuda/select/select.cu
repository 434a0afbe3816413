#include "kernels/cuda/select/select.hpp"

#include "kernels/cuda/runtime/failure.hpp"

namespace skyrank::kernels::cuda {
namespace {

[[noreturn]] void fail_select(const char* call) {
  throw Failure(call, "this build has no GPU kernels for select_k", __FILE__, __LINE__);
}

}  // namespace

std::size_t select_workspace_bytes(const SelectProblem& /*problem*/) { fail_select("select_workspace_bytes"); }

void select_rows(const SelectProblem& /*problem*/, void* /*workspace*/, std::size_t /*workspace_bytes*/,
                 void* /*stream*/) {
  fail_select("select_rows");
}

}  // namespace skyrank::kernels::cuda

#include "tools/skyrank/version/build_info.hpp"

#include <skyrank/version.hpp>

#include "skyrank_commit.hpp"  // written by commit.cmake at every build

namespace skyrank::tools {

std::string build_commit() { return SKYRANK_COMMIT; }

std::string build_info() {
  std::string text = std::string("skyrank ") + version();
  if (const std::string commit = build_commit(); !commit.empty()) text += " (commit " + commit + ")";
  return text + "\ncompiler " SKYRANK_COMPILER ", build type " SKYRANK_BUILD_TYPE ", CUDA " SKYRANK_CUDA_VERSION;
}

}  // namespace skyrank::tools

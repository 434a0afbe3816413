#include <gtest/gtest.h>

#include <string>

#include <skyrank/version.hpp>

namespace skyrank {
namespace {

std::string version_of_headers() {
  return std::to_string(SKYRANK_VERSION_MAJOR) + "." + std::to_string(SKYRANK_VERSION_MINOR) + "." +
         std::to_string(SKYRANK_VERSION_PATCH);
}

TEST(Version, IsTheSameInHeadersLibraryAndBuild) {
  EXPECT_EQ(version(), version_of_headers());
  EXPECT_EQ(version_of_headers(), SKYRANK_PROJECT_VERSION);
}

}  // namespace
}  // namespace skyrank

#include "engine/machine_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace skyrank::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups()
      : folder_(::testing::TempDir() + "skyrank_control_groups_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ControlGroups() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }

  std::size_t limit(const std::string& membership) const {
    write("membership", membership);
    return control_group_limit(folder_ / "membership", folder_ / "groups");
  }

  fs::path folder_;
};

TEST_F(ControlGroups, TheLeastOfAGroupAndThoseAroundItHolds) {
  write("groups/a/b/memory.max", "max\n");
  write("groups/a/memory.max", "1000000\n");
  write("groups/memory.max", "3000000\n");
  EXPECT_EQ(limit("0::/a/b\n"), 1'000'000U);
  EXPECT_EQ(limit("0::/\n"), 3'000'000U);
  EXPECT_EQ(limit("0::/elsewhere\n"), 3'000'000U);
}

TEST_F(ControlGroups, OfTheFirstVersionThatOfMemoryHolds) {
  write("groups/memory/a/memory.limit_in_bytes", "2000000\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/cpu/a/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(limit("4:cpu,cpuacct:/a\n3:memory,hugetlb:/a\n"), 2'000'000U);
  EXPECT_EQ(limit("4:cpu:/a\n"), kNoLimit);
}

TEST_F(ControlGroups, WithoutAnyThereIsNoLimit) {
  EXPECT_EQ(limit(""), kNoLimit);
  EXPECT_EQ(limit("no group\n0:\n"), kNoLimit);
  EXPECT_EQ(control_group_limit(folder_ / "missing", folder_), kNoLimit);
}

TEST(MachineMemory, IsSomeOfTheMachines) {
  EXPECT_GT(machine_memory(), std::size_t{1} << 20);
  EXPECT_EQ(machine_memory(), machine_memory());
}

}  // namespace
}  // namespace skyrank::exec

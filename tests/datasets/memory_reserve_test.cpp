#include "datasets/columnar/memory_reserve.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>

namespace skyrank::datasets {
namespace {

/// A program that has installed the handler.
class MemoryReserves : public ::testing::Test {
 protected:
  MemoryReserves() : before_(std::set_new_handler(give_up_memory_reserve)) {}
  ~MemoryReserves() override { std::set_new_handler(before_); }

  /// Does what operator new does when it finds no memory.
  static void find_no_memory() { std::get_new_handler()(); }

 private:
  const std::new_handler before_;
};

TEST_F(MemoryReserves, AreForOneAllocationAndTellOfIt) {
  const MemoryReserve reserve;
  EXPECT_NO_THROW(reserve.check());
  EXPECT_NO_THROW(find_no_memory());
  EXPECT_THROW(reserve.check(), std::bad_alloc);
  EXPECT_THROW(find_no_memory(), std::bad_alloc);
}

TEST_F(MemoryReserves, AreSharedAndMadeAnew) {
  std::optional<MemoryReserve> first(std::in_place);
  std::optional<MemoryReserve> second(std::in_place);
  find_no_memory();
  EXPECT_THROW(first->check(), std::bad_alloc);
  EXPECT_THROW(second->check(), std::bad_alloc);
  first.reset();
  EXPECT_THROW(find_no_memory(), std::bad_alloc);
  second.reset();
  const MemoryReserve third;
  EXPECT_NO_THROW(third.check());
  EXPECT_NO_THROW(find_no_memory());
}

TEST_F(MemoryReserves, AreGivenBack) {
  { const MemoryReserve reserve; }
  EXPECT_THROW(find_no_memory(), std::bad_alloc);
}

TEST(MemoryReserve, LeavesTheHandlerOfTheProcessAlone) {
  static int calls = 0;
  const auto own = +[] { ++calls; };
  const std::new_handler before = std::set_new_handler(own);
  {
    const MemoryReserve reserve;
    EXPECT_EQ(std::get_new_handler(), own);
    std::get_new_handler()();
    EXPECT_EQ(calls, 1);
    EXPECT_NO_THROW(reserve.check());
    EXPECT_THROW(give_up_memory_reserve(), std::bad_alloc);
  }
  EXPECT_EQ(std::set_new_handler(before), own);
}

}  // namespace
}  // namespace skyrank::datasets

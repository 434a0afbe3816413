#include "datasets/columnar/memory_reserve.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>

namespace skyrank::datasets {
namespace {

/// Does what operator new does when it finds no memory.
void find_no_memory() { std::get_new_handler()(); }

TEST(MemoryReserve, IsForOneAllocationAndTellsOfIt) {
  const MemoryReserve reserve;
  EXPECT_NO_THROW(reserve.check());
  EXPECT_NO_THROW(find_no_memory());
  EXPECT_THROW(reserve.check(), std::bad_alloc);
  EXPECT_THROW(find_no_memory(), std::bad_alloc);
}

TEST(MemoryReserve, IsSharedAndMadeAnew) {
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

TEST(MemoryReserve, LeavesTheHandlerOfTheProcessAsItWas) {
  static int calls = 0;
  const std::new_handler before = std::set_new_handler([] { ++calls; });
  {
    const MemoryReserve reserve;
    find_no_memory();
    EXPECT_EQ(calls, 0);
    find_no_memory();
    EXPECT_EQ(calls, 1);
  }
  find_no_memory();
  EXPECT_EQ(calls, 2);
  std::set_new_handler(before);
}

}  // namespace
}  // namespace skyrank::datasets

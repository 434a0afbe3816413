#include "engine/operators/partition/partition.hpp"

#include <numeric>

#include "engine/operators/segment_tasks.hpp"
#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Integers = Vector<std::int64_t>;

TEST(Partition, OneSegmentIsTheIdentity) {
  const Segments segments = one_segment(3);
  EXPECT_EQ(segments.count(), 1);
  EXPECT_EQ(segments.size(0), 3);
  EXPECT_EQ(segments.at(2), 2);
}

TEST(Partition, InOrderOfFirstRowsAndAscendingWithin) {
  const Table table({text_column("city", {"Oslo", "Aarhus", "Oslo", "Bergen", "Aarhus"})});
  const std::vector<int> columns{0};
  const Segments segments = partition(table, columns, all_rows(table));
  EXPECT_EQ(segments.bounds, (Integers{0, 2, 4, 5}));
  EXPECT_EQ(segments.order, (Integers{0, 2, 1, 4, 3}));
}

TEST(Partition, NoRowsMakeNoSegments) {
  const Table table({Column::own<std::int64_t>("a", {})});
  const std::vector<int> columns{0};
  EXPECT_EQ(partition(table, columns, all_rows(table)).count(), 0);
}

TEST(Partition, AMillionSegmentsOfOneRow) {
  std::vector<std::int64_t> ids(1'000'000);
  std::iota(ids.begin(), ids.end(), 0);
  const Table table({Column::own("a", ids)});
  const std::vector<int> columns{0};
  const Segments segments = partition(table, columns, all_rows(table));
  EXPECT_EQ(segments.count(), 1'000'000);
  EXPECT_EQ(segments.order, ids);
}

TEST(SegmentTasks, CoverAllSegmentsInOrder) {
  for (const Integers& bounds :
       {Integers{0}, Integers{0, 0}, Integers{0, 5}, Integers{0, 100'000, 100'001, 100'002, 300'000}}) {
    std::int64_t next = 0;
    for (const SegmentTask& task : segment_tasks(bounds)) {
      EXPECT_EQ(task.begin, next);
      EXPECT_GT(task.end, task.begin);
      next = task.end;
    }
    EXPECT_EQ(next, static_cast<std::int64_t>(bounds.size()) - 1);
  }
}

TEST(SegmentTasks, PutSmallSegmentsTogether) {
  Integers bounds(100'001);
  std::iota(bounds.begin(), bounds.end(), 0);
  const std::size_t tasks = segment_tasks(bounds).size();
  EXPECT_GT(tasks, 8U);
  EXPECT_LT(tasks, 50U);
}

}  // namespace
}  // namespace skyrank::exec

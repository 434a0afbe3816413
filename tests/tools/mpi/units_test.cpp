#include <skyrank/engine.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <set>

#include "tools/mpi/gather_shape.hpp"
#include "tools/mpi/part_answer.hpp"
#include "tools/mpi/share.hpp"
#include "tools/mpi/vector_part.hpp"

namespace skyrank::mpi {
namespace {

TEST(MpiGather, EveryRankHasOneWayToRankZero) {
  for (const GatherShape shape : {GatherShape::flat, GatherShape::tree}) {
    for (int size = 1; size <= 17; ++size) {
      std::set<int> sent;
      for (int rank = 0; rank < size; ++rank) {
        for (const int sender : senders_to(rank, size, shape)) {
          EXPECT_EQ(receiver_of(sender, shape), rank);
          EXPECT_TRUE(sent.insert(sender).second);
        }
      }
      EXPECT_EQ(static_cast<int>(sent.size()), size - 1);
    }
  }
  EXPECT_EQ(senders_to(0, 6, GatherShape::tree), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(receiver_of(3, GatherShape::tree), 2);
}

TEST(MpiShare, SharesCoverAllRowsAndAreEven) {
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{1}, std::int64_t{10}, std::int64_t{1} << 62}) {
    RowId next = 0;
    for (int rank = 0; rank < 7; ++rank) {
      const RowRange share = share_of(rows, rank, 7);
      EXPECT_EQ(share.begin, next);
      EXPECT_LE(share.end - share.begin, rows / 7 + 1);
      next = share.end;
    }
    EXPECT_EQ(next, rows);
  }
}

TEST(MpiTopK, SubVectorsAreNoLongerThanAsked) {
  const SubVectors one(1000, 600, 2);  // two GPUs hold it
  EXPECT_EQ(one.of_rank(), 1u);
  EXPECT_EQ(one.rows(1, 0), (std::pair<std::uint64_t, std::uint64_t>{500, 1000}));
  const SubVectors more(1001, 100, 2);
  EXPECT_EQ(more.of_rank(), 6u);
  std::uint64_t next = 0;
  for (int rank = 0; rank < 2; ++rank) {
    for (std::uint64_t number = 0; number < more.of_rank(); ++number) {
      const auto [begin, end] = more.rows(rank, number);
      EXPECT_EQ(begin, next);
      EXPECT_LE(end - begin, 100u);
      next = end;
    }
  }
  EXPECT_EQ(next, 1001u);
}

PartAnswer sent(const PartAnswer& answer) { return part_answer(to_bytes(answer)); }

TEST(MpiMessages, PartialAnswersArriveAsTheyWere) {
  const Table table({Column::own("price", std::vector<double>{3, 1, 2}, {true, true, false}),
                     Column::own("name", std::vector<std::string>{"a", "", "c"}, {true, false, true})});
  const Query query = Query::from("t").rank_by({low("price")}).limit(2);
  const Partial partial = Engine().partial(query, table, 5);
  const PartAnswer received = sent({partial, {}});
  ASSERT_TRUE(received.partial.has_value());
  EXPECT_EQ(received.partial->fingerprint(), partial.fingerprint());
  EXPECT_EQ(received.partial->rows(), partial.rows());
  EXPECT_EQ(received.partial->covers(), partial.covers());
  EXPECT_EQ(Engine().merge(query, {*received.partial}).rows, (std::vector<RowId>{6, 5}));
  EXPECT_FALSE(sent({}).partial.has_value());
}

TEST(MpiMessages, ErrorsKeepTheirKindTextAndPlace) {
  const auto error_of = [](const auto& error) { return rank_error(std::make_exception_ptr(error), 3); };
  const RankError data = error_of(DataError("row 7: too large", {"batch.yaml", 4, 2}));
  EXPECT_EQ(data, (RankError{RankError::Kind::data, "row 7: too large", {"batch.yaml", 4, 2}}));
  EXPECT_EQ(sent({{}, data}).error, data);
  EXPECT_THROW(throw_error(data), DataError);
  EXPECT_EQ(error_of(ResourceError("no memory")).message, "rank 3: no memory");
  EXPECT_EQ(error_of(std::bad_alloc()).message, "rank 3: out of memory");
  EXPECT_THROW(error_of(CancelledError("cancelled")), CancelledError);
}

TEST(MpiMessages, DamagedOnesEndTheRun) {
  Bytes bytes = to_bytes({{}, RankError{RankError::Kind::data, "row 7", {}}});
  bytes.resize(bytes.size() - 9);
  EXPECT_THROW(part_answer(bytes), RanksFailed);
  EXPECT_THROW(part_answer({}), RanksFailed);
  EXPECT_THROW(part_answer({std::byte{9}}), RanksFailed);
  EXPECT_THROW(part_answer({std::byte{2}, std::byte{9}}), RanksFailed);
  EXPECT_THROW(part_answer({std::byte{1}, std::byte{0}}), DataError);
}

}  // namespace
}  // namespace skyrank::mpi

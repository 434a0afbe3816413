#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

#include <skyrank/skyrank.hpp>

// Names of release 0.2 that 0.3 deprecates: programs that use them compile and get what the new names give.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace skyrank {
namespace {

static_assert(std::is_same_v<TableSource, TableSpec>);
static_assert(std::is_same_v<Using, ForcedPath>);
static_assert(std::is_same_v<Engine::Pin, PinTime>);
static_assert(Engine::Pin::on_use == PinTime::on_use);

Table three_rows() { return Table({Column::own("x", std::vector<double>{2, 1, 3})}); }

TEST(DeprecatedNames, SourcesAndColumns) {
  EXPECT_EQ(table_source(three_rows())->table()->num_rows(), 3);
  for (const DataType type : {DataType(Type::int32), DataType(Type::string), DataType::decimal(20, 2)}) {
    const Column absent = absent_column("absent", type, 7);
    EXPECT_EQ(absent.type(), type);
    EXPECT_EQ(absent.size(), 7);
    EXPECT_EQ(absent.value(6), absent.value(0));
  }
  EXPECT_EQ(to_float(Float16{0x3C00}), 1.0F);
}

TEST(DeprecatedNames, QueriesAndTheirPlaces) {
  Query query = Query::from("t").rank_by({low("x")});
  EXPECT_NO_THROW(Engine().check(query, three_rows()));
  EXPECT_THROW(Engine().check(Query::from("t").rank_by({low("y")}), three_rows()), BindError);
  query.location({"batch.yaml", 3, 5});
  EXPECT_EQ(query.location(), (Location{"batch.yaml", 3, 5}));
  const Table more = three_rows().with_unsupported({{.name = "tags", .type = "list<int64>"}});
  ASSERT_TRUE(left_out_columns(query, more));
  EXPECT_EQ(warnings_of(query, more), std::vector<Warning>{*left_out_columns(query, more)});
  const Expression expression = "x + 1";
  EXPECT_EQ(&expression.root(), &query::root_of(expression));
}

}  // namespace
}  // namespace skyrank

#pragma GCC diagnostic pop

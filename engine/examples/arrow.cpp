// Tables from and to any library that speaks the Arrow C data interface: Arrow itself, pandas, Polars, DuckDB, ...
#include <cstdio>

#include <skyrank/skyrank.hpp>

namespace {

/// Stands for the other library: fills the two structs that the interface hands over.
void record_batch(ArrowArray* array, ArrowSchema* schema) {
  using skyrank::Column;
  const skyrank::Table table({Column::own("city", std::vector<std::string>{"Porto", "Madrid", "Lisbon"}),
                              Column::own("rent", std::vector<double>{900, 1400, 1200}),
                              Column::own("sunny_days", std::vector<std::int32_t>{247, 230, 290})});
  export_arrow(table, array, schema);
}

}  // namespace

int main() {
  using namespace skyrank;
  ArrowArray array;
  ArrowSchema schema;
  record_batch(&array, &schema);

  const Table cities = import_arrow(&array, &schema);  // takes the batch over; its buffers are read where they lie
  const Query query = Query::from("cities").prefer({low("rent"), high("sunny_days")}).rank_by({high("sunny_days")});
  const Result result = Engine().run(query, cities);
  for (std::int64_t i = 0; i < result.table.num_rows(); ++i) {
    std::printf("%s\n", to_string(result.table.column("city").value(i)).c_str());
  }

  export_arrow(result.table, &array, &schema);
  std::printf("%d rows go back as Arrow\n", static_cast<int>(array.length));
  array.release(&array);
  schema.release(&schema);
}

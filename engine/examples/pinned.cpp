// Columns that stay in the memory of the GPU while many queries read them; without a GPU, the same on the CPU.
#include <cstdio>
#include <optional>
#include <random>

#include <skyrank/skyrank.hpp>

namespace {

skyrank::Table measurements(std::size_t n) {
  std::mt19937_64 random(1);
  std::vector<float> value(n);
  for (float& v : value) v = static_cast<float>(random() % 1'000'000'007);
  return skyrank::Table({skyrank::Column::own("value", std::move(value))});
}

}  // namespace

int main() {
  using namespace skyrank;
  const Engine engine;
  Table table = measurements(2'000'000);
  try {
    table = engine.pin(table);
    std::puts("the columns are on the GPU");
  } catch (const DeviceError& error) {  // no GPU; ResourceError, with the bytes needed, would say that it is full
    std::printf("on the CPU: %s\n", error.what());
  }

  const Query query = Query::from("measurements").rank_by({high("value")}).limit(10).select({"row", "value"});
  std::optional<std::vector<RowId>> first;
  int same = 0;
  for (int i = 0; i < 5; ++i) {
    const Result result = engine.run(query, table);
    if (!first) first = result.rows;
    same += result.rows == *first ? 1 : 0;
    std::printf("%.2f ms, of which %.2f ms transfer\n", result.timing.total_ms, result.timing.transfer_ms);
  }
  std::printf("the same answer %d times\n", same);
}

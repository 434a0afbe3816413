#include <cstddef>
#include <cstdint>
#include <string_view>

#include <skyrank/batch.hpp>

#include "tests/fuzz/require.hpp"

// Every text is a batch of valid queries over tables that it lists, or is refused with a place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const skyrank::Batch batch = skyrank::parse_batch(text, "fuzz");
    for (const skyrank::Query& query : batch.queries) {
      query.validate();
      SKYRANK_REQUIRE(batch.table(query.from()).name == query.from());
      SKYRANK_REQUIRE(batch.query(query.name()) == query);
      if (query.where()) SKYRANK_REQUIRE(skyrank::Expression(query.where()->text()) == *query.where());
    }
  } catch (const skyrank::QueryError& error) {
    SKYRANK_REQUIRE(error.location().line >= 1 && error.location().column >= 1);
    SKYRANK_REQUIRE(!error.message().empty());
  }
  return 0;
}

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <skyrank/query.hpp>

#include "tests/fuzz/require.hpp"

// Every text is a statement, whose text parses back to an equal query, or is refused with a place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const skyrank::Query query = skyrank::Query::parse(text);
    const std::string printed = skyrank::to_sql(query);
    const skyrank::Query again = skyrank::Query::parse(printed);
    SKYRANK_REQUIRE(again == query);
    SKYRANK_REQUIRE(skyrank::to_sql(again) == printed);
  } catch (const skyrank::QueryError& error) {
    SKYRANK_REQUIRE(error.location().line >= 1 && error.location().column >= 1);
    SKYRANK_REQUIRE(!error.message().empty());
  }
  return 0;
}

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <skyrank/expression.hpp>

#include "tests/fuzz/require.hpp"

// Every text parses, to a value whose canonical text parses back to it, or is refused with a place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const skyrank::Expression expression(text);
    const skyrank::Expression again(expression.text());
    SKYRANK_REQUIRE(again == expression);
    SKYRANK_REQUIRE(again.text() == expression.text());
  } catch (const skyrank::QueryError& error) {
    SKYRANK_REQUIRE(error.location().line >= 1 && error.location().column >= 1);
    SKYRANK_REQUIRE(!error.message().empty());
  }
  return 0;
}

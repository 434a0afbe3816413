#include <cstddef>
#include <cstdint>
#include <string_view>

#include "planner/profile.hpp"
#include "tests/fuzz/require.hpp"

// Every text is a profile of costs, which reads back the same once it is written, or is refused with a reason.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skyrank::planner;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    // Numbers are written with four digits.
    const Profile rounded = parse_profile(to_yaml(parse_profile(text, "fuzz")), "written");
    SKYRANK_REQUIRE(parse_profile(to_yaml(rounded), "written again") == rounded);
  } catch (const BadProfile& error) {
    SKYRANK_REQUIRE(error.source == "fuzz" && !error.reason.empty());
  }
  return 0;
}

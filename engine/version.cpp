#include <skyrank/version.hpp>

#define SKYRANK_TEXT_OF(value) #value
#define SKYRANK_DOTTED(major, minor, patch) SKYRANK_TEXT_OF(major) "." SKYRANK_TEXT_OF(minor) "." SKYRANK_TEXT_OF(patch)

namespace skyrank {
inline namespace v0 {

const char* version() noexcept {
  return SKYRANK_DOTTED(SKYRANK_VERSION_MAJOR, SKYRANK_VERSION_MINOR, SKYRANK_VERSION_PATCH);
}

}  // namespace v0
}  // namespace skyrank

#include <skyrank/version.hpp>

namespace skyrank {

const char* version() noexcept { return SKYRANK_VERSION; }

}  // namespace skyrank

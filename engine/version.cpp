#include <skyrank/version.hpp>

namespace skyrank {

const char* version() noexcept { return "0.1.0"; }

}  // namespace skyrank

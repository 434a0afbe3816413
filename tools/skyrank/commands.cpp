#include "tools/skyrank/commands.hpp"

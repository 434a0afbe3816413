#include <skyrank/table.hpp>

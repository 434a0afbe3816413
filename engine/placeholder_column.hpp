#pragma once

#include <cstdint>
#include <string>

#include <skyrank/table.hpp>

namespace skyrank::exec {

/// Makes a column of `rows` equal values that takes no memory, in place of one that is not read.
Column placeholder_column(std::string name, DataType type, std::int64_t rows);

}  // namespace skyrank::exec

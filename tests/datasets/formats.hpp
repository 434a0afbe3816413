#pragma once

#include "datasets/input/files.hpp"

namespace skyrank::datasets::test {

/// All formats that tables are written in.
inline constexpr Format kFormats[] = {Format::csv, Format::jsonl, Format::parquet, Format::arrow};

}  // namespace skyrank::datasets::test

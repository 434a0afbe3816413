#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

namespace skyrank::datasets {

/// Joins columns of indices into dictionaries of strings without NULLs, of which each has its own, to one column with
/// one dictionary: their entries in the order in which they first come. The indices of a part may have 8, 16 or 32
/// bits; those of the whole have as few as the entries need, or 32 unless `narrow`. An index of a row that is beyond
/// its own dictionary is beyond the whole one. Arrow's pool does the work if `threads` says so.
std::shared_ptr<arrow::Array> joined_codes(const std::vector<std::shared_ptr<arrow::Array>>& parts, bool narrow,
                                           bool threads, arrow::MemoryPool* pool);

}  // namespace skyrank::datasets

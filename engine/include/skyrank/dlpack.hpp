#pragma once

#include <optional>
#include <string>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/table.hpp>

// The structs of DLPack, which <dlpack/dlpack.h> defines.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace skyrank {
inline namespace v0 {

/// Takes over a tensor of one dimension as a column, or of two (rows, columns) as a column for each of the latter, and
/// calls its deleter once: when the last table or column that has the values is gone, or before this throws.
///
/// Values in the memory of a CUDA device stay there, and queries that run on that GPU read them there; values of a
/// column that lie apart from each other (those of a row-major tensor) are put together on the GPU by the first query
/// that reads them. What the host has to read comes to it when a query first needs it: the rows of an answer, or, once,
/// whole columns. Values in the memory of the CPU, or of CUDA's host allocator, are viewed in place. The values must
/// not change as long as the table, or a copy of it, lives.
///
/// `names` are those of the columns; none: c0, c1, ... `stream` is the cudaStream_t on which the tensor is written,
/// whose work so far is waited for before a value is read (null: the default stream); none: the values are ready.
///
/// Types: bool, int8..64, uint8..64, float16/32/64. DataError says what is wrong with the tensor or the names;
/// DeviceError where the GPU is not there.
SKYRANK_EXPORT Table import_dlpack(DLManagedTensor* tensor, std::vector<std::string> names = {},
                                   std::optional<void*> stream = {});

/// The same for the struct that tells its version, which must be 1.
SKYRANK_EXPORT Table import_dlpack(DLManagedTensorVersioned* tensor, std::vector<std::string> names = {},
                                   std::optional<void*> stream = {});

}  // namespace v0
}  // namespace skyrank

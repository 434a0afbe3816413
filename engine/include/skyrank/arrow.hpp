#pragma once

#include <cstdint>
#include <memory>

#include <skyrank/export.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

// The Arrow C data interface: two plain structs, no Arrow library. The guards are the ones the interface prescribes, so
// that several libraries can define the same structs.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

#endif  // ARROW_C_STREAM_INTERFACE

namespace skyrank {
inline namespace v0 {

/// Takes over a struct array (a record batch) without copying its buffers; both structs are moved from (their `release`
/// is null afterwards), also when this throws. Types: bool, int8..64, uint8..64, decimals of up to 38 digits (copied
/// unless they come in 64 bits, or in 128 with more than 18 digits), float16/32/64, date32, date64 (copied), timestamp
/// (zones are read as UTC), utf8, large_utf8, string_view, and dictionaries of strings with any integer index.
/// DataError names the column and the format of anything else.
SKYRANK_EXPORT Table import_arrow(ArrowArray* array, ArrowSchema* schema);

/// Takes over a stream of record batches and reads it to its end, as a stream can be read only once. Each batch becomes
/// a unit of the source, whose buffers stay where they are; types as for import_arrow. The struct is moved from (its
/// `release` is null afterwards), also when this throws. DataError with the producer's message where the stream fails.
SKYRANK_EXPORT std::shared_ptr<const Source> arrow_source(ArrowArrayStream* stream);

/// Exports a table as a struct array. Buffers are shared where the layout is Arrow's own and copied otherwise. The
/// exported structs keep owned memory alive; memory that was only viewed must outlive them.
SKYRANK_EXPORT void export_arrow(const Table& table, ArrowArray* array, ArrowSchema* schema);

}  // namespace v0
}  // namespace skyrank

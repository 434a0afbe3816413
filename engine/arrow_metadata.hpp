#pragma once

#include <map>
#include <string>

#include <skyrank/arrow.hpp>
#include <skyrank/table.hpp>

namespace skyrank {
inline namespace v0 {

/// Texts by key that travel with the schema of a record batch.
using ArrowMetadata = std::map<std::string, std::string>;

/// Exports a table as export_arrow() does, with metadata at the schema. Each text has less than 2 GiB.
void export_arrow(const Table& table, const ArrowMetadata& metadata, ArrowArray* array, ArrowSchema* schema);

/// Reads the metadata of a schema. DataError for negative lengths; the interface gives no end to check others against.
ArrowMetadata arrow_metadata(const ArrowSchema& schema);

}  // namespace v0
}  // namespace skyrank

#pragma once

#include <arrow/io/interfaces.h>

#include <memory>

// The check of Parquet pages against the CRC-32 that their headers may have.
namespace skyrank::datasets {

/// Returns the bytes of a column chunk as Arrow's reader of pages takes them: it peeks at a header, reads it, and then
/// reads the page. A page that does not have the checksum of its header is an error that names the page. Pages that
/// come with fewer bytes than were asked for, as those that are passed over, are not checked.
std::shared_ptr<arrow::io::InputStream> with_checksums(std::shared_ptr<arrow::io::InputStream> chunk);

}  // namespace skyrank::datasets

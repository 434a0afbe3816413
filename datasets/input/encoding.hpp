#pragma once

#include <arrow/io/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>

#include <skyrank/error.hpp>

// Texts in other encodings than UTF-8, which the system's iconv converts.
namespace skyrank::datasets {

/// Returns the encoding that `encoding:` of a table names; empty for UTF-8. DataError at `where` for one that the
/// system does not know.
std::string parse_encoding(const std::string& name, const Location& where = {});

/// Returns the encoding that a byte order mark at the start of a text names; empty for UTF-8 and where there is none.
std::string sniff_encoding(std::string_view start);

/// Returns a text in an encoding as a stream of UTF-8. Reading throws DataError, with the line, where `bytes` hold what
/// the encoding does not have; a text that is not `is_whole` may end within a character.
std::shared_ptr<arrow::io::InputStream> utf8_stream(std::shared_ptr<arrow::io::InputStream> bytes,
                                                    const std::string& encoding, const std::string& name,
                                                    bool is_whole = true);

}  // namespace skyrank::datasets

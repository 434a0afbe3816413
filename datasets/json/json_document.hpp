#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>

// A JSON document as JSON lines: an array of objects, or the records at some path of an object.
namespace skyrank::datasets {

/// Returns the keys of a path such as `data.items`. DataError at `where` for an empty key.
std::vector<std::string> parse_json_path(std::string_view path, const Location& where = {});

/// Returns true if a text begins with an array.
bool begins_with_array(std::string_view text);

/// Returns the text with spaces in place of all that is around and between the records that a document has at `path`:
/// the objects of an array, or one object. Lines keep their numbers; a record that begins a line begins its first
/// column. DataError with the place where the document is no JSON, or has no such records.
std::shared_ptr<arrow::Buffer> records_of_document(const arrow::Buffer& text, const std::string& name,
                                                   const std::vector<std::string>& path);

}  // namespace skyrank::datasets

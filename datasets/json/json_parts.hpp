#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "datasets/input/input.hpp"
#include "datasets/json/json_scan.hpp"

// A text of JSON lines in parts of whole records, which threads parse side by side.
namespace skyrank::datasets {

/// A text in a file, or in memory.
struct JsonText {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::int64_t size = 0;
  std::string name;                                                ///< name of the file, for messages
  std::stop_token stop = {};                                       ///< CancelledError soon after a stop is requested
  TextPlace first = {1, 1};                                        ///< place of the first byte in the file
  std::size_t max_keys = std::numeric_limits<std::size_t>::max();  ///< ResourceError where there are more
  std::int64_t max_record_bytes = std::int64_t{1} << 30;           ///< ResourceError where there is a longer record
  int threads = 1;                                                 ///< threads to parse with; 0: all cores
  std::int64_t part_bytes = std::int64_t{1} << 20;                 ///< bytes that a thread parses at a time, about
  bool flatten = false;                                            ///< see JsonScanner
  BytesRead on_read = {};                                          ///< told of the bytes that are parsed
};

/// A column whose values are taken.
struct JsonTarget {
  std::string name;
  std::shared_ptr<arrow::DataType> type;  ///< boolean, int64, uint64, float64 or utf8
  bool is_spelled = false;                ///< utf8: values of all kinds count, as they stand in the text
};

/// Some consecutive records.
struct JsonPart {
  std::shared_ptr<arrow::Buffer> bytes;  ///< valid while the part is taken
  std::int64_t begin = 0;                ///< offset of the first byte,
  TextPlace first = {1, 1};              ///< and its place in the file
  std::int64_t rows = 0;
  std::vector<JsonKey> keys;
  std::vector<std::shared_ptr<arrow::Array>> values;  ///< by target; null where one is of another type

  std::int64_t end() const;  ///< offset of the first byte behind it
};

/// Chooses targets by the keys of the first part. Values that are not of their target's type leave it without values.
using ChooseTargets = std::function<std::vector<JsonTarget>(const std::vector<JsonKey>& keys)>;

/// Parses a text and calls `take` with its parts, in their order. DataError with the place where a line is no object,
/// where the text is not UTF-8, and where a key comes twice in an object.
void parse_parts(const JsonText& text, std::vector<JsonTarget> targets,
                 const std::function<void(const JsonPart&)>& take, const ChooseTargets& choose = {});

/// Returns the place of the value that a key has in a record, counted from 0.
TextPlace place_of_value(const JsonText& text, const std::string& key, std::int64_t record);

}  // namespace skyrank::datasets

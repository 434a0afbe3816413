#pragma once

#include <arrow/array/builder_binary.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>

// Makes codes of strings that a file stores one by one.
namespace skyrank::datasets {

/// Numbers different strings in the order in which they first come: a hash table by open addressing, half full at most.
class TextCodes {
 public:
  explicit TextCodes(arrow::MemoryPool* pool);

  /// Returns the number of a string.
  std::int32_t code_of(std::string_view text);

  /// Returns how many different strings there are.
  std::int64_t size() const { return texts_.length(); }

  /// Returns the strings by their numbers; then the object is used up.
  std::shared_ptr<arrow::Array> finish();

 private:
  struct Entry {
    std::uint32_t hash = 0;  // its high bits
    std::int32_t code = -1;  // -1: none
  };

  Entry* entries() const;
  void grow();

  arrow::MemoryPool* pool_;
  arrow::StringBuilder texts_;
  std::shared_ptr<arrow::Buffer> table_;
  std::uint64_t mask_ = 0;
  std::int32_t last_ = -1;  // the code that was returned last
};

}  // namespace skyrank::datasets

#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

// Types of columns whose blocks were typed one by one: the widest of the blocks' types, if values keep their meaning in
// it, else the text is read as a whole. Also the bounds of each block, as statistics for pruning.
namespace skyrank::datasets {

/// One column of a text that is read block by block: the type of its values in all blocks, and their bounds in each.
class BlockColumn {
 public:
  /// Adds the values of the next block, in the type that they have there. Texts that are all empty or NULL, where
  /// `empty_is_null`, say nothing about the type, as they are NULL beside other values than texts. Throws
  /// NeedsWholeText where the types of the blocks do not tell that of the column.
  void add(const arrow::ChunkedArray& values, bool empty_is_null);
  /// Adds a block of NULLs.
  void add_nulls(std::int64_t rows);

  /// Returns the type of the values so far; null where there is none.
  const std::shared_ptr<arrow::DataType>& type_so_far() const { return type_; }
  /// Returns the type of all values; Arrow's null type where there is none.
  std::shared_ptr<arrow::DataType> type() const;
  /// Returns the bounds by block as values of a type that holds all of them; nothing for types without bounds.
  std::optional<UnitStatistics> statistics(const std::shared_ptr<arrow::DataType>& type, const std::string& name) const;

 private:
  struct Bounds {
    std::shared_ptr<arrow::Scalar> min;  // null where there are no values
    std::shared_ptr<arrow::Scalar> max;
    std::int64_t nulls = 0;
  };

  void merge(const std::shared_ptr<arrow::DataType>& type);

  std::shared_ptr<arrow::DataType> type_;  // null where no block has a value
  bool has_empty_texts_ = false;
  bool has_negative_ = false;        // of the integers
  bool has_large_integers_ = false;  // beyond those that float64 holds without a gap
  std::vector<Bounds> bounds_;
};

}  // namespace skyrank::datasets

#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/arrow/number_text.hpp"
#include "datasets/input/files.hpp"

// Types of texts, which CSV and JSON lines share: the rules by which they are inferred, and values by types that are
// stated.
namespace skyrank::datasets {

/// Types in the order in which they are tried: the first that holds all values of a column counts.
using TypeChoices = std::vector<std::shared_ptr<arrow::DataType>>;

/// Returns the types that a stated type stands for: of timestamps without a unit, all units.
TypeChoices type_choices(const StatedType& stated);

/// The values of a column of texts.
struct ParsedTexts {
  std::shared_ptr<arrow::ChunkedArray> values;  ///< null where no type holds all of them
  std::int64_t wrong_row = -1;                  ///< row that stands in the way
};

/// Reads a column of utf8 texts as values of the first of `choices` that holds all of them. Times with a zone are times
/// of UTC, as those without are taken for. Floats are the nearest ones.
ParsedTexts parse_texts(const arrow::ChunkedArray& texts, const TypeChoices& choices);

/// Returns a column of utf8 texts as dates or timestamps where all of them are, in the first unit of seconds,
/// nanoseconds, microseconds and milliseconds that holds them, and as it is otherwise. Timestamps are of zone UTC where
/// all texts have a zone, and of none where none has.
std::shared_ptr<arrow::ChunkedArray> inferred_times(std::shared_ptr<arrow::ChunkedArray> texts);

/// The type that holds all numbers of a column, or the problem with them.
struct NumberType {
  std::shared_ptr<arrow::DataType> type;  ///< int64, uint64 or float64; null where none of them does
  std::string problem;                    ///< end of a message that begins with the column
  TextPlace place;                        ///< place of the problem
};

NumberType number_type(const NumberFacts& facts);

/// Returns the end of a message that begins with a column, about a text that is no value of its stated type.
std::string no_value_of(const std::string& text, const std::string& type);

}  // namespace skyrank::datasets

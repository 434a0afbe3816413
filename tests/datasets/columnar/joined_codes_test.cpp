// Indices into several dictionaries as indices into one, against the strings that they stand for.
#include "datasets/columnar/decode/joined_codes.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/build.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::require;

using ArrayPtr = std::shared_ptr<arrow::Array>;
using Words = std::vector<std::optional<std::string>>;

ArrayPtr strings_of(const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  require(builder.AppendValues(texts));
  return builder.Finish().ValueOrDie();
}

/// Returns indices of a type, of which negative ones stand for NULL.
ArrayPtr indices_of(const std::vector<int>& indices, const std::shared_ptr<arrow::DataType>& type) {
  arrow::Int32Builder builder;
  for (const int index : indices) require(index < 0 ? builder.AppendNull() : builder.Append(index));
  return arrow::compute::Cast(*builder.Finish().ValueOrDie(), type).ValueOrDie();
}

ArrayPtr part_of(const std::vector<std::string>& entries, const std::vector<int>& indices,
                 const std::shared_ptr<arrow::DataType>& index = arrow::int8()) {
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(index, arrow::utf8()), indices_of(indices, index),
                                            strings_of(entries))
      .ValueOrDie();
}

Words words_of(const arrow::Array& array) {
  const auto& codes = static_cast<const arrow::DictionaryArray&>(array);
  const auto& entries = static_cast<const arrow::StringArray&>(*codes.dictionary());
  Words texts;
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.push_back(array.IsNull(row) ? std::nullopt : std::optional(entries.GetString(codes.GetValueIndex(row))));
  }
  return texts;
}

std::string index_of(const arrow::Array& array) {
  return static_cast<const arrow::DictionaryType&>(*array.type()).index_type()->name();
}

ArrayPtr join(const std::vector<ArrayPtr>& parts, bool narrow = true, bool threads = false) {
  ArrayPtr joined = joined_codes(parts, narrow, threads, arrow::default_memory_pool());
  require(joined->ValidateFull());
  return joined;
}

TEST(JoinedCodes, HaveOneDictionaryInTheOrderOfItsEntries) {
  const auto joined = join({part_of({"b", "a"}, {1, 0, -1, 1}), part_of({"c", "a", "b"}, {0, 2, 1})});
  EXPECT_EQ(words_of(*joined), (Words{"a", "b", std::nullopt, "a", "c", "b", "a"}));
  const auto& codes = static_cast<const arrow::DictionaryArray&>(*joined);
  EXPECT_TRUE(codes.dictionary()->Equals(*strings_of({"b", "a", "c"})));
}

TEST(JoinedCodes, MayHaveNullsInSomePartsAlone) {
  const auto joined = join({part_of({"a"}, {0, 0}), part_of({}, {-1, -1, -1}), part_of({"b"}, {0, -1, 0})});
  EXPECT_EQ(words_of(*joined), (Words{"a", "a", std::nullopt, std::nullopt, std::nullopt, "b", std::nullopt, "b"}));
  EXPECT_EQ(joined->null_count(), 4);
  EXPECT_EQ(join({part_of({"a"}, {0}), part_of({"b"}, {0})})->null_bitmap(), nullptr);
}

TEST(JoinedCodes, HaveTheWidthOfTheirEntries) {
  for (const int entries : {127, 128, 32'767, 32'768}) {
    std::vector<std::string> texts;
    std::vector<int> indices;
    for (int i = 0; i < entries; ++i) {
      texts.push_back(std::to_string(i));
      indices.push_back(entries - 1 - i);
    }
    const auto whole = join({part_of({"0"}, {0}), part_of(texts, indices, arrow::int32())});
    EXPECT_EQ(index_of(*whole), entries <= 127 ? "int8" : entries <= 32'767 ? "int16" : "int32") << entries;
    EXPECT_EQ(words_of(*whole)[1], std::to_string(entries - 1));
  }
  const std::vector<ArrayPtr> one = {part_of({"a"}, {0, 0})};
  EXPECT_EQ(index_of(*join(one)), "int8");
  EXPECT_EQ(index_of(*join(one, /*narrow=*/false)), "int32");
  EXPECT_EQ(words_of(*join(one, /*narrow=*/false)), (Words{"a", "a"}));
}

TEST(JoinedCodes, AreThoseOfRandomPartsOfAllWidths) {
  std::mt19937 random(7);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const std::vector<std::shared_ptr<arrow::DataType>> widths = {arrow::int8(), arrow::int16(), arrow::int32()};
  for (int round = 0; round < 200; ++round) {
    std::vector<ArrayPtr> parts;
    Words expected;
    for (int part = 1 + below(6); part > 0; --part) {
      std::vector<std::string> entries;
      for (int i = below(100); i >= 0; --i) entries.push_back("word " + std::to_string(i * 7 % (1 + below(200))));
      std::vector<int> indices;
      for (int row = below(300); row > 0; --row)
        indices.push_back(below(5) == 0 ? -1 : below(static_cast<int>(entries.size())));
      parts.push_back(part_of(entries, indices, widths[static_cast<std::size_t>(below(3))]));
      const Words texts = words_of(*parts.back());
      expected.insert(expected.end(), texts.begin(), texts.end());
    }
    EXPECT_EQ(words_of(*join(parts, below(2) == 0, /*threads=*/true)), expected);
  }
}

}  // namespace
}  // namespace skyrank::datasets

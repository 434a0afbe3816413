#include "datasets/columnar/footer/parquet_footer.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <skyrank/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/arrow/arrow_schema.hpp"
#include "datasets/columnar/footer/parquet_errors.hpp"
#include "datasets/columnar/footer/thrift.hpp"
#include "datasets/input/input.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using Count = std::optional<std::int64_t>;  // what a footer says, or nothing

/// An element of the schema: the tree comes as a list, in which the fields of a group follow it.
struct SchemaElement {
  std::string_view name;
  std::int64_t children = 0;
  bool is_repeated = false;
};

/// A leaf of the schema, which has a chunk in each row group.
struct Leaf {
  std::string_view column;   ///< the field of the table that it is, or is a part of
  bool is_repeated = false;  ///< a row may have any number of values
};

/// A part of a column in one row group.
struct FooterChunk {
  bool has_metadata = false;
  bool is_encrypted = false;
  Count values;
  Count bytes;
  Count data;
  Count dictionary;
};

/// Checks a footer, over which it walks twice: the schema may come behind the row groups. The messages do not name the
/// file.
class FooterCheck {
 public:
  FooterCheck(std::span<const std::uint8_t> footer, std::int64_t file_bytes)
      : footer_(footer), file_bytes_(file_bytes) {}

  /// Returns false for a schema with too many levels.
  bool run() {
    bool is_too_deep = false;
    walk([&](std::int64_t field, thrift::Type type) {
      if (field == 2 && type == thrift::Type::list) {
        is_too_deep = !read_schema();
      } else if (field == 3 && type == thrift::Type::int64) {
        rows_ = in_.integer();
      } else {
        return false;
      }
      return true;
    });
    if (is_too_deep) return false;
    walk([&](std::int64_t field, thrift::Type type) {
      if (field != 4 || type != thrift::Type::list) return false;
      rows_of_groups_ = group_ = 0;
      in_.structures([&] { read_row_group(); });
      return true;
    });
    if (rows_ && std::cmp_equal(rows_of_groups_, *rows_)) return true;
    throw DataError("the file has " + (rows_ ? std::to_string(*rows_) : "no number of") + " rows, and its row groups " +
                    std::to_string(rows_of_groups_) + " together");
  }

 private:
  /// A group of the schema.
  struct OpenGroup {
    std::size_t missing = 0;  ///< fields that are to come
    bool is_repeated = false;
  };

  template <class Read>
  void walk(const Read& read) {
    in_ = thrift::Reader(footer_);
    in_.structure(read);
  }

  SchemaElement read_element() {
    SchemaElement element;
    in_.structure([&](std::int64_t field, thrift::Type type) {
      if (field == 3 && type == thrift::Type::int32) {
        constexpr std::int64_t kRepeated = 2;
        element.is_repeated = in_.integer() == kRepeated;
      } else if (field == 4 && type == thrift::Type::binary) {
        element.name = in_.binary();
      } else if (field == 5 && type == thrift::Type::int32) {
        element.children = in_.integer();
      } else {
        return false;
      }
      return true;
    });
    return element;
  }

  /// Collects the leaves; false where there are too many levels.
  bool read_schema() {
    std::vector<SchemaElement> elements;
    in_.structures([&] { elements.push_back(read_element()); });
    leaves_.clear();
    std::vector<OpenGroup> open;
    std::string_view column;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const SchemaElement& element = elements[i];
      const bool is_root = i == 0;
      if (!is_root && open.empty()) throw DataError("the schema has elements that are in no group");
      if (open.size() == 1) column = element.name;
      const std::size_t children = checked_count(element.children, elements.size() - i - 1,
                                                 "the number of fields of " + quoted_name(element.name));
      const bool is_repeated = !is_root && (element.is_repeated || open.back().is_repeated);
      if (!is_root) --open.back().missing;
      if (children > 0) open.push_back({children, is_repeated});
      if (!is_root && children == 0) leaves_.push_back({column, is_repeated});
      // The root, which is no level, is open as well.
      if (open.size() > kMaxSchemaLevels) return false;
      while (!open.empty() && open.back().missing == 0) open.pop_back();
    }
    if (!open.empty()) throw DataError("the schema lacks fields of its groups");
    return true;
  }

  void read_row_group() {
    const std::string where = "row group " + std::to_string(group_++);
    Count rows;
    chunks_.clear();
    in_.structure([&](std::int64_t field, thrift::Type type) {
      if (field == 1 && type == thrift::Type::list) {
        chunks_.clear();
        in_.structures([&] { read_chunk(chunks_.emplace_back()); });
      } else if (field == 3 && type == thrift::Type::int64) {
        rows = in_.integer();
      } else {
        return false;
      }
      return true;
    });
    if (!rows) throw DataError(where + " has no number of rows");
    check_chunks(where, *rows);
    rows_of_groups_ = checked_add(rows_of_groups_, *rows, "the number of rows up to " + where);
  }

  void read_chunk(FooterChunk& chunk) {
    in_.structure([&](std::int64_t field, thrift::Type type) {
      if (field == 8 || field == 9) chunk.is_encrypted = true;
      if (field != 3 || type != thrift::Type::structure) return false;
      chunk.has_metadata = true;
      in_.structure([&](std::int64_t member, thrift::Type kind) {
        Count* const count = kind != thrift::Type::int64 ? nullptr
                             : member == 5               ? &chunk.values
                             : member == 7               ? &chunk.bytes
                             : member == 9               ? &chunk.data
                             : member == 11              ? &chunk.dictionary
                                                         : nullptr;
        if (count != nullptr) *count = in_.integer();
        return count != nullptr;
      });
      return true;
    });
  }

  void check_chunks(const std::string& where, std::int64_t rows) const {
    if (chunks_.size() != leaves_.size()) {
      throw DataError(where + " has " + std::to_string(chunks_.size()) + " columns, and the schema " +
                      std::to_string(leaves_.size()));
    }
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      try {
        check_chunk(chunks_[i], leaves_[i], rows);
      } catch (const DataError& error) {
        throw DataError("column " + quoted_name(leaves_[i].column) + " of " + where + ": " + error.message());
      }
    }
  }

  void check_chunk(const FooterChunk& chunk, const Leaf& leaf, std::int64_t rows) const {
    if (!chunk.has_metadata && chunk.is_encrypted) return;  // refused where it is read
    if (!chunk.has_metadata || !chunk.values || !chunk.bytes || !chunk.data) {
      throw DataError("its number of values, its size or its place is missing");
    }
    const std::size_t bytes = checked_count(*chunk.bytes, file_bytes_, "the size");
    static_cast<void>(checked_count(*chunk.data, file_bytes_, "the place"));
    // Some writers say 0 where there is no dictionary.
    std::int64_t begin = *chunk.data;
    if (chunk.dictionary && *chunk.dictionary != 0) {
      static_cast<void>(checked_count(*chunk.dictionary, file_bytes_, "the place"));
      begin = std::min(begin, *chunk.dictionary);
    }
    static_cast<void>(checked_count(bytes, file_bytes_ - begin, "the size"));
    static_cast<void>(checked_count(*chunk.values, max_values(bytes), "the number of values"));
    const bool fits = leaf.is_repeated ? *chunk.values >= rows : *chunk.values == rows;
    if (fits) return;
    throw DataError("the number of values is " + std::to_string(*chunk.values) + ", but the row group has " +
                    std::to_string(rows) + " rows");
  }

  /// Returns how many values `bytes` of pages can have: the header of a page has some bytes, and counts in 32 bits.
  static std::size_t max_values(std::size_t bytes) {
    constexpr std::size_t kMinHeader = 8;
    constexpr auto kValuesOfPage = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    return std::min(bytes / kMinHeader + 1, kValuesOfPage) * kValuesOfPage;
  }

  std::span<const std::uint8_t> footer_;
  std::int64_t file_bytes_;
  thrift::Reader in_{{}};
  Count rows_;
  std::vector<Leaf> leaves_;
  std::size_t group_ = 0;  // of the next row group
  std::size_t rows_of_groups_ = 0;
  std::vector<FooterChunk> chunks_;  // of one row group
};

constexpr std::int64_t kTail = 8;  // bytes behind the metadata: their size, and a mark

/// Returns the number of bytes of the metadata in a file that ends in `end`.
std::int64_t metadata_bytes(std::string_view end, std::uint64_t file_bytes) {
  if (end.ends_with("PARE")) throw DataError("the file is encrypted, which SkyRank cannot read");
  if (end.size() < kTail || !end.ends_with("PAR1")) {
    throw DataError(
        "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.");
  }
  std::uint32_t stated = 0;
  std::memcpy(&stated, end.data() + end.size() - kTail, sizeof stated);
  return static_cast<std::int64_t>(checked_count(stated, file_bytes - kTail, "the size of the metadata"));
}

/// Runs a check, and puts the name of the file before its message.
template <class Check>
auto named(const ColumnarFile& file, const Check& run) {
  try {
    return run();
  } catch (const DataError& error) {
    throw DataError(file.name + ": " + kDamagedParquet + ": " + error.message());
  }
}

std::shared_ptr<arrow::Buffer> metadata_of(const ColumnarFile& file) {
  constexpr std::int64_t kUsual = std::int64_t{64} << 10;  // which one read brings
  const auto read = [&](std::int64_t position, std::int64_t bytes) {
    auto buffer = file.input->ReadAt(position, bytes);
    check(buffer.status(), file.name, kDamagedParquet);
    return *std::move(buffer);
  };
  const auto size = static_cast<std::int64_t>(file.size);
  const std::int64_t first = std::min(size, kUsual);
  const auto end = read(size - first, first);
  const std::int64_t bytes = named(file, [&] { return metadata_bytes(std::string_view(*end), file.size); });
  if (bytes + kTail > first) return read(size - kTail - bytes, bytes);
  return arrow::SliceBuffer(end, first - kTail - bytes, bytes);
}

}  // namespace

std::shared_ptr<parquet::FileMetaData> read_footer(const ColumnarFile& file) {
  const auto bytes = metadata_of(file);
  const std::span footer(bytes->data(), static_cast<std::size_t>(bytes->size()));
  const bool has_few_levels =
      named(file, [&] { return FooterCheck(footer, static_cast<std::int64_t>(file.size)).run(); });
  if (!has_few_levels) refuse_levels(file.name);
  auto length = static_cast<std::uint32_t>(footer.size());
  return parquet::FileMetaData::Make(footer.data(), &length);
}

}  // namespace skyrank::datasets

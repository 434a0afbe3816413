#include "datasets/arrow/ipc_sizes.hpp"

#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/io/interfaces.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <skyrank/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// Returns a number at any address of a message.
template <class T>
T number_at(Bytes bytes, std::size_t position) {
  if (position > bytes.size() || bytes.size() - position < sizeof(T)) {
    throw DataError("a message is cut short: the data are damaged");
  }
  T value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

/// A table of a flatbuffer, whose every access is checked. It begins with the distance to its vtable, which holds its
/// own size, that of the table, and where each field lies (0: it has its default). https://flatbuffers.dev/internals
class FlatTable {
 public:
  /// The table at the root of a buffer.
  explicit FlatTable(Bytes bytes) : FlatTable(bytes, number_at<std::uint32_t>(bytes, 0)) {}

  template <class T>
  T number(std::size_t field, T otherwise) const {
    const auto position = find(field);
    return position ? number_at<T>(bytes_, *position) : otherwise;
  }

  std::optional<FlatTable> table(std::size_t field) const {
    const auto position = follow(field);
    return position ? std::optional(FlatTable(bytes_, *position)) : std::nullopt;
  }

  /// Returns a vector of structs of `width` bytes, or an empty one.
  Bytes structs(std::size_t field, std::size_t width) const {
    const auto position = follow(field);
    if (!position) return {};
    const std::size_t count = number_at<std::uint32_t>(bytes_, *position);
    const std::size_t begin = *position + sizeof(std::uint32_t);
    return bytes_.subspan(begin, width * checked_count(count, (bytes_.size() - begin) / width, "the length of a list"));
  }

  bool has(std::size_t field) const { return find(field).has_value(); }

 private:
  FlatTable(Bytes bytes, std::size_t position) : bytes_(bytes), position_(position) {
    vtable_ = position - static_cast<std::size_t>(std::int64_t{number_at<std::int32_t>(bytes, position)});
  }

  std::optional<std::size_t> find(std::size_t field) const {
    const std::size_t entry = sizeof(std::uint16_t) * (2 + field);
    if (number_at<std::uint16_t>(bytes_, vtable_) < entry + sizeof(std::uint16_t)) return std::nullopt;
    const auto distance = number_at<std::uint16_t>(bytes_, vtable_ + entry);
    return distance == 0 ? std::nullopt : std::optional(position_ + distance);
  }

  std::optional<std::size_t> follow(std::size_t field) const {
    const auto position = find(field);
    return position ? std::optional(*position + number_at<std::uint32_t>(bytes_, *position)) : std::nullopt;
  }

  Bytes bytes_;
  std::size_t position_;
  std::size_t vtable_ = 0;
};

// Kinds of messages, and fields of the tables by their numbers: format/Message.fbs and format/File.fbs of Arrow.
enum class Header : std::uint8_t { none = 0, schema = 1, dictionary_batch = 2, record_batch = 3 };
namespace message_field {
enum : std::size_t { version, header_type, header, body_length };
}
namespace batch_field {
enum : std::size_t { length, nodes, buffers, compression, variadic_counts };
}
constexpr std::size_t kDataOfDictionary = 1;
namespace footer_field {
enum : std::size_t { version, schema, dictionaries, batches };
}
constexpr std::int16_t kVersion4 = 3;

/// A message without its values.
struct Message {
  std::shared_ptr<arrow::Buffer> metadata;
  std::size_t body = 0;  // where the values begin
  std::size_t body_bytes = 0;

  FlatTable root() const { return FlatTable(bytes()); }
  Bytes bytes() const { return {metadata->data(), static_cast<std::size_t>(metadata->size())}; }
  std::size_t end() const { return body + body_bytes; }
};

class SizeReader {
 public:
  SizeReader(arrow::io::RandomAccessFile& file, std::size_t file_bytes, const arrow::Schema& schema)
      : file_(file), file_bytes_(file_bytes), schema_(schema) {}

  arrow::Result<IpcSizes> of_file() {
    constexpr std::size_t kTail = 10;  // the size of the footer, and a mark of 6 bytes
    if (file_bytes_ < kTail) return arrow::Status::Invalid("the file is cut short");
    ARROW_ASSIGN_OR_RAISE(const auto tail, read(file_bytes_ - kTail, kTail));
    const std::size_t size =
        checked_count(number_at<std::int32_t>(bytes_of(*tail), 0), file_bytes_ - kTail, "the size of the footer");
    ARROW_ASSIGN_OR_RAISE(const auto metadata, read(file_bytes_ - kTail - size, size));
    const FlatTable footer(bytes_of(*metadata));
    for (const std::size_t list : {footer_field::dictionaries, footer_field::batches}) {
      constexpr std::size_t kBlock = 24;  // a position, and two sizes, which the message has as well
      const Bytes blocks = footer.structs(list, kBlock);
      for (std::size_t at = 0; at < blocks.size(); at += kBlock) {
        const std::size_t position =
            checked_count(number_at<std::int64_t>(blocks, at), file_bytes_, "the position of a message");
        ARROW_ASSIGN_OR_RAISE(const auto message, read_message(position));
        if (!message) return arrow::Status::Invalid("the footer names a message that is not there");
        ARROW_RETURN_NOT_OK(add(*message));
      }
    }
    return std::move(sizes_);
  }

  arrow::Result<IpcSizes> of_stream() {
    for (std::size_t position = 0; position < file_bytes_;) {
      ARROW_ASSIGN_OR_RAISE(const auto message, read_message(position));
      if (!message) break;
      ARROW_RETURN_NOT_OK(add(*message));
      position = message->end();
    }
    return std::move(sizes_);
  }

 private:
  static Bytes bytes_of(const arrow::Buffer& buffer) {
    return {buffer.data(), static_cast<std::size_t>(buffer.size())};
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> read(std::size_t position, std::size_t size) {
    ARROW_ASSIGN_OR_RAISE(auto bytes,
                          file_.ReadAt(static_cast<std::int64_t>(position), static_cast<std::int64_t>(size)));
    if (static_cast<std::size_t>(bytes->size()) == size) return bytes;
    return arrow::Status::Invalid("the file is cut short");
  }

  /// Reads a message at a position; nothing at the end of a stream. Before version 0.15 of Arrow they had no mark.
  arrow::Result<std::optional<Message>> read_message(std::size_t position) {
    constexpr std::uint32_t kMark = 0xFFFFFFFF;
    constexpr std::size_t kWord = sizeof kMark;
    if (file_bytes_ - position < kWord) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(auto word, read(position, kWord));
    position += kWord;
    if (number_at<std::uint32_t>(bytes_of(*word), 0) == kMark) {
      if (file_bytes_ - position < kWord) return std::nullopt;
      ARROW_ASSIGN_OR_RAISE(word, read(position, kWord));
      position += kWord;
    }
    const std::size_t size =
        checked_count(number_at<std::int32_t>(bytes_of(*word), 0), file_bytes_ - position, "the size of a message");
    if (size == 0) return std::nullopt;
    Message message;
    ARROW_ASSIGN_OR_RAISE(message.metadata, read(position, size));
    message.body = position + size;
    message.body_bytes = checked_count(message.root().number<std::int64_t>(message_field::body_length, 0),
                                       file_bytes_ - message.body, "the size of a message's values");
    return message;
  }

  arrow::Status add(const Message& message) {
    const FlatTable root = message.root();
    const auto kind = Header{root.number<std::uint8_t>(message_field::header_type, 0)};
    const auto header = root.table(message_field::header);
    if (!header) return arrow::Status::OK();
    if (kind == Header::dictionary_batch) {
      if (const auto data = header->table(kDataOfDictionary)) return add_dictionary(message, *data);
    } else if (kind == Header::record_batch) {
      return add_batch(message, *header);
    }
    return arrow::Status::OK();
  }

  arrow::Status add_dictionary(const Message& message, const FlatTable& data) {
    ARROW_ASSIGN_OR_RAISE(const auto buffers, buffers_of(message, data));
    for (const std::size_t bytes : buffers) {
      sizes_.dictionaries = checked_add(sizes_.dictionaries, bytes, "the size of all dictionaries");
    }
    return arrow::Status::OK();
  }

  arrow::Status add_batch(const Message& message, const FlatTable& batch) {
    const std::string place = "record batch " + std::to_string(sizes_.batches.size());
    const auto rows = batch.number<std::int64_t>(batch_field::length, 0);
    checked_count(rows, std::numeric_limits<std::int64_t>::max(), "the number of rows of " + place);
    IpcBatchSizes sizes{rows, message.body_bytes, {}};
    ARROW_ASSIGN_OR_RAISE(const auto buffers, buffers_of(message, batch));
    Cursor next{buffers, batch.structs(batch_field::variadic_counts, sizeof(std::int64_t)),
                message.root().number<std::int16_t>(message_field::version, 0) <= kVersion4};
    for (const auto& field : schema_.fields()) {
      const std::size_t bytes = next.take(*field->type());
      if (is_compressed(message, batch)) check_width(*field, rows, bytes, place);
      sizes.fields.push_back(bytes);
    }
    sizes_.batches.push_back(std::move(sizes));
    return arrow::Status::OK();
  }

  /// Checks that values of fixed width take about as much memory as their number tells, which is what queries count.
  static void check_width(const arrow::Field& field, std::int64_t rows, std::size_t bytes, const std::string& place) {
    if (!arrow::is_fixed_width(field.type()->id())) return;
    constexpr std::size_t kTimes = 2;  // buffers may be longer than their values
    constexpr std::size_t kAlways = 8'192;
    const auto bits = static_cast<const arrow::FixedWidthType&>(*field.type()).bit_width() + 1;
    const std::string what = "the size of column '" + field.name() + "' in " + place;
    checked_count(bytes,
                  checked_add(checked_multiply(rows, kTimes * static_cast<std::size_t>(bits), what) / 8, kAlways, what),
                  what);
  }

  static bool is_compressed(const Message& message, const FlatTable& batch) {
    constexpr std::string_view kBeforeVersion5 = "ARROW:experimental_compression";
    if (batch.has(batch_field::compression)) return true;
    return message.root().number<std::int16_t>(message_field::version, 0) <= kVersion4 &&
           std::string_view(*message.metadata).find(kBeforeVersion5) != std::string_view::npos;
  }

  /// Returns the bytes in memory of each buffer of a batch.
  arrow::Result<std::vector<std::size_t>> buffers_of(const Message& message, const FlatTable& batch) {
    constexpr std::size_t kBuffer = 16;  // a position within the values, and a length
    const Bytes buffers = batch.structs(batch_field::buffers, kBuffer);
    const bool compressed = is_compressed(message, batch);
    sizes_.is_compressed = sizes_.is_compressed || compressed;
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < buffers.size(); at += kBuffer) {
      const std::size_t begin =
          checked_count(number_at<std::int64_t>(buffers, at), message.body_bytes, "the position of a buffer");
      std::size_t bytes = checked_count(number_at<std::int64_t>(buffers, at + sizeof(std::int64_t)),
                                        message.body_bytes - begin, "the size of a buffer");
      if (compressed && bytes > 0) {
        ARROW_ASSIGN_OR_RAISE(bytes, decompressed_size(message.body + begin, bytes));
      }
      sizes.push_back(bytes);
    }
    return sizes;
  }

  /// Returns the bytes in memory of a compressed buffer at a position of the file: it begins with their number, or -1
  /// where it is not compressed after all.
  arrow::Result<std::size_t> decompressed_size(std::size_t position, std::size_t stored) {
    constexpr std::size_t kPrefix = sizeof(std::int64_t);
    constexpr std::size_t kMaxExpansion = std::size_t{1} << 20;
    if (stored < kPrefix) return arrow::Status::Invalid("a compressed buffer has less than 8 bytes");
    ARROW_ASSIGN_OR_RAISE(const auto prefix, read(position, kPrefix));
    const auto bytes = number_at<std::int64_t>(bytes_of(*prefix), 0);
    if (bytes == -1) return stored - kPrefix;
    const std::string what = "the size of a decompressed buffer";
    return checked_count(bytes, checked_multiply(stored, kMaxExpansion, what), what);
  }

  /// Walks over the buffers of a batch, field by field.
  struct Cursor {
    const std::vector<std::size_t>& buffers;
    Bytes variadic_counts;
    bool unions_have_validity;
    std::size_t next = 0;
    std::size_t next_count = 0;

    /// Returns the bytes of all buffers of the next field, with those of its children.
    std::size_t take(const arrow::DataType& type) {
      if (type.id() == arrow::Type::EXTENSION) {
        return take(*static_cast<const arrow::ExtensionType&>(type).storage_type());
      }
      if (type.id() == arrow::Type::DICTIONARY)
        return take(*static_cast<const arrow::DictionaryType&>(type).index_type());
      std::size_t bytes = take(count_of(type));
      for (const auto& child : type.fields()) bytes = checked_add(bytes, take(*child->type()), "the size of a column");
      return bytes;
    }

    std::size_t count_of(const arrow::DataType& type) {
      const arrow::DataTypeLayout layout = type.layout();
      auto count = static_cast<std::size_t>(std::ranges::count_if(
          layout.buffers, [](const auto& buffer) { return buffer.kind != arrow::DataTypeLayout::ALWAYS_NULL; }));
      if (arrow::is_union(type.id()) && unions_have_validity) ++count;
      if (!layout.variadic_spec) return count;
      const auto views = number_at<std::int64_t>(variadic_counts, sizeof(std::int64_t) * next_count++);
      return count + checked_count(views, buffers.size(), "the number of buffers of texts");
    }

    std::size_t take(std::size_t count) {
      checked_count(count, buffers.size() - next, "the number of buffers of a column");
      std::size_t bytes = 0;
      for (; count > 0; --count) bytes = checked_add(bytes, buffers[next++], "the size of a column");
      return bytes;
    }
  };

  arrow::io::RandomAccessFile& file_;
  std::size_t file_bytes_;
  const arrow::Schema& schema_;
  IpcSizes sizes_;
};

}  // namespace

std::size_t IpcSizes::of(std::size_t batch, const std::vector<int>& fields) const {
  std::size_t bytes = 0;
  for (const int field : fields) {
    bytes = checked_add(bytes, batches[batch].fields[static_cast<std::size_t>(field)], "the size of a record batch");
  }
  return bytes;
}

arrow::Result<IpcSizes> ipc_file_sizes(arrow::io::RandomAccessFile& file, const arrow::Schema& schema) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t bytes, file.GetSize());
  return SizeReader(file, static_cast<std::size_t>(bytes), schema).of_file();
}

arrow::Result<IpcSizes> ipc_stream_sizes(arrow::io::RandomAccessFile& file, const arrow::Schema& schema) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t bytes, file.GetSize());
  return SizeReader(file, static_cast<std::size_t>(bytes), schema).of_stream();
}

}  // namespace skyrank::datasets

#include <skyrank/arrow.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/arrow_checks.hpp"
#include "engine/arrow_owned.hpp"
#include "engine/operators/gather/gather.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

using Stream = Owned<ArrowArrayStream>;

/// Throws unless a call of the producer, which `what` names, returned 0.
void check(Stream& stream, int error, const char* what) {
  if (error == 0) return;
  const char* message = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(&*stream);
  throw DataError(std::string("Arrow stream: ") + what +
                  " failed: " + (message == nullptr || *message == '\0' ? std::strerror(error) : message));
}

/// Asks for the schema, which importing a batch consumes.
Owned<ArrowSchema> schema_of(Stream& stream) {
  Owned<ArrowSchema> schema;
  check(stream, stream->get_schema(&*stream, &*schema), "reading its schema");
  if (schema->release == nullptr) throw DataError("Arrow stream: it gives no schema");
  return schema;
}

void release_nothing(ArrowArray* array) { array->release = nullptr; }

/// An array without rows, whose buffers nobody looks into.
class EmptyArray {
 public:
  /// `levels` of children are made: what import_arrow() takes has no more.
  explicit EmptyArray(const ArrowSchema& schema, int levels = 2) {
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    array_.n_buffers = format == "+s" ? 1 : arrow_checks::buffers_of_format(format);
    array_.buffers = buffers_.data();
    array_.release = release_nothing;
    if (levels == 0) return;
    for (std::int64_t i = 0; schema.children != nullptr && i < schema.n_children; ++i) {
      if (schema.children[i] == nullptr) continue;  // import_arrow says so
      children_.push_back(std::make_unique<EmptyArray>(*schema.children[i], levels - 1));
      pointers_.push_back(&children_.back()->array_);
    }
    array_.n_children = static_cast<std::int64_t>(pointers_.size());
    array_.children = pointers_.data();
    if (schema.dictionary == nullptr) return;
    dictionary_ = std::make_unique<EmptyArray>(*schema.dictionary, levels - 1);
    array_.dictionary = &dictionary_->array_;
  }

  ArrowArray array() const { return array_; }

 private:
  ArrowArray array_{};
  std::array<const void*, 3> buffers_{};
  std::vector<std::unique_ptr<EmptyArray>> children_;
  std::vector<ArrowArray*> pointers_;
  std::unique_ptr<EmptyArray> dictionary_;
};

/// Returns the table of the stream without any row.
Table empty_table(Stream& stream) {
  Owned<ArrowSchema> schema = schema_of(stream);
  arrow_checks::check_levels(*schema);
  const EmptyArray none(*schema);
  ArrowArray array = none.array();
  // The columns refer to no memory of the arrays, which end here: taking rows copies them.
  return exec::gather(import_arrow(&array, &*schema), {});
}

/// Returns the next batch, or nothing at the end of the stream.
std::optional<Table> next_batch(Stream& stream) {
  Owned<ArrowArray> array;
  check(stream, stream->get_next(&*stream, &*array), "reading the next batch");
  if (array->release == nullptr) return std::nullopt;
  Owned<ArrowSchema> schema = schema_of(stream);
  return import_arrow(&*array, &*schema);
}

}  // namespace

std::shared_ptr<const Source> arrow_source(ArrowArrayStream* source) {
  Stream stream = Stream::take(source);
  if (stream->release == nullptr) throw DataError("Arrow stream: is a null pointer or was released already");
  Table schema = empty_table(stream);
  std::vector<Table> batches;
  std::vector<SourceUnit> units;
  while (auto batch = next_batch(stream)) {
    if (batch->num_rows() == 0) continue;
    units.push_back({batch->num_rows()});
    batches.push_back(*std::move(batch));
  }
  if (batches.empty()) return in_memory_source(std::move(schema));
  if (batches.size() == 1) return in_memory_source(std::move(batches.front()));
  const auto read = [batches = std::move(batches)](std::size_t unit, std::span<const int>) { return batches[unit]; };
  return unit_source(std::move(schema), std::move(units), read);
}

}  // namespace v0
}  // namespace skyrank

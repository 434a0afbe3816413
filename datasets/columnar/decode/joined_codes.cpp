#include "datasets/columnar/decode/joined_codes.hpp"

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "datasets/arrow/arrow_threads.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using BufferPtr = std::shared_ptr<arrow::Buffer>;
using TypePtr = std::shared_ptr<arrow::DataType>;

/// A part, its place in the whole, and the index in the whole of each of its entries.
struct CodedPart {
  std::shared_ptr<arrow::DictionaryArray> codes;
  BufferPtr places;
  std::int64_t begin = 0;
  bool keeps_codes = false;  ///< each entry has the same index in the whole
};

std::span<const std::int32_t> places_of(const CodedPart& part) {
  return {reinterpret_cast<const std::int32_t*>(part.places->data()),
          static_cast<std::size_t>(part.codes->dictionary()->length())};
}

/// Returns the type of the strings of a column that has row groups.
TypePtr type_of_strings(const std::vector<ArrayPtr>& parts) {
  if (parts.empty()) throw parquet::ParquetException("a column has no row groups");
  return static_cast<const arrow::DictionaryType&>(*parts.front()->type()).value_type();
}

/// Calls f with a value of the type of indices.
template <class F>
void with_index_type(const arrow::DataType& index, const F& f) {
  switch (index.byte_width()) {
    case 1: return f(std::int8_t{});
    case 2: return f(std::int16_t{});
    default: return f(std::int32_t{});
  }
}

template <class From, class To>
void move_codes(const CodedPart& part, To beyond, To* to) {
  const arrow::ArrayData& data = *part.codes->indices()->data();
  const std::span from(data.GetValues<From>(1), static_cast<std::size_t>(data.length));
  if constexpr (std::is_same_v<From, To>) {
    if (part.keeps_codes && part.codes->null_count() == 0)
      return static_cast<void>(std::ranges::copy(from, to + part.begin));
  }
  const std::span<const std::int32_t> places = places_of(part);
  std::ranges::transform(from, to + part.begin, [=](From code) {
    const auto index = static_cast<std::uint32_t>(code);  // a negative one is beyond all entries
    return index < places.size() ? static_cast<To>(places[index]) : beyond;
  });
}

/// Parts that are joined by tasks, which share this as they may outlive the call.
class JoinedCodes {
 public:
  JoinedCodes(const std::vector<ArrayPtr>& parts, bool narrow, arrow::MemoryPool* pool) : pool_(pool) {
    const TypePtr strings = type_of_strings(parts);
    PARQUET_ASSIGN_OR_THROW(auto unifier, arrow::DictionaryUnifier::Make(strings, pool));
    for (const ArrayPtr& part : parts) {
      CodedPart coded{std::static_pointer_cast<arrow::DictionaryArray>(part), nullptr, rows_};
      // Pages of one column chunk have one dictionary.
      if (!parts_.empty() && parts_.back().codes->dictionary()->Equals(coded.codes->dictionary())) {
        coded.places = parts_.back().places;
        coded.keeps_codes = parts_.back().keeps_codes;
      } else {
        PARQUET_THROW_NOT_OK(unifier->Unify(*coded.codes->dictionary(), &coded.places));
        std::int32_t next = 0;
        coded.keeps_codes = std::ranges::all_of(places_of(coded), [&](std::int32_t place) { return place == next++; });
      }
      rows_ = static_cast<std::int64_t>(checked_add(rows_, part->length(), "the number of rows"));
      nulls_ += part->null_count();
      parts_.push_back(std::move(coded));
    }
    PARQUET_THROW_NOT_OK(unifier->GetResult(&type_, &dictionary_));
    if (!narrow) type_ = arrow::dictionary(arrow::int32(), strings);
    const auto bytes = checked_multiply(rows_, index_type().byte_width(), "the size of a column");
    PARQUET_ASSIGN_OR_THROW(codes_, arrow::AllocateBuffer(static_cast<std::int64_t>(bytes), pool_));
  }

  void join(std::size_t number) {
    const CodedPart& part = parts_[number];
    with_index_type(index_type(), [&]<class To>(To) {
      with_index_type(*part.codes->indices()->type(), [&]<class From>(From) {
        move_codes<From>(part, static_cast<To>(dictionary_->length()), reinterpret_cast<To*>(codes_->mutable_data()));
      });
    });
  }

  ArrayPtr finish() {
    const BufferPtr validity = nulls_ > 0 ? joined_validity() : nullptr;
    auto data = arrow::ArrayData::Make(type_, rows_, {validity, codes_}, nulls_);
    data->dictionary = dictionary_->data();
    return arrow::MakeArray(data);
  }

 private:
  const arrow::DataType& index_type() const { return *static_cast<const arrow::DictionaryType&>(*type_).index_type(); }

  BufferPtr joined_validity() const {
    BufferPtr bits;
    PARQUET_ASSIGN_OR_THROW(bits, arrow::AllocateEmptyBitmap(rows_, pool_));
    for (const CodedPart& part : parts_) {
      const arrow::Array& codes = *part.codes;
      if (codes.null_bitmap() == nullptr) {
        arrow::bit_util::SetBitsTo(bits->mutable_data(), part.begin, codes.length(), true);
      } else {
        arrow::internal::CopyBitmap(codes.null_bitmap_data(), codes.offset(), codes.length(), bits->mutable_data(),
                                    part.begin);
      }
    }
    return bits;
  }

  arrow::MemoryPool* pool_;
  std::vector<CodedPart> parts_;
  std::int64_t rows_ = 0;
  std::int64_t nulls_ = 0;
  TypePtr type_;
  ArrayPtr dictionary_;
  BufferPtr codes_;
};

/// Returns true if indices have no more bits than the entries need.
bool is_narrow(const arrow::Array& part) {
  const auto& codes = static_cast<const arrow::DictionaryArray&>(part);
  return codes.indices()->type_id() != arrow::Type::INT32 ||
         codes.dictionary()->length() > std::numeric_limits<std::int16_t>::max();
}

}  // namespace

std::shared_ptr<arrow::Array> joined_codes(const std::vector<std::shared_ptr<arrow::Array>>& parts, bool narrow,
                                           bool threads, arrow::MemoryPool* pool) {
  if (parts.size() == 1 && narrow && is_narrow(*parts.front())) return parts.front();
  const auto joined = std::make_shared<JoinedCodes>(parts, narrow, pool);
  run_each(threads && parts.size() > 1, parts.size(), [joined](std::size_t part) { joined->join(part); });
  return joined->finish();
}

}  // namespace skyrank::datasets

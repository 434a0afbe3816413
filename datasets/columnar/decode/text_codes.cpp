#include "datasets/columnar/decode/text_codes.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <parquet/exception.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::uint64_t kFirstEntries = 1024;

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

std::uint32_t high_bits(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

}  // namespace

TextCodes::TextCodes(arrow::MemoryPool* pool) : pool_(pool), texts_(pool) { grow(); }

TextCodes::Entry* TextCodes::entries() const { return reinterpret_cast<Entry*>(table_->mutable_data()); }

std::int32_t TextCodes::code_of(std::string_view text) {
  if (last_ >= 0 && texts_.GetView(last_) == text) return last_;
  const std::uint64_t hash = hash_of(text);
  std::uint64_t place = hash & mask_;
  for (; entries()[place].code >= 0; place = (place + 1) & mask_) {
    const Entry& entry = entries()[place];
    if (entry.hash == high_bits(hash) && texts_.GetView(entry.code) == text) return last_ = entry.code;
  }
  last_ = static_cast<std::int32_t>(texts_.length());
  PARQUET_THROW_NOT_OK(texts_.Append(text));
  entries()[place] = {high_bits(hash), last_};
  if (2 * static_cast<std::uint64_t>(texts_.length()) > mask_) grow();
  return last_;
}

void TextCodes::grow() {
  const std::uint64_t count = table_ == nullptr ? kFirstEntries : 2 * (mask_ + 1);
  const auto bytes = static_cast<std::int64_t>(checked_multiply(count, sizeof(Entry), "the size of a table of texts"));
  PARQUET_ASSIGN_OR_THROW(table_, arrow::AllocateBuffer(bytes, pool_));
  mask_ = count - 1;
  std::fill_n(entries(), count, Entry{});
  for (std::int32_t code = 0; code < texts_.length(); ++code) {
    const std::uint64_t hash = hash_of(texts_.GetView(code));
    std::uint64_t place = hash & mask_;
    while (entries()[place].code >= 0) place = (place + 1) & mask_;
    entries()[place] = {high_bits(hash), code};
  }
}

std::shared_ptr<arrow::Array> TextCodes::finish() {
  std::shared_ptr<arrow::Array> texts;
  PARQUET_THROW_NOT_OK(texts_.Finish(&texts));
  return texts;
}

}  // namespace skyrank::datasets

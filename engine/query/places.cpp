#include "engine/query/places.hpp"

#include <algorithm>
#include <utility>

#include "engine/text.hpp"

namespace skyrank::query {
namespace {

constexpr std::size_t kStride = 64;

}  // namespace

Places::Places(std::string_view text, Location origin) : text_(text), origin_(std::move(origin)) {
  Place place{std::max<std::int64_t>(origin_.line, 1), std::max<std::int64_t>(origin_.column, 1)};
  marks_.reserve(text.size() / kStride + 1);
  marks_.push_back(place);
  for (std::size_t i = 0; i < text.size(); ++i) {
    place = step(place, i);
    if ((i + 1) % kStride == 0) marks_.push_back(place);
  }
}

// The place after the byte at `offset`. A character's later bytes have the column of the next character, which no one
// asks for: places begin where characters do.
Places::Place Places::step(Place place, std::size_t offset) const {
  if (text_[offset] == '\n') return {place.line + 1, 1};
  return {place.line, place.column + (continues_character(text_[offset]) ? 0 : 1)};
}

Location Places::at(std::size_t offset) const {
  const std::size_t end = std::min(offset, text_.size());
  Place place = marks_[end / kStride];
  for (std::size_t i = end / kStride * kStride; i < end; ++i) place = step(place, i);
  return {origin_.source, place.line, place.column};
}

}  // namespace skyrank::query

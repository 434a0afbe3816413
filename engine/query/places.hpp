#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>

// Turns offsets in a text into lines and columns, for messages.
namespace skyrank::query {

/// Lines and columns of a UTF-8 text that begins at `origin`: columns count code points, lines end with '\n'. Finding a
/// place takes constant time, so that long lines cost no more than short ones. The text must outlive this.
class Places {
 public:
  Places(std::string_view text, Location origin);

  /// Place of the byte at `offset` <= text.size().
  Location at(std::size_t offset) const;

 private:
  struct Place {
    std::int64_t line;
    std::int64_t column;
  };
  Place step(Place place, std::size_t offset) const;

  std::string_view text_;
  Location origin_;
  std::vector<Place> marks_;  // of every kStride-th byte
};

}  // namespace skyrank::query

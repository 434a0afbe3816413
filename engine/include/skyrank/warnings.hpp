#pragma once

#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/export.hpp>
#include <skyrank/query.hpp>

namespace skyrank {

/// Something that a query may say but hardly means; it changes no answer.
struct Warning {
  std::string message;  ///< says what was probably meant
  Location location;    ///< place of the part that is odd

  bool operator==(const Warning&) const = default;
};

/// "file:line:column: message", leaving out what is unknown.
SKYRANK_EXPORT std::string to_string(const Warning& warning);

/// Returns what is odd about a query, in the order of its parts: comparisons with NULL, which are never true.
SKYRANK_EXPORT std::vector<Warning> warnings_of(const Query& query);

}  // namespace skyrank

#pragma once

#include <optional>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/export.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

// Finds parts of a query that it hardly means, such as a comparison with NULL.
namespace skyrank {
inline namespace v0 {

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

/// Returns the same and, last, a warning that names the columns of the table's source which the answer lacks
/// (Table::unsupported), where the query selects every column and some are missing.
SKYRANK_EXPORT std::vector<Warning> warnings_of(const Query& query, const Table& table);

/// Returns the last of the warnings above; nothing where there is none of the kind.
[[deprecated("use warnings_of")]] SKYRANK_EXPORT std::optional<Warning> left_out_columns(const Query& query,
                                                                                         const Table& table);

}  // namespace v0
}  // namespace skyrank

#pragma once

#include <string>
#include <vector>

#include <skyrank/query.hpp>

namespace skyrank::query {

/// Returns the fingerprint of a query whose keys over the table are `keys`, as it names them (named_keys). An
/// expression among them has a column of its text in partial answers, so that these alone cannot tell which of the two
/// a key was; the texts of other clauses do not count.
std::string fingerprint_of(const Query& query, const std::vector<GroupKey>& keys);

}  // namespace skyrank::query

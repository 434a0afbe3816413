#pragma once

#include <string>

#include <skyrank/engine.hpp>

#include "engine/executor/query_context.hpp"

namespace skyrank::exec {

/// Answers a query within the engine's limit of memory. Throws ResourceError that says what the query needed when it
/// was refused more.
Result answer_within_limit(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// Bytes in a unit that people read, rounded up: "0.1 kB", "12.5 MB".
std::string words_of_bytes(double bytes);

}  // namespace skyrank::exec

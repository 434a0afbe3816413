#pragma once

#include <string>
#include <string_view>

#include <skyrank/batch.hpp>

// Batches and queries in the words of one interface or another.
namespace skyrank::tools {

/// Returns a batch in YAML; `parse_batch` gives equal tables and queries back.
std::string to_yaml(const Batch& batch);

/// Returns the calls of the C++ builder that make a query, as an initialised variable named after it.
std::string to_cpp(const Query& query);

}  // namespace skyrank::tools

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/expression/source.hpp"
#include "engine/keys/key_memory.hpp"

namespace skyrank::exec {

/// Returns keys of strings in the order of their column's categories, or else of their bytes, which for UTF-8 is that
/// of code points. Keys are places among the categories, or dense ranks: dictionary columns sort the entries, other
/// columns sort the rows.
Keys string_value_keys(const Source& source, ValueOrder order);

/// Returns keys `code(text)`, at most `max_code`, and one more key for NULL if there are any. Calls `code` once for
/// each entry of a dictionary.
Keys string_code_keys(const Source& source, std::uint64_t max_code, bool nulls_first,
                      const std::function<std::uint64_t(std::string_view)>& code);

}  // namespace skyrank::exec

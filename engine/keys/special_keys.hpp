#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/expression/source.hpp"
#include "engine/keys/key_memory.hpp"

// Keys of values that are no numbers of 64 bits: strings (string_keys.cpp), and integers of 128 bits (wide_keys.cpp).
namespace skyrank::exec {

/// Returns keys of strings in the order of their column's categories, or else of their bytes, which for UTF-8 is that
/// of code points. Keys are places among the categories, or dense ranks: dictionary columns sort the entries, other
/// columns sort the rows.
Keys string_value_keys(const Source& source, ValueOrder order);

/// Returns keys `code(text)`, at most `max_code`, and one more key for NULL if there are any. Calls `code` once for
/// each entry of a dictionary.
Keys string_code_keys(const Source& source, std::uint64_t max_code, bool nulls_first,
                      const std::function<std::uint64_t(std::string_view)>& code);

/// Returns keys of integers of 128 bits for `low` and `high`. Where the values span less than 64 bits, keys count from
/// the best one; else they are dense ranks, which take a sort. NULL is the best or the worst.
Keys wide_value_keys(const Source& source, bool high, bool nulls_first);

/// The same for `around` (from == to) and `between`.
Keys wide_distance_keys(const Source& source, const Value& from, const Value& to, bool inverted, bool nulls_first);

}  // namespace skyrank::exec

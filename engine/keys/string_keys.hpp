#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/expression/source.hpp"
#include "engine/keys/key_memory.hpp"

namespace skyrank::exec {

/// Keys of strings in the order of their bytes, which for UTF-8 is that of code points: dense ranks. Those of a
/// dictionary's rows take a sort of its entries, those of others a sort of the rows.
Keys string_value_keys(const Source& source, ValueOrder order);

/// Keys `code(text)`, at most `max_code`, and one more for NULL where there are any. The entries of a dictionary are
/// looked at once each.
Keys string_code_keys(const Source& source, std::uint64_t max_code, bool nulls_first,
                      const std::function<std::uint64_t(std::string_view)>& code);

}  // namespace skyrank::exec

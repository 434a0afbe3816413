#pragma once

#include <span>
#include <string_view>

#include "engine/query/ast.hpp"

namespace skyrank::query {

/// A function of the expression language and the number of arguments it takes.
struct FunctionInfo {
  std::string_view name;
  Op op;
  std::size_t min_arguments;
  std::size_t max_arguments;  ///< 0: any number
};

std::span<const FunctionInfo> functions();

/// Words that name no column unless they stand in backquotes: "and", "between", ...
std::span<const std::string_view> reserved_words();

/// Returns true if two texts are equal except for the case of ASCII letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace skyrank::query

#pragma once

#include <optional>

#include <skyrank/error.hpp>

#include "tests/fuzz/require.hpp"

namespace skyrank {

/// Returns what `f` returns, or nothing where it refuses, with a message.
template <class F>
auto accepted(const F& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const Error& error) {
    SKYRANK_REQUIRE(!error.message().empty());
    return std::nullopt;
  }
}

}  // namespace skyrank

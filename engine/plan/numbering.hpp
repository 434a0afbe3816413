#pragma once

#include <cstdint>
#include <string>

namespace skyrank::exec {

/// Sources of the numbers of groups of rows, as a plan chooses them.
enum class Numbering : std::uint8_t {
  by_values,   ///< the values themselves where they are close together; as by_hashing elsewhere
  by_hashing,  ///< a hash table for each range of the rows or, where these are too many groups for it, each partition
};

/// Returns the words of explain for a numbering that is expected.
inline std::string describe(Numbering numbering) {
  return numbering == Numbering::by_hashing ? "numbered by hash, as values are far apart"
                                            : "numbered by value where values are close together, else by hash";
}

}  // namespace skyrank::exec

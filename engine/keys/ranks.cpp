#include "engine/keys/ranks.hpp"

namespace skyrank::exec {

Keys dense_ranks(const std::uint64_t* codes, const std::uint8_t* present, std::int64_t n, bool nulls_first) {
  return ranks_of_rows(n, [=](RowId a, RowId b) {
    if (present[a] != present[b]) return (present[a] != 0) != nulls_first;
    return present[a] != 0 && codes[a] < codes[b];
  });
}

}  // namespace skyrank::exec

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace skyrank::mpi {

/// The way of answers to rank 0: each rank sends its own there, or to its parent in a binomial tree, which merges what
/// it has before it sends that on.
enum class GatherShape : std::uint8_t { flat, tree };

/// Returns the ranks that send to `rank`, ascending.
std::vector<int> senders_to(int rank, int size, GatherShape shape);

/// Returns the rank that `rank` sends to; none for rank 0.
std::optional<int> receiver_of(int rank, GatherShape shape);

}  // namespace skyrank::mpi

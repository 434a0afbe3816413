#include "tools/mpi/gather_shape.hpp"

namespace skyrank::mpi {

std::vector<int> senders_to(int rank, int size, GatherShape shape) {
  std::vector<int> senders;
  if (shape == GatherShape::flat) {
    for (int sender = 1; rank == 0 && sender < size; ++sender) senders.push_back(sender);
    return senders;
  }
  // A rank is the root of as many ranks as its lowest bit says.
  for (int bit = 1; rank + bit < size && (rank & bit) == 0; bit *= 2) senders.push_back(rank + bit);
  return senders;
}

std::optional<int> receiver_of(int rank, GatherShape shape) {
  if (rank == 0) return std::nullopt;
  return shape == GatherShape::flat ? 0 : rank & (rank - 1);
}

}  // namespace skyrank::mpi

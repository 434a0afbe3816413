#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "tools/mpi/gather_shape.hpp"
#include "tools/mpi/part_answer.hpp"

namespace skyrank::mpi {

/// Makes one contribution of several, in the order of their ranks.
using Merge = std::function<PartAnswer(std::vector<PartAnswer>)>;

/// One gathering, which begins to receive when it is made, so that messages need not wait for the rank's own work.
class Gathering {
 public:
  Gathering(int rank, int size, GatherShape shape);

  /// Takes part to the end: waits for the ranks that send to this one and sends the merged contributions on. Rank 0
  /// gets all that were sent to it, its own first; other ranks get none. An error of a rank is that of the lowest rank
  /// that has one. CancelledError once a stop is requested.
  std::vector<PartAnswer> finish(PartAnswer own, const Merge& merge, const std::stop_token& stop);

 private:
  std::vector<PartAnswer> receive(PartAnswer own, const std::stop_token& stop);

  std::optional<int> receiver_;
  std::vector<Receiving> receivings_;
};

}  // namespace skyrank::mpi

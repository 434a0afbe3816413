#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "tools/mpi/gather_shape.hpp"
#include "tools/mpi/ranks.hpp"
#include "tools/mpi/vector_part.hpp"

namespace skyrank::mpi {

/// How the k least keys of a vector are found.
struct DistributedPlan {
  std::uint64_t k = 128;
  std::uint64_t sub_vector = std::uint64_t{1} << 30;  ///< most keys that a GPU holds
  bool exchange_delegates = false;                    ///< only of algorithms with the variant `part`
  GatherShape gather = GatherShape::flat;
  bool overlap = false;  ///< ranks send their keys while others compute, instead of when all are done
};

/// Milliseconds of one run: of communication and loading the most of all ranks, of the whole those of rank 0.
struct Times {
  double communication = 0;
  double reload = 0;
  double total = 0;
};

/// One rank's part in finding the k least keys of a vector as distributed Dr. Top-k does (Gaihre et al., SC 2021,
/// section 5.4). A GPU a rank finds the k least keys of its sub-vectors, which it loads one after the other where it
/// cannot hold them all; the keys of all ranks go to rank 0 by asynchronous messages, and rank 0 finds the k least of
/// those. As in table 2 the first sub-vector of each GPU is there before the clock starts. All ranks make it, and call
/// the same of its functions.
class DistributedTopK {
 public:
  DistributedTopK(const DistributedPlan& plan, const Session& session, const kernels::TopKAlgorithm& algorithm,
                  const VectorSpec& spec, std::stop_token stop);

  /// Returns the number of sub-vectors of each rank.
  std::uint64_t sub_vectors_of_rank() const { return sub_vectors_.of_rank(); }

  /// Runs once. The answer is at rank 0.
  Times run();

  /// Compares the answer with all keys: it ascends, its keys are those of its rows, and as many keys as it has are up
  /// to its last. Returns what is wrong, or nothing, on all ranks.
  std::string wrong();

  /// Returns the answer of the last run, at rank 0.
  const std::vector<KeyOfRow>& answer() const { return answer_; }

 private:
  /// Keys of a rank that sends to this one.
  struct Incoming {
    int from;
    std::vector<KeyOfRow> keys;  ///< at first room for k
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void local_top_k(Times& times);
  std::vector<KeyOfRow> of_sub_vector(std::uint64_t number) const;
  kernels::Vector<kernels::RowId> least(const kernels::TopKProblem& problem) const;
  kernels::Vector<kernels::RowId> exchanging(const kernels::TopKProblem& problem) const;
  void begin_to_receive();
  void gather();
  void final_top_k();
  void merge(const std::vector<KeyOfRow>& others);

  DistributedPlan plan_;
  const Session& session_;
  const kernels::TopKAlgorithm& algorithm_;
  VectorSpec spec_;
  std::uint64_t k_;
  SubVectors sub_vectors_;
  VectorPart part_;
  kernels::Context context_;
  std::vector<Incoming> incoming_;
  std::vector<KeyOfRow> answer_;
};

}  // namespace skyrank::mpi

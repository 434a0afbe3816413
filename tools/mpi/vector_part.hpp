#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/array.hpp"

// Generates vectors of which each rank makes its keys by itself, for distributed top-k.
namespace skyrank::mpi {

/// A key and the number of its row in the whole vector, in the order of an answer.
struct KeyOfRow {
  std::uint64_t key = 0;
  std::uint64_t row = 0;

  auto operator<=>(const KeyOfRow&) const = default;
};

/// A vector of independent, uniform keys, each made from its row and the seed.
struct VectorSpec {
  std::uint64_t rows = 0;
  std::uint64_t distinct = 0;  ///< different keys; 0: as many as 32 bits have
  std::uint64_t seed = 1;

  std::uint32_t key(std::uint64_t row) const;
};

/// The partition of a vector into sub-vectors, as many for each rank (section 5.4): one if the ranks' GPUs hold it all,
/// else as few of at most `longest` keys as there have to be.
class SubVectors {
 public:
  /// `longest` > 0.
  SubVectors(std::uint64_t rows, std::uint64_t longest, int ranks);

  /// Returns the number of sub-vectors of each rank.
  std::uint64_t of_rank() const { return of_rank_; }
  /// Returns the rows [first, second) of sub-vector `number` of a rank, none or fewer at the end of the vector.
  std::pair<std::uint64_t, std::uint64_t> rows(int rank, std::uint64_t number) const;

 private:
  std::uint64_t rows_;
  std::uint64_t of_rank_;
  std::uint64_t length_;
};

/// The keys of a rank's sub-vectors in the memory of the host, and of one of them at a time in that of a GPU.
class VectorPart {
 public:
  /// Makes the keys, with all cores. `on_device`: algorithms that run there read them.
  VectorPart(const VectorSpec& spec, const SubVectors& sub_vectors, int rank, bool on_device);

  /// Brings a sub-vector to the GPU, if it is not there.
  void load(std::uint64_t number);
  /// Returns the keys where an algorithm reads them, once they are loaded.
  kernels::KeyColumn keys(std::uint64_t number) const;
  kernels::Memory memory() const { return on_device_ ? kernels::Memory::device : kernels::Memory::host; }

  std::uint64_t first_row(std::uint64_t number) const { return sub_vectors_.rows(rank_, number).first; }
  std::uint64_t size(std::uint64_t number) const;
  std::uint32_t key(std::uint64_t row) const { return host_[row - first_]; }

  /// Returns the number of keys up to and including a place in the order of answers.
  std::uint64_t count_up_to(const KeyOfRow& last) const;

 private:
  SubVectors sub_vectors_;
  int rank_;
  bool on_device_;
  std::uint64_t first_ = 0;  ///< first row of the rank
  std::uint64_t count_ = 0;
  std::unique_ptr<std::uint32_t[]> host_;
  std::optional<kernels::cuda::PinnedRange> pinned_;
  kernels::cuda::DeviceArray device_;
  std::optional<std::uint64_t> loaded_;
};

}  // namespace skyrank::mpi

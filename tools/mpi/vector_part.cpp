#include "tools/mpi/vector_part.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <functional>

#include "kernels/common/hash.hpp"

namespace skyrank::mpi {
namespace {

std::uint64_t quotient(std::uint64_t value, std::uint64_t divisor) { return (value + divisor - 1) / divisor; }

constexpr std::uint64_t kGrain = std::uint64_t{1} << 16;

}  // namespace

std::uint32_t VectorSpec::key(std::uint64_t row) const {
  const std::uint64_t word = kernels::mix(kernels::mix(seed) + (row + 1) * kernels::kGoldenRatio);
  return static_cast<std::uint32_t>(distinct == 0 ? word >> 32 : (word >> 32) % distinct);
}

SubVectors::SubVectors(std::uint64_t rows, std::uint64_t longest, int ranks) : rows_(rows) {
  const auto all_ranks = static_cast<std::uint64_t>(ranks);
  of_rank_ = std::max<std::uint64_t>(1, quotient(quotient(rows, longest), all_ranks));
  length_ = quotient(rows, of_rank_ * all_ranks);
}

std::pair<std::uint64_t, std::uint64_t> SubVectors::rows(int rank, std::uint64_t number) const {
  const std::uint64_t place = static_cast<std::uint64_t>(rank) * of_rank_ + number;
  return {std::min(rows_, place * length_), std::min(rows_, (place + 1) * length_)};
}

VectorPart::VectorPart(const VectorSpec& spec, const SubVectors& sub_vectors, int rank, bool on_device)
    : sub_vectors_(sub_vectors), rank_(rank), on_device_(on_device) {
  first_ = sub_vectors_.rows(rank, 0).first;
  count_ = sub_vectors_.rows(rank, sub_vectors_.of_rank() - 1).second - first_;
  // Unwritten, so that the threads that fill it also touch it first.
  host_ = std::make_unique_for_overwrite<std::uint32_t[]>(count_);
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count_, kGrain), [&](const auto& block) {
    for (std::uint64_t i = block.begin(); i < block.end(); ++i) host_[i] = spec.key(first_ + i);
  });
  if (!on_device_ || count_ == 0) return;
  pinned_.emplace(host_.get(), count_ * sizeof(std::uint32_t));
  std::uint64_t longest = 0;
  for (std::uint64_t number = 0; number < sub_vectors_.of_rank(); ++number) longest = std::max(longest, size(number));
  device_ = kernels::cuda::DeviceArray(longest * sizeof(std::uint32_t));
}

std::uint64_t VectorPart::size(std::uint64_t number) const {
  const auto [begin, end] = sub_vectors_.rows(rank_, number);
  return end - begin;
}

void VectorPart::load(std::uint64_t number) {
  if (!on_device_ || loaded_ == number || size(number) == 0) return;
  device_.write_pinned(0, host_.get() + (first_row(number) - first_), size(number) * sizeof(std::uint32_t));
  loaded_ = number;
}

kernels::KeyColumn VectorPart::keys(std::uint64_t number) const {
  const void* const data = on_device_ ? device_.data() : host_.get() + (first_row(number) - first_);
  return {data, kernels::KeyWidth::bytes4};
}

std::uint64_t VectorPart::count_up_to(const KeyOfRow& last) const {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::uint64_t>(0, count_, kGrain), std::uint64_t{0},
      [&](const auto& block, std::uint64_t count) {
        for (std::uint64_t i = block.begin(); i < block.end(); ++i) {
          count += KeyOfRow{host_[i], first_ + i} <= last ? 1 : 0;
        }
        return count;
      },
      std::plus<>());
}

}  // namespace skyrank::mpi

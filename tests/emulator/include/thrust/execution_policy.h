#pragma once

#include <cstddef>

#include "cuda_runtime_api.h"

namespace thrust::cuda {

/// A policy with an allocator of temporary memory. Algorithms take some, and write to it, as they do on a device.
template <class Allocator>
class Policy {
 public:
  explicit Policy(Allocator& allocator) : allocator_(&allocator) {}

  Policy on(cudaStream_t /*stream*/) const { return *this; }

  /// Calls work() between allocating and giving back.
  template <class Work>
  auto with_temporary_memory(Work work) const {
    constexpr std::size_t kBytes = 64;
    const Taken taken(*allocator_, kBytes);
    return work();
  }

 private:
  class Taken {
   public:
    Taken(Allocator& allocator, std::size_t bytes)
        : allocator_(allocator), bytes_(bytes), data_(allocator.allocate(static_cast<std::ptrdiff_t>(bytes))) {
      for (std::size_t i = 0; i < bytes; ++i) data_[i] = 0;
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { allocator_.deallocate(data_, bytes_); }

   private:
    Allocator& allocator_;
    std::size_t bytes_;
    char* data_;
  };

  Allocator* allocator_;
};

struct Par {
  template <class Allocator>
  Policy<Allocator> operator()(Allocator& allocator) const {
    return Policy<Allocator>(allocator);
  }
};
inline constexpr Par par{};

}  // namespace thrust::cuda

#pragma once

#include <cstddef>

// The tuning constants of kernels that run programs. GPUs of all architectures run with the
// same ones; figures are of an H200.
namespace skyrank::kernels::cuda::expression {

/// Kernels that run a program for several rows a thread (row_machine.cuh).
struct MachinePolicy {
  static constexpr unsigned kThreads = 128;
  static constexpr unsigned kBlocks = 6;  ///< blocks that a multiprocessor has registers for
  /// Parts of four rows of a thread, and those where rows may fail. Eight rows instead of four took three columns from
  /// 3.7 times their read to 1.7.
  static constexpr unsigned kParts = 2;
  static constexpr unsigned kPartsOfCareful = 1;
  /// Stages under way and at hand, and words of 16 bytes a thread for them: a multiprocessor has room for six blocks of
  /// 12 words and some slots. With few columns more than one stage has to be under way for as many bytes.
  static constexpr unsigned kMaxStages = 4;
  static constexpr unsigned kMaxStagedWords = 12;
  /// Shared memory of a block up to which there are enough blocks of eight rows a thread; otherwise four are better.
  static constexpr std::size_t kMaxBytes = std::size_t{56} * 1024;
};

/// Kernels that run a program for one row a thread.
struct StackPolicy {
  static constexpr unsigned kThreads = 128;
};

}  // namespace skyrank::kernels::cuda::expression

#pragma once

#include <initializer_list>
#include <vector>

// How the tests were built, for those that look at less where each look takes long.
namespace skyrank::tests {

/// With the address or the thread sanitizer, of GCC or of clang: everything takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// With the thread sanitizer.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
#else
inline constexpr bool kThreadSanitized = false;
#endif

/// With a sanitizer, or compiled for another machine, of which a program plays the processor: everything takes several
/// times as long.
#if defined(SKYRANK_PLAYED_PROCESSOR)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = kSanitized;
#endif

/// Returns the numbers of threads to test with: all of them, but without 1 under the thread sanitizer, which finds
/// nothing in a run of one thread. The other builds check its answer.
inline std::vector<int> thread_counts(std::initializer_list<int> all) {
  std::vector<int> counts(all);
  if (kThreadSanitized) std::erase(counts, 1);
  return counts;
}

/// With the CUDA kernels on the emulator, which runs them thread by thread on the CPU.
#if defined(SKYRANK_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

}  // namespace skyrank::tests

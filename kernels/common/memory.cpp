#include "kernels/common/memory.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace skyrank::kernels {
namespace {

thread_local MemoryAccount* thread_account = nullptr;

}  // namespace

bool MemoryAccount::try_take(std::size_t bytes) {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryAccount::take(std::size_t bytes) {
  if (try_take(bytes)) return;
  if (give_up_) give_up_();
  if (!try_take(bytes)) throw OverLimit(bytes, used(), limit_);
}

MemoryAccount* current_account() { return thread_account; }

MemoryAccount* exchange_account(MemoryAccount* account) { return std::exchange(thread_account, account); }

Charge::Charge(std::size_t bytes) { add(bytes); }

void Charge::add(std::size_t bytes) {
  if (account_ == nullptr && thread_account != nullptr) account_ = thread_account->shared_from_this();
  if (account_ == nullptr) return;
  account_->take(bytes);
  bytes_ += bytes;
}

void prefer_large_pages(void* memory, std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kPage = std::size_t{2} << 20;
  if (bytes < kPage) return;
  void* begin = memory;
  std::size_t left = bytes;
  if (std::align(kPage, kPage, begin, left) == nullptr) return;
  (void)madvise(begin, left / kPage * kPage, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

}  // namespace skyrank::kernels

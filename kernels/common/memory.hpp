#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

// Working memory that is counted, and refused beyond a limit. What is allocated for rows (keys, masks, candidates,
// lists of rows) comes from here; what does not grow with the rows is not counted.
namespace skyrank::kernels {

/// Thrown where memory would go over a limit. Nothing was allocated.
struct OverLimit : std::bad_alloc {
  OverLimit(std::size_t asked_bytes, std::size_t used_bytes, std::size_t limit_bytes)
      : asked(asked_bytes), used(used_bytes), limit(limit_bytes) {}
  const char* what() const noexcept override { return "the limit of memory is reached"; }

  std::size_t asked;  ///< bytes of the allocation that was refused
  std::size_t used;   ///< bytes in use then
  std::size_t limit;
};

/// Counts bytes up to a limit. Thread-safe; must be owned by a shared pointer.
class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  /// `give_up` gives back what can be done without; called, by any thread, before bytes are refused.
  explicit MemoryAccount(std::size_t limit, std::function<void()> give_up = {})
      : limit_(limit), give_up_(std::move(give_up)) {}

  void take(std::size_t bytes);  ///< throws OverLimit
  void give(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t left() const { return limit_ - used(); }

 private:
  bool try_take(std::size_t bytes);

  const std::size_t limit_;
  std::function<void()> give_up_;
  std::atomic<std::size_t> used_ = 0;
};

/// The account of what this thread allocates; null: nothing is counted.
MemoryAccount* current_account();
/// Sets it, and gives the one before.
MemoryAccount* exchange_account(MemoryAccount* account);

/// Makes an account this thread's, or none, while it lives.
class AccountScope {
 public:
  explicit AccountScope(MemoryAccount* account) : before_(exchange_account(account)) {}
  ~AccountScope() { exchange_account(before_); }
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

 private:
  MemoryAccount* before_;
};

/// Counts bytes that somebody else allocates, for as long as it lives, on the account of the thread that made it.
class Charge {
 public:
  Charge() = default;
  explicit Charge(std::size_t bytes);  ///< throws OverLimit
  Charge(Charge&& other) noexcept : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (account_ != nullptr) account_->give(bytes_);
  }

  void add(std::size_t bytes);  ///< throws OverLimit; to the account it is on, else to the thread's

 private:
  std::shared_ptr<MemoryAccount> account_;
  std::size_t bytes_ = 0;
};

/// Asks the system for large pages where memory, which has not been touched yet, is large: pages are fresh from the
/// system, and in small ones that costs more than to fill them. It need not comply.
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

/// The source of a counting allocator's memory: the system, in large pages, with values made as usual.
struct SystemMemory {
  static constexpr bool kLeavesValues = false;

  template <class T>
  static T* allocate(std::size_t n) {
    T* const values = std::allocator<T>().allocate(n);
    prefer_large_pages(values, n * sizeof(T));
    return values;
  }
  template <class T>
  static void deallocate(T* data, std::size_t n) noexcept {
    std::allocator<T>().deallocate(data, n);
  }
};

/// The system's, uninitialised where no value is given: whoever fills it first touches its pages, many threads at once.
struct RawMemory : SystemMemory {
  static constexpr bool kLeavesValues = true;
};

/// Counts on the account of the thread that made it, which has to outlive it; copies and moves stay on that account.
template <class T, class Memory = SystemMemory>
class CountingAllocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  CountingAllocator() : account_(current_account()) {}
  explicit CountingAllocator(MemoryAccount* account) : account_(account) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U, Memory>& other) noexcept  // NOLINT: they convert
      : account_(other.account()) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (account_ != nullptr) account_->take(bytes);
    try {
      return Memory::template allocate<T>(n);
    } catch (...) {
      if (account_ != nullptr) account_->give(bytes);
      throw;
    }
  }
  void deallocate(T* data, std::size_t n) noexcept {
    Memory::deallocate(data, n);
    if (account_ != nullptr) account_->give(n * sizeof(T));
  }

  template <class U>
  void construct(U* at) requires Memory::kLeavesValues {
    ::new (static_cast<void*>(at)) U;
  }

  MemoryAccount* account() const noexcept { return account_; }
  template <class U>
  bool operator==(const CountingAllocator<U, Memory>& other) const noexcept {
    return account_ == other.account();
  }

 private:
  MemoryAccount* account_;
};

template <class T>
using Vector = std::vector<T, CountingAllocator<T>>;

/// A vector whose elements have no value until they are given one.
template <class T>
using RawVector = std::vector<T, CountingAllocator<T, RawMemory>>;

/// Vectors are equal whether or not they are counted.
template <class T>
bool operator==(const Vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// n values of a plain type without a value, aligned to whole vectors of any machine.
template <class T>
class Array {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  explicit Array(std::size_t n)
      : charge_(n * sizeof(T)), data_(static_cast<T*>(::operator new(n * sizeof(T), kAlignment))) {
    prefer_large_pages(data_.get(), n * sizeof(T));
  }

  T* get() { return data_.get(); }
  const T* get() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  static constexpr std::align_val_t kAlignment{128};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };

  Charge charge_;
  std::unique_ptr<T[], Delete> data_;
};

}  // namespace skyrank::kernels

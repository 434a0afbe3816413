#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/common/memory.hpp"

// Columns that a query makes count towards the engine's limit of memory, as all its allocations do. Columns of the
// answer outlive the query: when it ends they belong to the caller, and no longer count.
namespace skyrank::exec {

using kernels::RawVector;
using kernels::Vector;

/// Counts the columns of the query that the thread answers, until it ends.
class QueryMemory {
 public:
  QueryMemory();  ///< on the thread's account, if it has one
  ~QueryMemory();
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  /// Counts bytes until the query of this thread ends, as of an answer's memory. Throws kernels::OverLimit.
  static void hold(std::size_t bytes);

 private:
  friend class ColumnCharge;
  struct Ledger {
    std::shared_ptr<kernels::MemoryAccount> account;
    std::atomic<std::size_t> bytes = 0;
    std::atomic<bool> is_open = true;
  };

  static std::shared_ptr<Ledger> current();

  std::shared_ptr<Ledger> ledger_;
  QueryMemory* before_;
};

/// The bytes of one column: counted until it dies, or the query ends.
class ColumnCharge {
 public:
  ColumnCharge() = default;
  ~ColumnCharge();
  ColumnCharge(const ColumnCharge&) = delete;
  ColumnCharge& operator=(const ColumnCharge&) = delete;

  void add(std::size_t bytes);  ///< before they are allocated; throws kernels::OverLimit

 private:
  std::shared_ptr<QueryMemory::Ledger> ledger_ = QueryMemory::current();
  std::size_t bytes_ = 0;
};

}  // namespace skyrank::exec

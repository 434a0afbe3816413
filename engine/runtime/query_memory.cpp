#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

thread_local QueryMemory* running = nullptr;

}  // namespace

QueryMemory::QueryMemory() : before_(std::exchange(running, this)) {
  if (kernels::MemoryAccount* const account = kernels::current_account()) {
    ledger_ = std::make_shared<Ledger>();
    ledger_->account = account->shared_from_this();
  }
}

QueryMemory::~QueryMemory() {
  running = before_;
  if (ledger_ == nullptr) return;
  ledger_->is_open = false;
  ledger_->account->give(ledger_->bytes);
}

std::shared_ptr<QueryMemory::Ledger> QueryMemory::current() { return running == nullptr ? nullptr : running->ledger_; }

void QueryMemory::hold(std::size_t bytes) {
  const std::shared_ptr<Ledger> ledger = current();
  if (ledger == nullptr) return;
  ledger->account->take(bytes);
  ledger->bytes += bytes;
}

ColumnCharge::~ColumnCharge() {
  if (ledger_ == nullptr || !ledger_->is_open) return;
  ledger_->account->give(bytes_);
  ledger_->bytes -= bytes_;
}

void ColumnCharge::add(std::size_t bytes) {
  if (ledger_ == nullptr) return;
  ledger_->account->take(bytes);
  ledger_->bytes += bytes;
  bytes_ += bytes;
}

}  // namespace skyrank::exec

#include "kernels/common/transfers.hpp"

#include <utility>

namespace skyrank::kernels {
namespace {

thread_local TransferTally* thread_tally = nullptr;

}  // namespace

TransferTally* current_tally() { return thread_tally; }

TransferTally* exchange_tally(TransferTally* tally) { return std::exchange(thread_tally, tally); }

}  // namespace skyrank::kernels

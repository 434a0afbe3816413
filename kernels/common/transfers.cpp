#include "kernels/common/transfers.hpp"

#include <utility>

namespace skyrank::kernels {
namespace {

thread_local TransferTally* current = nullptr;

}  // namespace

TransferTally* current_tally() { return current; }

TransferTally* exchange_tally(TransferTally* tally) { return std::exchange(current, tally); }

}  // namespace skyrank::kernels

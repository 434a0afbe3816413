#include "tools/mpi/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "engine/checked_size.hpp"

namespace skyrank::mpi {
namespace {

constexpr int kSizeTag = 1;
constexpr int kPieceTag = 2;
constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 47;  // more than any machine has memory
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;      // MPI counts in int

/// Calls f(piece, number of bytes, place in `requests`) for each piece of a message.
template <class F>
void for_pieces(Bytes& bytes, const F& f) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
    f(bytes.data() + begin, static_cast<int>(std::min(kPieceBytes, bytes.size() - begin)));
  }
}

bool all_done(std::vector<MPI_Request>& requests) {
  int done = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
  return done != 0;
}

}  // namespace

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(status, text, &length) != MPI_SUCCESS) length = 0;
  throw RanksFailed(
      std::string(call) + ": " +
      (length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "error " + std::to_string(status)));
}

Session::Session(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(host, &rank_on_host_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
}

Session::~Session() { MPI_Finalize(); }

namespace {

template <class T>
T reduced(T value, MPI_Datatype type, MPI_Op operation) {
  T result{};
  check_mpi(MPI_Allreduce(&value, &result, 1, type, operation, MPI_COMM_WORLD), "MPI_Allreduce");
  return result;
}

}  // namespace

int least_of_ranks(int value) { return reduced(value, MPI_INT, MPI_MIN); }
int greatest_of_ranks(int value) { return reduced(value, MPI_INT, MPI_MAX); }
double greatest_of_ranks(double value) { return reduced(value, MPI_DOUBLE, MPI_MAX); }

void end_all_ranks(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);  // MPI_Abort does not return
}

Sending::Sending(int to, Bytes bytes)
    : bytes_(std::make_unique<Bytes>(std::move(bytes))), size_(std::make_unique<std::uint64_t>(bytes_->size())) {
  requests_.reserve(2 + bytes_->size() / kPieceBytes);
  const auto send = [&](const void* data, int count, MPI_Datatype type, int tag) {
    check_mpi(MPI_Isend(data, count, type, to, tag, MPI_COMM_WORLD, &requests_.emplace_back()), "MPI_Isend");
  };
  send(size_.get(), 1, MPI_UINT64_T, kSizeTag);
  for_pieces(*bytes_, [&](const std::byte* piece, int count) { send(piece, count, MPI_BYTE, kPieceTag); });
}

void Sending::finish(const std::stop_token& stop) {
  wait_until([&] { return all_done(requests_); }, stop);
}

Receiving::Receiving(int from) : from_(from), size_(std::make_unique<std::uint64_t>(0)) {
  check_mpi(MPI_Irecv(size_.get(), 1, MPI_UINT64_T, from, kSizeTag, MPI_COMM_WORLD, &requests_.emplace_back()),
            "MPI_Irecv");
}

bool Receiving::advance() {
  if (!all_done(requests_)) return false;
  if (bytes_ != nullptr) return true;
  bytes_ = std::make_unique<Bytes>(
      checked_count(*size_, kMaxMessage, "the size of a message of rank " + std::to_string(from_)));
  requests_.clear();
  for_pieces(*bytes_, [&](std::byte* piece, int count) {
    check_mpi(MPI_Irecv(piece, count, MPI_BYTE, from_, kPieceTag, MPI_COMM_WORLD, &requests_.emplace_back()),
              "MPI_Irecv");
  });
  return all_done(requests_);
}

void wait_until(const std::function<bool()>& done, const std::stop_token& stop) {
  constexpr std::chrono::microseconds kLongest(1000);
  std::chrono::microseconds pause(0);
  while (!done()) {
    if (stop.stop_requested()) throw CancelledError("waiting for another rank was cancelled");
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongest, 2 * pause + std::chrono::microseconds(1));
  }
}

}  // namespace skyrank::mpi

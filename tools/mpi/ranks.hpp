#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include <skyrank/error.hpp>

// MPI with the errors and lifetimes of C++.
namespace skyrank::mpi {

using Bytes = std::vector<std::byte>;

/// Ranks cannot go on together: MPI failed, or a message is damaged. It ends all of them, so that it is none of the
/// errors that end one query.
class RanksFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws RanksFailed that names the call if `status` is not MPI_SUCCESS.
void check_mpi(int status, const char* call);

/// MPI from its start to its end. Errors of MPI are reported to whoever calls it.
class Session {
 public:
  Session(int* argc, char*** argv);
  /// Waits for the other ranks to end too.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns this rank's number among those of its host.
  int rank_on_host() const { return rank_on_host_; }

 private:
  int rank_ = 0;
  int size_ = 1;
  int rank_on_host_ = 0;
};

/// Returns the least of the values of all ranks, which all call this.
int least_of_ranks(int value);
int greatest_of_ranks(int value);
double greatest_of_ranks(double value);

/// Ends all ranks at once, wherever they are, with an exit status.
[[noreturn]] void end_all_ranks(int status);

/// A message on its way to another rank, in pieces of at most 1 GiB.
class Sending {
 public:
  Sending(int to, Bytes bytes);
  /// Waits for the end of the sending. CancelledError once a stop is requested.
  void finish(const std::stop_token& stop);

 private:
  std::unique_ptr<Bytes> bytes_;
  std::unique_ptr<std::uint64_t> size_;
  std::vector<MPI_Request> requests_;
};

/// A message that another rank sends, or will send: the receiving begins at once.
class Receiving {
 public:
  explicit Receiving(int from);
  Receiving(Receiving&&) = default;
  Receiving& operator=(Receiving&&) = default;

  int from() const { return from_; }
  /// Returns true once all of it is there. Never waits.
  bool advance();
  /// Moves the message out, once it is there.
  Bytes take() { return std::move(*bytes_); }

 private:
  int from_;
  std::unique_ptr<std::uint64_t> size_;
  std::unique_ptr<Bytes> bytes_;  ///< null until the size is known
  std::vector<MPI_Request> requests_;
};

/// Calls `done` until it returns true, with pauses that grow, so that a rank that waits leaves its core to others.
/// CancelledError once a stop is requested.
void wait_until(const std::function<bool()>& done, const std::stop_token& stop);

}  // namespace skyrank::mpi

#include "engine/runtime/side_by_side.hpp"

#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include <skyrank/error.hpp>

#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

/// Pieces of work that threads take one after another.
class SharedWork {
 public:
  SharedWork(const std::vector<std::size_t>& pieces, const std::function<void(std::size_t)>& work)
      : work_(work), pending_(pieces.rbegin(), pieces.rend()) {}

  /// The part of one thread.
  void run() {
    begin();
    while (const auto piece = next()) {
      try {
        work_(*piece);
      } catch (const ResourceError&) {
        if (give_back(*piece)) return;
        fail(*piece);
      } catch (...) {
        fail(*piece);
      }
    }
  }

  void rethrow() const { failure_.rethrow(); }

 private:
  void begin() {
    const std::scoped_lock lock(mutex_);
    ++active_;
  }

  /// The next piece; nothing once the calling thread is to end.
  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    if (failure_.has_value() || pending_.empty()) {
      --active_;
      return std::nullopt;
    }
    const std::size_t piece = pending_.back();
    pending_.pop_back();
    return piece;
  }

  /// Leaves a piece that did not fit beside those of other threads to them, and ends the calling thread. Returns false
  /// where there are no others.
  bool give_back(std::size_t piece) {
    const std::scoped_lock lock(mutex_);
    if (active_ == 1) return false;
    pending_.push_back(piece);
    --active_;
    return true;
  }

  /// Keeps the failure that comes first: pieces begin in their order, and those that have begun end.
  void fail(std::size_t piece) {
    const std::scoped_lock lock(mutex_);
    failure_.keep(piece);
  }

  const std::function<void(std::size_t)>& work_;
  std::mutex mutex_;                  // over all that follows
  std::vector<std::size_t> pending_;  // the next piece last
  std::size_t active_ = 0;            // threads that will ask for a piece
  FirstFailure failure_;
};

}  // namespace

void run_side_by_side(std::size_t threads, const std::function<void()>& work) {
  const std::stop_token stop = current_stop();
  const auto part = [&] {
    const StopScope heard(stop);
    work();
  };
  std::vector<std::jthread> others;
  others.reserve(threads);
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      others.emplace_back(part);
    } catch (const std::system_error&) {  // fewer threads do it too
      break;
    }
  }
  work();
}

void share_out(std::size_t threads, const std::vector<std::size_t>& pieces,
               const std::function<void(std::size_t)>& work) {
  SharedWork shared(pieces, work);
  run_side_by_side(threads, [&] { shared.run(); });
  shared.rethrow();
}

}  // namespace skyrank::exec

#include "engine/python/src/interruptible.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace skyrank::python {
namespace {

constexpr std::chrono::milliseconds kSignalInterval(20);

/// A thread that does one piece of work after the other. It stays for the next query, as a new thread would find
/// neither the memory nor the places of TBB that the last one had: a millisecond for a small query.
class Worker {
 public:
  Worker() : process_(getpid()) {
    std::thread([this] { serve(); }).detach();
  }

  /// Returns true if the thread is one of this process and does nothing.
  bool is_free() {
    if (process_ != getpid()) return false;
    const std::lock_guard lock(mutex_);
    return work_ == nullptr;
  }
  /// Gives the thread work, which must live until `wait` has returned true. The thread is free.
  void start(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    changed_.notify_all();
  }
  /// Waits for the work for a while; returns true once it is done.
  bool wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return work_ == nullptr; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      const std::function<void()>& work = *work_;
      lock.unlock();
      work();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  pid_t process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
};

/// Returns the worker of the main thread, which the caller is; null where the system has no thread left. A forked
/// child, and a query of a signal handler that interrupts another one, get a new worker. Workers are never deleted, as
/// their threads live as long as the process.
Worker* free_worker() {
  static Worker* worker = nullptr;
  try {
    if (worker == nullptr || !worker->is_free()) worker = new Worker;
  } catch (const std::system_error&) {
    return nullptr;
  }
  return worker;
}

/// Returns true if a signal's handler raised.
bool signal_raised() {
  const nanobind::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

void run_interruptible(bool main_thread, const std::function<void(std::stop_token)>& work) {
  bool raised = false;
  {
    const nanobind::gil_scoped_release no_gil;
    std::stop_source stop;
    const std::function<void()> run = [&] { work(stop.get_token()); };
    Worker* const worker = main_thread ? free_worker() : nullptr;
    if (worker == nullptr) {
      run();
    } else {
      worker->start(run);
      while (!worker->wait(kSignalInterval)) {
        if (raised || !signal_raised()) continue;
        raised = true;
        stop.request_stop();
      }
    }
  }
  if (raised) throw nanobind::python_error();
}

}  // namespace skyrank::python

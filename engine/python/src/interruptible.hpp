#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace skyrank::python {

/// Calls `work(stop)` without the GIL and returns after it. Python handles signals only on its main thread, so a caller
/// there (`main_thread`) waits and looks for them while another thread does the work. A handler that raises, such as
/// that of KeyboardInterrupt, stops the work, and its exception is thrown after it. `work` does not throw.
void run_interruptible(bool main_thread, const std::function<void(std::stop_token)>& work);

/// Does the same for work that returns a value, or throws.
template <class Work>
auto interruptible(bool main_thread, const Work& work) {
  std::optional<decltype(work(std::stop_token()))> value;
  std::exception_ptr error;
  run_interruptible(main_thread, [&](std::stop_token stop) {
    try {
      value.emplace(work(std::move(stop)));
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return std::move(*value);
}

/// Returns what short work returns, while other threads of Python may run.
template <class Work>
auto without_gil(const Work& work) {
  const nanobind::gil_scoped_release no_gil;
  return work();
}

}  // namespace skyrank::python

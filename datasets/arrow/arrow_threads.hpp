#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

// Arrow's thread pools: their sizes, and work that runs side by side in them.
namespace skyrank::datasets {

/// Sizes Arrow's thread pools for `threads` readers (0: as many as the pool has) and returns how many may be used: 1
/// where no more can be started. Arrow waits without end for a thread that did not start, so all are tried before it
/// needs them. The pools are those of the whole process.
int prepare_arrow_threads(int threads);

/// Waits until Arrow's pool has no task, and returns false if it still has some after a tenth of a second. A call of
/// Arrow's that ends in an exception leaves its tasks there, and they use what the call was given.
bool arrow_tasks_have_ended();

/// Runs `work(i)` for each i < `count` under the caller's stop, in Arrow's pool if `threads` says so, and throws the
/// first error. Where the pool fails to take a task, those that it took before outlive this call, with a copy of
/// `work`.
void run_each(bool threads, std::size_t count, const std::function<void(std::size_t)>& work);

/// Reads the table of one of Arrow's readers of text. Where an exception ends that, it leaves the reader behind, whose
/// destructor would wait without end for the task that the pool had no memory to take.
template <class Reader>
auto read_whole(std::shared_ptr<Reader> made) {
  auto reader = std::make_unique<std::shared_ptr<Reader>>(std::move(made));
  try {
    return (*reader)->Read();
  } catch (...) {
    static_cast<void>(reader.release());
    throw;
  }
}

/// Arrow's reader of CSV starts a thread of its own where it uses no pool. ResourceError where none can be started.
void require_reader_thread(const std::string& file);

}  // namespace skyrank::datasets

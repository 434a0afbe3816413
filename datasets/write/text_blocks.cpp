#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "datasets/write/block_writer.hpp"
#include "datasets/write/text_rows.hpp"
#include "engine/threads.hpp"

namespace skyrank::datasets {
namespace {

/// Returns the number of rows that become one text: fewer for many columns, as several texts are in memory.
std::int64_t rows_per_text(const Table& block) {
  constexpr std::int64_t kCells = 16'384;
  return std::clamp<std::int64_t>(kCells / std::max(block.num_columns(), 1), 64, 4096);
}

using FormatRows = std::string (*)(const Table&, std::int64_t, std::int64_t);

/// Rows become text in parallel and leave in order.
class TextBlocks final : public BlockWriter {
 public:
  TextBlocks(Format format, const WriteOptions& options, TextSink sink)
      : format_(format == Format::csv ? csv_rows : jsonl_rows),
        needs_header_(format == Format::csv),
        options_(options),
        sink_(std::move(sink)) {}

  void append(const Table& block) override {
    check_stop();
    if (std::exchange(needs_header_, false)) sink_(csv_header(block));
    const std::int64_t step = rows_per_text(block);
    if (block.num_rows() <= step) return sink_(format_(block, 0, block.num_rows()));
    std::int64_t next = 0;
    std::vector<std::string> texts;
    // The text of some rows, which leaves before another takes its place. Not passed on as a token: when a stop ends a
    // pipeline, TBB forgets the tokens that wait.
    const auto text_of = [&](std::int64_t begin) -> std::string& {
      return texts[static_cast<std::size_t>(begin / step) % texts.size()];
    };
    const auto take = [&](tbb::flow_control& control) {
      check_stop();
      if (next >= block.num_rows()) control.stop();
      return std::exchange(next, next + step);
    };
    const auto render = [&](std::int64_t begin) {
      text_of(begin) = format_(block, begin, std::min(begin + step, block.num_rows()));
      return begin;
    };
    const WorkerThreads workers(options_.threads);
    tbb::task_arena arena(workers.count());
    arena.execute([&] {
      texts.resize(2 * static_cast<std::size_t>(arena.max_concurrency()));
      tbb::parallel_pipeline(
          texts.size(), tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, take) &
                            tbb::make_filter<std::int64_t, std::int64_t>(tbb::filter_mode::parallel, render) &
                            tbb::make_filter<std::int64_t, void>(tbb::filter_mode::serial_in_order,
                                                                 [&](std::int64_t begin) { sink_(text_of(begin)); }));
    });
  }

 private:
  void check_stop() const {
    if (options_.stop.stop_requested()) throw CancelledError("writing was cancelled");
  }

  FormatRows format_;
  bool needs_header_;
  WriteOptions options_;
  TextSink sink_;
};

}  // namespace

std::unique_ptr<BlockWriter> text_blocks(Format format, const WriteOptions& options, TextSink sink) {
  return std::make_unique<TextBlocks>(format, options, std::move(sink));
}

}  // namespace skyrank::datasets

#include "datasets/write/writer.hpp"

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <array>
#include <memory>
#include <new>
#include <ostream>
#include <skyrank/error.hpp>
#include <string>
#include <string_view>

#include "datasets/write/block_writer.hpp"
#include "engine/files/output_file.hpp"
#include "engine/threads.hpp"

namespace skyrank::datasets {
namespace {

std::unique_ptr<BlockWriter> writer_of(exec::OutputFile& output, const std::string& name, Format format,
                                       const WriteOptions& options) {
  switch (format) {
    case Format::csv:
    case Format::jsonl: return text_blocks(format, options, [&output](std::string_view text) { output.write(text); });
    case Format::parquet: return parquet_blocks(output, name);
    case Format::arrow: return ipc_blocks(output, name);
    default: break;
  }
  throw DataError(name + ": " + std::string(to_string(format)) + " can be read but not written; use csv");
}

/// Blocks on their way from where they are made into a file: while one is written, the next one is made.
class BlockPipeline {
 public:
  BlockPipeline(const NextBlock& next, BlockWriter& writer) : next_(next), writer_(writer) {}

  void run(int threads) {
    const auto take = [&](tbb::flow_control& control) {
      if (!make()) control.stop();
      return made_ - 1;
    };
    const WorkerThreads workers(threads);
    tbb::task_arena arena(workers.count());
    try {
      arena.execute([&] {
        tbb::parallel_pipeline(blocks_.size(),
                               tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, take) &
                                   tbb::make_filter<std::int64_t, void>(tbb::filter_mode::serial_in_order,
                                                                        [&](std::int64_t block) { write(block); }));
      });
    } catch (...) {
      if (out_of_memory_) writer_.abandon();
      throw;
    }
  }

 private:
  /// A block stays here rather than in a token: when a stop ends a pipeline, TBB forgets the tokens that wait.
  std::optional<Table>& place_of(std::int64_t block) {
    return blocks_[static_cast<std::size_t>(block) % blocks_.size()];
  }

  /// Makes the next block; returns false at the end.
  bool make() {
    std::optional<Table>& place = place_of(made_);
    try {
      place = next_();
    } catch (const ResourceError&) {
      out_of_memory_ = true;
      throw;
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      throw;
    }
    if (place) ++made_;
    return place.has_value();
  }

  void write(std::int64_t block) {
    writer_.append(*place_of(block));
    place_of(block).reset();
  }

  const NextBlock& next_;
  BlockWriter& writer_;
  std::array<std::optional<Table>, 2> blocks_;
  std::int64_t made_ = 0;
  bool out_of_memory_ = false;
};

}  // namespace

void write(const Table& table, const std::filesystem::path& file, Format format, const WriteOptions& options) {
  exec::OutputFile output(file, options.stop);
  const auto writer = writer_of(output, file.string(), format, options);
  writer->append(table);
  writer->finish();
  output.commit();
}

void write_blocks(const NextBlock& next, const std::filesystem::path& file, Format format,
                  const WriteOptions& options) {
  exec::OutputFile output(file, options.stop);
  const auto writer = writer_of(output, file.string(), format, options);
  BlockPipeline(next, *writer).run(options.threads);
  writer->finish();
  output.commit();
}

void write(const Table& table, std::ostream& out, Format format, const WriteOptions& options) {
  if (format != Format::csv && format != Format::jsonl) {
    throw DataError("only csv and jsonl can go to a stream, not " + std::string(to_string(format)));
  }
  const auto require = [&] {
    if (!out) throw ResourceError("the output stream cannot be written to");
  };
  text_blocks(format, options, [&](std::string_view text) {
    out << text;
    require();
  })->append(table);
  out.flush();
  require();
}

}  // namespace skyrank::datasets

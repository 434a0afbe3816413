#include "datasets/write/writer.hpp"

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <skyrank/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/input/input.hpp"
#include "datasets/write/output_file.hpp"
#include "datasets/write/text_rows.hpp"
#include "engine/threads.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kRowsPerBlock = 4096;
// Of a Parquet row group: small enough to read parts, large enough to compress and to read fast.
constexpr std::int64_t kRowsPerGroup = std::int64_t{1} << 20;

using Sink = std::function<void(std::string_view)>;
using FormatRows = std::string (*)(const Table&, std::int64_t, std::int64_t);

void check_stop(const WriteOptions& options) {
  if (options.stop.stop_requested()) throw CancelledError("writing was cancelled");
}

// Blocks of rows become text in parallel and leave in order.
void write_rows(const Table& table, FormatRows format, const WriteOptions& options, const Sink& sink) {
  check_stop(options);
  if (table.num_rows() <= kRowsPerBlock) return sink(format(table, 0, table.num_rows()));
  std::int64_t next = 0;
  std::vector<std::string> texts;
  // The text of a block, which leaves before another block takes its place. Not passed on as a token: when a stop ends
  // a pipeline, TBB forgets the tokens that wait.
  const auto text_of = [&](std::int64_t begin) -> std::string& {
    return texts[static_cast<std::size_t>(begin / kRowsPerBlock) % texts.size()];
  };
  const auto take = [&](tbb::flow_control& control) {
    check_stop(options);
    if (next >= table.num_rows()) control.stop();
    return std::exchange(next, next + kRowsPerBlock);
  };
  const auto render = [&](std::int64_t begin) {
    text_of(begin) = format(table, begin, std::min(begin + kRowsPerBlock, table.num_rows()));
    return begin;
  };
  const WorkerThreads workers(options.threads);
  tbb::task_arena arena(workers.count());
  arena.execute([&] {
    texts.resize(2 * static_cast<std::size_t>(arena.max_concurrency()));
    tbb::parallel_pipeline(texts.size(),
                           tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, take) &
                               tbb::make_filter<std::int64_t, std::int64_t>(tbb::filter_mode::parallel, render) &
                               tbb::make_filter<std::int64_t, void>(tbb::filter_mode::serial_in_order,
                                                                    [&](std::int64_t begin) { sink(text_of(begin)); }));
  });
}

void write_text_format(const Table& table, Format format, const WriteOptions& options, const Sink& sink) {
  if (format == Format::csv) sink(csv_header(table));
  write_rows(table, format == Format::csv ? csv_rows : jsonl_rows, options, sink);
}

/// An Arrow stream into an OutputFile, whose exceptions pass through the library as a status.
class FileStream final : public arrow::io::OutputStream {
 public:
  explicit FileStream(OutputFile& file) : file_(file) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      file_.write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
    } catch (const ResourceError& error) {
      return arrow::Status::IOError(error.message());
    } catch (const CancelledError& error) {
      return arrow::Status::Cancelled(error.message());
    }
    position_ += bytes;
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;

 private:
  OutputFile& file_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

arrow::Status write_ipc(const arrow::RecordBatch& batch, arrow::io::OutputStream& out) {
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(&out, batch.schema()));
  ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(batch));
  return writer->Close();
}

/// Parquet has no dictionaries with NULL entries. In our tables the rows that name one are NULL themselves, so it may
/// be any value.
std::shared_ptr<arrow::Array> without_null_entries(const std::shared_ptr<arrow::Array>& values) {
  if (values->type_id() != arrow::Type::DICTIONARY) return values;
  const auto data = values->data()->Copy();
  data->dictionary = data->dictionary->Copy();
  data->dictionary->buffers.front() = nullptr;
  data->dictionary->null_count = 0;
  return arrow::MakeArray(data);
}

arrow::Status write_parquet(const std::shared_ptr<arrow::RecordBatch>& batch,
                            const std::shared_ptr<arrow::io::OutputStream>& out) {
  const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
  // The Arrow schema is kept along, so that dictionaries come back as dictionaries. Parquet has no timestamps in
  // seconds; those come back in milliseconds.
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_ASSIGN_OR_RAISE(auto writer, parquet::arrow::FileWriter::Open(*batch->schema(), arrow::default_memory_pool(),
                                                                      out, properties, arrow_properties));
  // With the writer's own schema: comparing two takes memory, and without it they are said to differ.
  arrow::ArrayVector columns;
  for (const auto& column : batch->columns()) columns.push_back(without_null_entries(column));
  const auto table = arrow::Table::Make(writer->schema(), columns, batch->num_rows());
  // The destructor of a writer that is not closed ends the file, and where memory ran out in the middle of that, it
  // reads what was never made. Such a writer stays for good.
  try {
    arrow::Status status = writer->WriteTable(*table, kRowsPerGroup);
    if (status.ok()) status = writer->Close();
    if (is_out_of_memory(status)) static_cast<void>(writer.release());
    return status;
  } catch (...) {
    static_cast<void>(writer.release());
    throw;
  }
}

void write_columnar(const Table& table, Format format, OutputFile& file, const std::string& name) {
  const auto batch = to_arrow(table);
  const auto stream = std::make_shared<FileStream>(file);
  const arrow::Status status = format == Format::parquet ? write_parquet(batch, stream) : write_ipc(*batch, *stream);
  if (status.ok()) return;
  if (is_out_of_memory(status)) throw ResourceError(name + ": out of memory: " + status.message());
  if (status.IsIOError()) throw ResourceError(status.message());
  if (status.IsCancelled()) throw CancelledError(status.message());
  throw DataError(name + ": cannot be written as " + std::string(to_string(format)) + ": " + status.message());
}

}  // namespace

void write(const Table& table, const std::filesystem::path& file, Format format, const WriteOptions& options) {
  OutputFile output(file, options.stop);
  switch (format) {
    case Format::csv:
    case Format::jsonl:
      write_text_format(table, format, options, [&](std::string_view text) { output.write(text); });
      break;
    case Format::parquet:
    case Format::arrow: write_columnar(table, format, output, file.string()); break;
    case Format::tsv: throw DataError(file.string() + ": tsv can be read but not written; use csv");
  }
  output.commit();
}

void write(const Table& table, std::ostream& out, Format format, const WriteOptions& options) {
  if (format != Format::csv && format != Format::jsonl) {
    throw DataError("only csv and jsonl can go to a stream, not " + std::string(to_string(format)));
  }
  const auto require = [&] {
    if (!out) throw ResourceError("the output stream cannot be written to");
  };
  write_text_format(table, format, options, [&](std::string_view text) {
    out << text;
    require();
  });
  out.flush();
  require();
}

}  // namespace skyrank::datasets

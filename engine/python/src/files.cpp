// The extension module `skyrank._files`: files as sources, and partial answers of bytes. It stands apart from
// `skyrank._core` so that only those who read files load the Arrow libraries.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datasets/arrow/partial_stream.hpp"
#include "datasets/input/files.hpp"
#include "datasets/source.hpp"
#include "engine/python/src/bind.hpp"
#include "engine/python/src/interruptible.hpp"
#include "engine/python/src/partials.hpp"
#include "engine/stop.hpp"

namespace skyrank::python {
namespace {

using SourcePointer = std::shared_ptr<const Source>;

/// Requests a stop after some seconds, unless it is gone before; 0: never.
class Alarm {
 public:
  explicit Alarm(double seconds) {
    constexpr double kMaxSeconds = 1e9;  // beyond which the clock's numbers overflow
    if (seconds <= 0) return;
    seconds = std::min(seconds, kMaxSeconds);
    thread_ = std::jthread([this, seconds](const std::stop_token& end) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any ended;
      ended.wait_for(lock, end, std::chrono::duration<double>(seconds), [] { return false; });
      if (!end.stop_requested()) source_.request_stop();
    });
  }

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;  // last: ends before what it uses
};

/// Opens a table within `timeout` seconds, 0 for none. Adds what was recognised of its files to `notes`.
nb::capsule open_described(const TableSpec& described, const std::string& folder, bool main_thread, double timeout,
                           std::vector<std::string>* notes = nullptr) {
  SourcePointer source = interruptible(main_thread, [&](std::stop_token stop) {
    const Alarm alarm(timeout);
    const exec::EitherStop either(stop, alarm.token());
    datasets::LoadOptions options;
    options.stop = either.token();
    if (notes != nullptr) options.on_note = [notes](const std::string& note) { notes->push_back(note); };
    options.pipes = datasets::make_pipe_cache();  // a pipe that is no source is read once all the same
    try {
      return datasets::open_or_load(described, folder, options);
    } catch (const CancelledError&) {
      if (stop.stop_requested() || !alarm.token().stop_requested()) throw;
      throw TimeoutError("the query took longer than its time limit, and was at: opening the files");
    }
  });
  return {new SourcePointer(std::move(source)), kSourceCapsule,
          [](void* pointer) noexcept { delete static_cast<SourcePointer*>(pointer); }};
}

/// Opens a table of a batch, whose files are relative to `folder`.
nb::capsule open_table(const nb::capsule& described, const std::string& folder, bool main_thread) {
  return open_described(*static_cast<const TableSpec*>(described.data(kTableSpecCapsule)), folder, main_thread, 0);
}

/// The form of files as a caller states it, by the names of TableSpec's members.
using StatedForm = std::map<std::string, std::string>;

/// States the form of files that are read; DataError for what is none.
void state_form(TableSpec& described, const StatedForm& form) {
  for (const auto& [key, value] : form) {
    if (key == "decimal") {
      static_cast<void>(datasets::parse_decimal_sign(value));
      described.csv.decimal = value;
    } else if (key == "skip") {
      described.csv.skip = std::stoll(value);  // digits, as the caller sees to
    } else if (key == "comment") {
      described.csv.comment = value;
    } else if (key == "encoding") {
      described.encoding = value;
    } else if (key == "records") {
      described.records = value;
    } else if (key == "flatten") {
      described.flatten = true;
    }
  }
}

nb::tuple open_files(const std::vector<std::string>& patterns, std::optional<bool> header,
                     const std::vector<std::string>& null_spellings, const std::optional<std::string>& delimiter,
                     const std::optional<std::string>& format, const std::map<std::string, std::string>& types,
                     const StatedForm& form, bool main_thread, double timeout) {
  if (delimiter) static_cast<void>(datasets::parse_delimiter(*delimiter));
  if (format) static_cast<void>(datasets::parse_input_format(*format));
  for (const auto& [column, type] : types) static_cast<void>(datasets::parse_column_type(type, column));
  TableSpec described;
  described.name = "files";
  described.files = patterns;
  described.csv.header = header;
  described.csv.null_spellings = null_spellings;
  described.csv.delimiter = delimiter.value_or("");
  described.format = format.value_or("");
  described.types = types;
  state_form(described, form);
  std::vector<std::string> notes;
  nb::capsule source = open_described(described, ".", main_thread, timeout, &notes);
  return nb::make_tuple(std::move(source), std::move(notes));
}

nb::tuple partial_of_bytes(const nb::bytes& content) {
  return export_partial(datasets::partial_from_bytes({static_cast<const std::byte*>(content.data()), content.size()}));
}

}  // namespace

void bind_files(nb::module_& module) {
  using nb::literals::operator""_a;
  module.def("open_files", &open_files, "patterns"_a, "header"_a.none(), "null_spellings"_a, "delimiter"_a.none(),
             "format"_a.none(), "types"_a, "form"_a, "main_thread"_a, "timeout"_a);
  module.def("open_table", &open_table, "described"_a, "folder"_a, "main_thread"_a);
  module.def("partial_of_bytes", &partial_of_bytes, "content"_a);
  module.def("hear_stops", []([[maybe_unused]] const nb::capsule& stops) {
#ifndef SKYRANK_ONE_MODULE  // where there are no others than one's own
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a capsule holds a pointer to data
    exec::hear_stops_of(reinterpret_cast<const std::stop_token& (*)()>(stops.data(kStopsCapsule)));
#endif
  });
}

}  // namespace skyrank::python

#ifndef SKYRANK_ONE_MODULE
NB_MODULE(_files, module) {
  skyrank::python::bind_errors();
  skyrank::python::bind_files(module);
}
#endif

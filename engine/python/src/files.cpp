// The extension module `skyrank._files`: files as sources. It stands apart from `skyrank._core` so that only those who
// read files load the Arrow libraries.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/files.hpp"
#include "datasets/source.hpp"
#include "engine/python/src/bind.hpp"
#include "engine/python/src/interruptible.hpp"

namespace skyrank::python {
namespace {

using SourcePointer = std::shared_ptr<const Source>;

nb::capsule open_files(const std::vector<std::string>& patterns, bool header,
                       const std::vector<std::string>& null_spellings, const std::optional<std::string>& delimiter,
                       const std::optional<std::string>& format, bool main_thread) {
  if (delimiter) static_cast<void>(datasets::parse_delimiter(*delimiter));
  if (format) static_cast<void>(datasets::parse_input_format(*format));
  TableSource described;
  described.name = "files";
  described.files = patterns;
  described.header = header;
  described.null_spellings = null_spellings;
  described.delimiter = delimiter.value_or("");
  described.format = format.value_or("");
  SourcePointer source = interruptible(main_thread, [&](std::stop_token stop) {
    datasets::LoadOptions options;
    options.stop = std::move(stop);
    options.pipes = datasets::make_pipe_cache();  // a pipe that is no source is read once all the same
    SourcePointer opened = datasets::open_source(described, ".", options);
    return opened != nullptr ? opened : table_source(datasets::load(described, ".", options));
  });
  return {new SourcePointer(std::move(source)), kSourceCapsule,
          [](void* pointer) noexcept { delete static_cast<SourcePointer*>(pointer); }};
}

}  // namespace
}  // namespace skyrank::python

NB_MODULE(_files, module) {
  skyrank::python::bind_errors();
  namespace nb = nanobind;
  using nb::literals::operator""_a;
  module.def("open_files", &skyrank::python::open_files, "patterns"_a, "header"_a, "null_spellings"_a,
             "delimiter"_a.none(), "format"_a.none(), "main_thread"_a);
}

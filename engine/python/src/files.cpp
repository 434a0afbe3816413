// The extension module `skyrank._files`: files as sources. It stands apart from `skyrank._core` so that only those who
// read files load the Arrow libraries.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/source.hpp"
#include "engine/python/src/bind.hpp"
#include "engine/python/src/interruptible.hpp"

namespace skyrank::python {
namespace {

using SourcePointer = std::shared_ptr<const Source>;

nb::capsule open_files(const std::vector<std::string>& patterns, bool header,
                       const std::vector<std::string>& null_spellings, bool main_thread) {
  TableSource described;
  described.name = "files";
  described.files = patterns;
  described.header = header;
  described.null_spellings = null_spellings;
  SourcePointer source = interruptible(main_thread, [&](std::stop_token stop) {
    datasets::LoadOptions options;
    options.stop = std::move(stop);
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
  module.def("open_files", &skyrank::python::open_files);
}

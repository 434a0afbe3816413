#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/metrics.hpp>

#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

/// Returns where numbers of an answer lie: (address, count).
template <class T>
nb::tuple memory_of(const std::vector<T>& values) {
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(values.data()), values.size());
}

nb::dict timing_of(const Result& result) {
  nb::dict timing;
  timing["bind_ms"] = result.timing.bind_ms;
  timing["filter_ms"] = result.timing.filter_ms;
  timing["keys_ms"] = result.timing.keys_ms;
  timing["transfer_ms"] = result.timing.transfer_ms;
  timing["compute_ms"] = result.timing.compute_ms;
  timing["gather_ms"] = result.timing.gather_ms;
  timing["total_ms"] = result.timing.total_ms;
  timing["read_ms"] = result.timing.read_ms;
  return timing;
}

nb::dict work_of(const Result& result) {
  nb::dict work;
  work["dominance_tests"] = result.work.dominance_tests;
  work["mask_tests"] = result.work.mask_tests;
  work["bytes_read"] = result.work.bytes_read;
  work["bytes_written"] = result.work.bytes_written;
  work["candidates"] = result.work.candidates;
  return work;
}

}  // namespace

void bind_results(nb::module_& module) {
  nb::class_<Result>(module, "Result")
      .def("__len__", [](const Result& r) { return r.rows.size(); })
      .def("table", [](const Result& r) { return r.table; })
      .def("rows", [](const Result& r) { return memory_of(r.rows); })
      .def("levels", [](const Result& r) { return memory_of(r.levels); })
      .def("timing", &timing_of)
      .def("work", &work_of)
      .def("bytes",
           [](const Result& r) {
             const QueryReport report = report_of(Query(), r, 0, 0);
             return nb::make_tuple(report.bytes_read, report.bytes_spilled);
           })
      .def("plan", [](const Result& r) { return to_string(r.plan); });
}

}  // namespace skyrank::python

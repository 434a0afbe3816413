#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/python/src/bind.hpp"
#include "engine/python/src/forked_engine.hpp"
#include "engine/python/src/interruptible.hpp"
#include "engine/python/src/partials.hpp"
#include "engine/stop.hpp"

// Binds the engine to Python.
namespace skyrank::python {
namespace {

/// A source and the capsule type that brings it from the module of files.
struct SourceHandle {
  std::shared_ptr<const Source> source;
};

std::vector<std::int64_t> units_of(const SourceHandle& handle) {
  std::vector<std::int64_t> rows;
  for (const SourceUnit& unit : handle.source->units()) rows.push_back(unit.rows);
  return rows;
}

DeviceChoice device_of(const std::string& name) {
  if (name == "auto") return DeviceChoice::automatic;
  if (name == "cpu") return DeviceChoice::cpu;
  if (name == "cuda") return DeviceChoice::cuda;
  throw nb::value_error(("no device is called '" + name + "'; it is one of auto, cpu, cuda").c_str());
}

ForkedEngine* make_engine(int threads, const std::string& device, std::size_t memory_bytes,
                          std::size_t shared_key_bytes, const std::vector<std::string>& without,
                          const std::vector<int>& devices, std::size_t gpu_memory_bytes) {
  EngineOptions options;
  options.threads = threads;
  options.device = device_of(device);
  options.memory_bytes = memory_bytes;
  options.shared_key_bytes = shared_key_bytes;
  options.without = without;
  options.devices = devices;
  options.gpu_memory_bytes = gpu_memory_bytes;
  return new ForkedEngine(std::move(options));
}

/// Returns true for tables of so few rows that a query ends before a person could want to stop it: the calling thread
/// answers it, as handing it to another one would take longer.
bool is_small(const Table& table) {
  constexpr std::int64_t kMaxRows = 2048;
  return table.num_rows() <= kMaxRows;
}
bool is_small(const SourceHandle&) { return false; }

nb::dict dict_of(const WhyNot& why) {
  nb::list dominators;
  for (const WhyDominator& one : why.dominators) dominators.append(nb::make_tuple(one.row, one.gap, one.better_in));
  nb::list changes;
  for (const WhyChange& one : why.changes) changes.append(nb::make_tuple(one.term, one.change, one.unknown));
  nb::dict members;
  members["row"] = why.row;
  members["stage"] = to_string(why.stage);
  members["reasons"] = why.reasons;
  members["place"] = why.place;
  members["last_row"] = why.last_row;
  members["against_last"] = why.against_last;
  members["equal_row"] = why.equal_row;
  members["num_dominators"] = why.num_dominators;
  members["dominators"] = dominators;
  members["changes"] = changes;
  members["text"] = to_string(why);
  return members;
}

/// Adds the methods that take a table, or a source in its place.
template <class Class, class Data, class Get>
void bind_runs(Class& type, const Get& get) {
  type.def("run", [get](ForkedEngine& self, const Query& query, const Data& data, const Call& call) {
    const Engine& engine = self.get();
    return interruptible(call.main_thread && !is_small(data), [&](std::stop_token stop) {
      return engine.run(query, get(data), call.options(std::move(stop)));
    });
  });
  type.def("partial",
           [get](ForkedEngine& self, const Query& query, const Data& part, RowId first_row, const Call& call) {
             const Engine& engine = self.get();
             return interruptible(call.main_thread, [&](std::stop_token stop) {
               return engine.partial(query, get(part), first_row, call.options(std::move(stop)));
             });
           });
  type.def("explain",
           [get](ForkedEngine& self, const Query& query, const Data& data, const Call& call, bool candidates) {
             const Engine& engine = self.get();
             return interruptible(call.main_thread, [&](std::stop_token stop) {
               RunOptions options = call.options(std::move(stop));
               options.candidates = candidates;
               return to_string(engine.explain(query, get(data), options));
             });
           });
  type.def("why", [get](ForkedEngine& self, const Query& query, const Data& data, RowId row, const Call& call) {
    const Engine& engine = self.get();
    return dict_of(interruptible(call.main_thread, [&](std::stop_token stop) {
      return engine.why(query, get(data), row, call.options(std::move(stop)));
    }));
  });
}

Partial import_partial(const nb::capsule& schema, const nb::capsule& array) {
  return Partial::import_arrow(static_cast<ArrowArray*>(array.data()), static_cast<ArrowSchema*>(schema.data()));
}

std::vector<std::pair<RowId, RowId>> covers_of(const Partial& partial) {
  std::vector<std::pair<RowId, RowId>> ranges;
  for (const RowRange& range : partial.covers()) ranges.emplace_back(range.begin, range.end);
  return ranges;
}

void bind_partials(nb::module_& module) {
  nb::class_<Partial>(module, "Partial")
      .def("__len__", [](const Partial& p) { return p.rows().size(); })
      .def("fingerprint", &Partial::fingerprint)
      .def("covers", &covers_of)
      .def("rows", [](const Partial& p) { return p.rows(); })
      .def("columns", [](const Partial& p) { return p.columns(); })
      .def("arrays", &export_partial);
  module.def("import_partial", &import_partial);
  module.def("moved", &moved);
}

}  // namespace

void bind_engine(nb::module_& module) {
  bind_partials(module);
  nb::class_<SourceHandle>(module, "Source")
      .def("__len__", [](const SourceHandle& s) { return num_rows(*s.source); })
      .def("units", &units_of)
      .def("part", [](const SourceHandle& s, std::size_t begin,
                      std::size_t end) { return SourceHandle{unit_range(s.source, begin, end)}; })
      .def("schema", [](const SourceHandle& s) { return s.source->schema(); });
  module.def("stops", [] {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a capsule holds a pointer to data
    return nb::capsule(reinterpret_cast<void*>(&exec::current_stop), kStopsCapsule);
  });
  module.def("source_of_capsule", [](const nb::capsule& capsule) {
    return SourceHandle{*static_cast<std::shared_ptr<const Source>*>(capsule.data(kSourceCapsule))};
  });
  nb::class_<Call>(module, "Call").def("__init__", [](Call* call, bool main_thread, bool count_work, double timeout) {
    new (call) Call{main_thread, count_work, timeout};
  });
  nb::class_<ForkedEngine> engine(module, "Engine");
  engine.def(nb::new_(&make_engine));
  bind_runs<decltype(engine), Table>(engine, std::identity{});
  bind_runs<decltype(engine), SourceHandle>(engine,
                                            [](const SourceHandle& handle) -> const Source& { return *handle.source; });
  engine
      .def("check",
           [](ForkedEngine& self, const Query& query, const Table& table) { self.get().explain(query, table); })
      .def("pin", [](ForkedEngine& self, const Table& table) { return self.get().pin(table); })
      .def("warnings", [](ForkedEngine& self) { return self.get().warnings(); })
      .def("merge",
           [](ForkedEngine& self, const Query& query, const std::vector<Partial>& partials, const Call& call) {
             const Engine& used = self.get();
             return interruptible(call.main_thread, [&](std::stop_token stop) {
               return used.merge(query, partials, call.options(std::move(stop)));
             });
           })
      .def("merge_partials",
           [](ForkedEngine& self, const Query& query, const std::vector<Partial>& partials, const Call& call) {
             const Engine& used = self.get();
             return interruptible(call.main_thread, [&](std::stop_token stop) {
               return used.merge_partials(query, partials, call.options(std::move(stop)));
             });
           });
}

}  // namespace skyrank::python

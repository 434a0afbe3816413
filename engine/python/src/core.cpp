#include "engine/python/src/bind.hpp"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // variables of users may live to the end of the process
  skyrank::python::bind_errors();
  skyrank::python::bind_queries(module);
  skyrank::python::bind_columns(module);
  skyrank::python::bind_tables(module);
  skyrank::python::bind_device_input(module);
  skyrank::python::bind_results(module);
  skyrank::python::bind_engine(module);
  skyrank::python::bind_standing(module);
  skyrank::python::bind_archive(module);
  skyrank::python::bind_arrays(module);
  skyrank::python::bind_select(module);
  skyrank::python::bind_indicators(module);
  module.def("version", &skyrank::version);
#ifdef SKYRANK_ONE_MODULE
  auto files = nanobind::steal<nanobind::module_>(PyModule_New("skyrank._files"));
  skyrank::python::bind_files(files);
  nanobind::module_::import_("sys").attr("modules")["skyrank._files"] = files;
  skyrank::python::bind_tool(module);
#endif
}

#include <exception>
#include <new>
#include <string>
#include <typeinfo>

#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

/// Returns a text that may quote bytes of damaged data, those that are no UTF-8 as \xNN.
nb::object readable(const std::string& text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

/// Raises `skyrank._errors.<name>(message, source, line, column)`.
void raise(const char* name, const Error& error) {
  try {
    nb::object type = nb::module_::import_("skyrank._errors").attr(name);
    const Location& place = error.location();
    PyErr_SetObject(type.ptr(),
                    type(readable(error.message()), readable(place.source), place.line, place.column).ptr());
  } catch (nb::python_error& other) {
    other.restore();  // such as a KeyboardInterrupt while the exception is made
  }
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const QueryError& error) {
    raise("QueryError", error);
  } catch (const BindError& error) {
    raise("BindError", error);
  } catch (const DataError& error) {
    raise("DataError", error);
  } catch (const DeviceError& error) {
    raise("DeviceError", error);
  } catch (const ResourceError& error) {
    raise("ResourceError", error);
  } catch (const CancelledError& error) {
    raise("CancelledError", error);
  } catch (const TimeoutError& error) {
    raise("TimeoutError", error);
  } catch (const Error& error) {
    raise("Error", error);
  } catch (const nb::builtin_exception&) {
    throw;  // what users expect for arguments of the wrong kind
  } catch (const nb::python_error&) {
    throw;
  } catch (const std::bad_cast&) {
    throw;
  } catch (const std::bad_alloc&) {
    raise("ResourceError", ResourceError("there is not enough memory"));
  } catch (const std::exception& error) {
    raise("Error", Error(error.what()));
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace skyrank::python

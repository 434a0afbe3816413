// Import of what other libraries have in the memory of a GPU, as Python hands it over: capsules of DLPack and of
// Arrow's device interface. The values stay where they are.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/arrow_device.hpp>
#include <skyrank/dlpack.hpp>

#include "engine/arrow_owned.hpp"
#include "engine/device/dlpack_structs.hpp"
#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

/// Returns the name of the capsule that a method gave.
std::string name_of_capsule(nb::handle given, const char* method) {
  if (!PyCapsule_CheckExact(given.ptr())) {
    const auto type = nb::cast<std::string>(nb::str(given.type().attr("__name__")));
    throw DataError(std::string(method) + " gave a " + type + ", not a capsule");
  }
  const char* const name = PyCapsule_GetName(given.ptr());
  return name == nullptr ? "" : name;
}

/// Returns the struct in a capsule, which must have this name.
template <class Struct>
Struct* content_of(nb::handle given, const char* name, const char* method) {
  const std::string found = name_of_capsule(given, method);
  if (found != name) {
    throw DataError(std::string(method) + " gave a capsule named '" + found + "', not '" + name + "'");
  }
  auto* const content = static_cast<Struct*>(PyCapsule_GetPointer(given.ptr(), name));
  if (content == nullptr) throw nb::python_error();
  return content;
}

// ---- DLPack ----

/// Calls the deleter of the tensor that `own` stands for. It may be Python code, so it runs with the GIL and without
/// the exception that may be on its way.
template <class Managed>
void delete_given(Managed* own) {
  const std::unique_ptr<Managed> released(own);
  auto* const given = static_cast<Managed*>(released->manager_ctx);
  if (given->deleter == nullptr || !nb::is_alive()) return;
  const nb::gil_scoped_acquire gil;
  const nb::error_scope kept;
  given->deleter(given);
}

/// Takes over a tensor, which the new name of its capsule tells the producer.
template <class Managed>
Table take_tensor(nb::handle capsule, const char* name, const char* used_name, std::vector<std::string> names,
                  std::optional<void*> stream) {
  auto* const tensor = content_of<Managed>(capsule, name, "__dlpack__");
  auto own = std::make_unique<Managed>(*tensor);
  own->manager_ctx = tensor;
  own->deleter = delete_given<Managed>;
  if (PyCapsule_SetName(capsule.ptr(), used_name) != 0) throw nb::python_error();
  const nb::gil_scoped_release no_gil;  // the first call to a GPU takes long
  return import_dlpack(own.release(), std::move(names), stream);
}

/// Takes over a tensor as a table. `stream` is what its producer was asked for, in the numbers of DLPack.
Table table_of_tensor(const nb::object& capsule, std::vector<std::string> names, std::optional<std::uintptr_t> stream) {
  std::optional<void*> waited_for;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): DLPack's numbers of streams are CUDA's handles
  if (stream) waited_for = reinterpret_cast<void*>(*stream);
  const std::string name = name_of_capsule(capsule, "__dlpack__");
  if (name == "dltensor_versioned") {
    return take_tensor<DLManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned",
                                                 std::move(names), waited_for);
  }
  if (name.starts_with("used_")) throw DataError("the tensor of __dlpack__ was taken by another consumer before");
  return take_tensor<DLManagedTensor>(capsule, "dltensor", "used_dltensor", std::move(names), waited_for);
}

// ---- Arrow ----

bool is_struct(const ArrowSchema& schema) {
  return schema.format != nullptr && std::string_view(schema.format) == "+s";
}

/// Fields under names of our own.
struct NamedFields {
  Owned<ArrowSchema> given;
  std::vector<std::string> names;
  std::vector<ArrowSchema> fields;
  std::vector<ArrowSchema*> pointers;
};

/// Takes over the schema of a struct, or of an array that becomes the only field of one. All fields are called `name`,
/// or, where that is empty and they have no names, c0, c1, ...
ArrowSchema named_struct(ArrowSchema* given, const std::string& name) {
  auto named = std::make_unique<NamedFields>();
  named->given = Owned<ArrowSchema>::take(given);
  ArrowSchema& whole = *named->given;
  std::vector<ArrowSchema*> fields = {&whole};
  if (is_struct(whole)) {
    const bool described = whole.n_children == 0 || (whole.n_children > 0 && whole.children != nullptr);
    if (!described) throw DataError("the Arrow schema of the data on a GPU does not describe its columns");
    fields = {whole.children, whole.children + whole.n_children};
  }
  named->names.reserve(fields.size());
  named->fields.reserve(fields.size());
  for (const ArrowSchema* const field : fields) {
    if (field == nullptr) throw DataError("the Arrow schema of the data on a GPU lacks the description of a column");
    const bool has_name = field->name != nullptr && *field->name != '\0';
    const std::string own = has_name ? field->name : "c" + std::to_string(named->names.size());
    named->names.push_back(name.empty() ? own : name);
    named->fields.push_back(*field);
    named->fields.back().name = named->names.back().c_str();
    named->pointers.push_back(&named->fields.back());
  }
  ArrowSchema result{};
  result.format = "+s";
  result.name = "";
  result.n_children = static_cast<std::int64_t>(named->pointers.size());
  result.children = named->pointers.data();
  result.release = [](ArrowSchema* released) {
    delete static_cast<NamedFields*>(released->private_data);
    released->release = nullptr;
  };
  result.private_data = named.release();
  return result;
}

/// An array as the only field of a struct.
struct OnlyField {
  Owned<ArrowArray> given;
  ArrowArray* field = nullptr;
  const void* no_validity = nullptr;
};

ArrowArray struct_of(ArrowArray* given) {
  auto kept = std::make_unique<OnlyField>();
  kept->given = Owned<ArrowArray>::take(given);
  kept->field = &*kept->given;
  ArrowArray result{};
  result.length = kept->field->length;
  result.n_buffers = result.n_children = 1;
  result.buffers = &kept->no_validity;
  result.children = &kept->field;
  result.release = [](ArrowArray* released) {
    delete static_cast<OnlyField*>(released->private_data);
    released->release = nullptr;
  };
  result.private_data = kept.release();
  return result;
}

/// Takes over a record batch, or an array that is a column called `name`, wherever it lies.
Table table_of_device_array(const nb::object& schema, const nb::object& array, const std::string& name) {
  constexpr const char* kMethod = "__arrow_c_device_array__";
  auto* const there = content_of<ArrowDeviceArray>(array, "arrow_device_array", kMethod);
  auto* const described = content_of<ArrowSchema>(schema, "arrow_schema", kMethod);
  if (there->array.release == nullptr || described->release == nullptr) {
    throw DataError("the data of __arrow_c_device_array__ were taken by another consumer before");
  }
  if (there->device_type == ARROW_DEVICE_CPU && there->sync_event == nullptr) {
    return import_batch(&there->array, described, name);
  }
  const bool whole = is_struct(*described);
  Owned<ArrowSchema> fields(named_struct(described, name));
  ArrowDeviceArray taken = *there;
  taken.array = whole ? std::exchange(there->array, ArrowArray{}) : struct_of(&there->array);
  const nb::gil_scoped_release no_gil;  // the first call to a GPU takes long, and the producer may still be at work
  return import_arrow_device(&taken, &*fields);
}

}  // namespace

void bind_device_input(nb::module_& module) {
  module.def("table_of_device_array", &table_of_device_array);
  module.def("table_of_tensor", &table_of_tensor, nb::arg("capsule"), nb::arg("names"), nb::arg("stream").none());
}

}  // namespace skyrank::python

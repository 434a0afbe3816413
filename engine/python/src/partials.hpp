#pragma once

#include <memory>
#include <utility>

#include <skyrank/partial.hpp>

#include "engine/arrow_owned.hpp"
#include "engine/python/src/bind.hpp"

// Partial answers as Python passes them between extension modules: capsules of Arrow's structs.
namespace skyrank::python {

/// Returns a capsule that owns one of Arrow's structs.
template <class Struct>
nb::capsule struct_capsule(Owned<Struct> content, const char* name) {
  return {new Struct(content.give()), name, [](void* pointer) noexcept {
            const std::unique_ptr<Struct> unused(static_cast<Struct*>(pointer));
            if (unused->release != nullptr) unused->release(unused.get());
          }};
}

/// Exports a partial answer as a record batch: its schema and its array.
inline nb::tuple export_partial(const Partial& partial) {
  Owned<ArrowArray> array;
  Owned<ArrowSchema> schema;
  partial.export_arrow(&*array, &*schema);
  return nb::make_tuple(struct_capsule(std::move(schema), "arrow_schema"),
                        struct_capsule(std::move(array), "arrow_array"));
}

}  // namespace skyrank::python

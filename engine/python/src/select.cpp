#include <skyrank/select.hpp>

#include <nanobind/ndarray.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/python/src/bind.hpp"
#include "engine/python/src/interruptible.hpp"
#include "engine/select/select_batches.hpp"

// Selection in arrays of other libraries, along any axis. Arrays are read where they lie.
namespace skyrank::python {
namespace {

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Output = nb::ndarray<nb::device::cpu, nb::c_contig>;
using Sizes = std::vector<std::int64_t>;

std::optional<ElementType> integer_element(bool is_signed, int bits) {
  switch (bits) {
    case 8: return is_signed ? ElementType::int8 : ElementType::uint8;
    case 16: return is_signed ? ElementType::int16 : ElementType::uint16;
    case 32: return is_signed ? ElementType::int32 : ElementType::uint32;
    case 64: return is_signed ? ElementType::int64 : ElementType::uint64;
    default: return std::nullopt;
  }
}

std::optional<ElementType> element_of(const nb::dlpack::dtype& type) {
  if (type.lanes != 1) return std::nullopt;
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int: return integer_element(true, type.bits);
    case nb::dlpack::dtype_code::UInt: return integer_element(false, type.bits);
    case nb::dlpack::dtype_code::Bfloat: return type.bits == 16 ? std::optional(ElementType::bfloat16) : std::nullopt;
    case nb::dlpack::dtype_code::Float:
      if (type.bits == 16) return ElementType::float16;
      if (type.bits == 32) return ElementType::float32;
      return type.bits == 64 ? std::optional(ElementType::float64) : std::nullopt;
    default: return std::nullopt;
  }
}

ElementType element_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ElementType::float64); ++i) {
    if (to_string(static_cast<ElementType>(i)) == name) return static_cast<ElementType>(i);
  }
  throw DataError("select_k takes no elements of the type " + name);
}

/// An axis of an array, and bytes from one of its elements to the next.
struct Axis {
  std::int64_t size = 1;
  std::int64_t stride = 0;
};

/// Matrices of an array whose rows lie along one axis, in the order of the others.
struct Rows {
  std::vector<Axis> outer;  ///< axes over which there are the matrices of `batches`, one after the other
  exec::MatrixBatches batches;
};

/// Joins axes where the outer one goes on where the inner one ends.
std::vector<Axis> joined(const std::vector<Axis>& axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty() && result.back().stride == axis.size * axis.stride) {
      result.back() = {result.back().size * axis.size, axis.stride};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

/// Takes strides in elements.
Rows rows_of(const void* first, ElementType type, const Sizes& shape, const Sizes& strides, std::size_t axis) {
  const std::int64_t width = width_in_bytes(type);
  std::vector<Axis> others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis) others.push_back({shape[i], strides[i] * width});
  }
  others = joined(others);
  Rows rows;
  MatrixView& matrix = rows.batches.matrix;
  matrix.values = first;
  matrix.type = type;
  matrix.columns = shape[axis];
  matrix.column_stride = strides[axis] * width;
  matrix.rows = 1;
  matrix.row_stride = matrix.columns * matrix.column_stride;
  if (!others.empty()) {
    matrix.rows = others.back().size;
    matrix.row_stride = others.back().stride;
    others.pop_back();
  }
  if (!others.empty()) {
    rows.batches.count = others.back().size;
    rows.batches.stride = others.back().stride;
    others.pop_back();
  }
  rows.outer = std::move(others);
  return rows;
}

/// Selects in the matrices of all places of the outer axes.
void select_everywhere(Rows rows, std::int64_t k, SelectOutput output, const SelectOptions& options) {
  std::int64_t places = 1;
  for (const Axis& axis : rows.outer) places *= axis.size;
  const std::int64_t selected = rows.batches.count * rows.batches.matrix.rows * k;
  const std::int64_t bytes = selected * width_in_bytes(rows.batches.matrix.type);
  const std::int64_t position_bytes = selected * (output.position_type == PositionType::int64 ? 8 : 4);
  const auto* const first = static_cast<const std::byte*>(rows.batches.matrix.values);
  for (std::int64_t place = 0; place < places; ++place) {
    std::int64_t offset = 0;
    std::int64_t left = place;
    for (std::size_t i = rows.outer.size(); i-- > 0; left /= rows.outer[i].size) {
      offset += left % rows.outer[i].size * rows.outer[i].stride;
    }
    rows.batches.matrix.values = first + offset;
    exec::select_in_batches(rows.batches, k, output, options);
    output.values = static_cast<std::byte*>(output.values) + bytes;
    output.positions = static_cast<std::byte*>(output.positions) + position_bytes;
  }
}

/// Returns a pointer to an address, as libraries give it.
void* pointer_of(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

PositionType positions_of(bool wide) { return wide ? PositionType::int64 : PositionType::int32; }

SelectOptions options_of(bool largest, bool sorted, bool nan_first) {
  SelectOptions options;
  options.largest = largest;
  options.sorted = sorted;
  options.nan = nan_first ? NanOrder::first : NanOrder::last;
  return options;
}

/// An array that was taken by DLPack, once.
struct TensorView {
  Input array;
  Sizes shape;
  Sizes strides;                    ///< in elements
  std::optional<ElementType> type;  ///< none: of no elements that can be selected
};

/// Returns nothing for what has no view here.
std::optional<TensorView> view_of_tensor(nb::handle object) {
  TensorView view;
  if (!nb::try_cast(object, view.array, false)) return std::nullopt;
  for (std::size_t i = 0; i < view.array.ndim(); ++i) {
    view.shape.push_back(static_cast<std::int64_t>(view.array.shape(i)));
    view.strides.push_back(view.array.stride(i));
  }
  view.type = element_of(view.array.dtype());
  return view;
}

/// Selects as Python asks for it: without the GIL, and so that Ctrl-C stops what takes long.
void select_for_python(const Rows& rows, std::size_t elements, std::int64_t k, const SelectOutput& output,
                       SelectOptions options) {
  constexpr std::size_t kMaxSmall = 1 << 17;  // elements that are answered before a person could want to stop it
  static const pid_t process = getpid();
  if (process != getpid()) options.threads = 1;  // as threads do not survive a fork
  if (elements <= kMaxSmall) {
    const nb::gil_scoped_release no_gil;
    return select_everywhere(rows, k, output, options);
  }
  const bool main_thread = nb::cast<bool>(nb::module_::import_("skyrank._input").attr("on_main_thread")());
  interruptible(main_thread, [&](std::stop_token stop) {
    options.stop = std::move(stop);
    select_everywhere(rows, k, output, options);
    return true;
  });
}

/// Selects along an axis of an array into two others, whose last axis has the k of each row. `type` stands in place of
/// the array's own where it is not empty.
void select_k_in_view(const TensorView& view, const std::string& type, std::size_t axis, std::int64_t k,
                      const Output& values, const Output& positions, bool wide, bool largest, bool sorted,
                      bool nan_first) {
  const ElementType element = type.empty() ? view.type.value() : element_named(type);
  const SelectOutput output{values.data(), positions.data(), positions_of(wide)};
  select_for_python(rows_of(view.array.data(), element, view.shape, view.strides, axis), view.array.size(), k, output,
                    options_of(largest, sorted, nan_first));
}

/// Does the same for elements at an address; strides count elements.
void select_k_at(std::uintptr_t address, const std::string& type, const Sizes& shape, const Sizes& strides,
                 std::size_t axis, std::int64_t k, std::uintptr_t values, std::uintptr_t positions, bool wide,
                 bool largest, bool sorted, bool nan_first) {
  std::size_t elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
  const SelectOutput output{pointer_of(values), pointer_of(positions), positions_of(wide)};
  select_for_python(rows_of(pointer_of(address), element_named(type), shape, strides, axis), elements, k, output,
                    options_of(largest, sorted, nan_first));
}

/// Puts a selection on a stream of the current GPU; the array has one or two axes. `allocate` returns memory of so many
/// bytes and its address; it is not called for none.
void select_k_on_device(std::uintptr_t address, const std::string& type, const Sizes& shape, const Sizes& strides,
                        std::size_t axis, std::int64_t k, std::uintptr_t values, std::uintptr_t positions, bool wide,
                        bool largest, bool sorted, bool nan_first, std::uintptr_t stream,
                        const nb::callable& allocate) {
  const Rows rows = rows_of(pointer_of(address), element_named(type), shape, strides, axis);
  const MatrixView& matrix = rows.batches.matrix;
  const SelectOptions options = options_of(largest, sorted, nan_first);
  const SelectOutput output{pointer_of(values), pointer_of(positions), positions_of(wide)};
  std::size_t bytes = 0;
  {
    const nb::gil_scoped_release no_gil;  // the first call to a GPU takes long
    bytes = select_k_workspace_bytes(matrix, k, output.position_type, options);
  }
  nb::object workspace;
  void* memory = nullptr;
  if (bytes > 0) {
    workspace = allocate(bytes);
    memory = pointer_of(nb::cast<std::uintptr_t>(workspace[1]));
  }
  const nb::gil_scoped_release no_gil;
  select_k(matrix, k, output, options, memory, bytes, pointer_of(stream));
}

/// Returns a tensor of bfloat16 over the memory of an array of uint16, for libraries that take DLPack.
nb::object bfloat16_tensor(nb::ndarray<std::uint16_t, nb::device::cpu, nb::c_contig> words) {
  std::vector<std::size_t> shape;
  for (std::size_t i = 0; i < words.ndim(); ++i) shape.push_back(words.shape(i));
  constexpr nb::dlpack::dtype kBfloat16{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
  const nb::object owner = nb::cast(words);
  return nb::cast(nb::ndarray<nb::array_api>(words.data(), shape.size(), shape.data(), owner, nullptr, kBfloat16));
}

}  // namespace

void bind_select(nb::module_& module) {
  nb::class_<TensorView>(module, "TensorView")
      .def("shape", [](const TensorView& view) { return nb::tuple(nb::cast(view.shape)); })
      .def("type", [](const TensorView& view) { return view.type ? to_string(*view.type) : std::string(); });
  module.def("view_of_tensor", &view_of_tensor);
  module.def("select_k_in_view", &select_k_in_view, nb::arg("view"), nb::arg("type"), nb::arg("axis"), nb::arg("k"),
             nb::arg("values").noconvert(), nb::arg("positions").noconvert(), nb::arg("wide"), nb::arg("largest"),
             nb::arg("sorted"), nb::arg("nan_first"));
  module.def("select_k_at", &select_k_at);
  module.def("select_k_on_device", &select_k_on_device);
  module.def("bfloat16_tensor", &bfloat16_tensor);
}

}  // namespace skyrank::python

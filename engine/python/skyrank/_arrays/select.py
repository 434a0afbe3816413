"""Selection along an axis of arrays: of NumPy, torch and CuPy, and of others that DLPack reads."""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple

from .. import _core
from .._errors import DataError, QueryError, required
from .._input.tensors import GPUS, HOSTS

TYPES = frozenset(
    [*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "bfloat16", "float32", "float64"]
)


class Selected(NamedTuple):
    """The elements that `select_k` selects; it unpacks as ``values, positions``.

    Attributes:
        values: Copies of the elements.
        positions: Their positions along the axis.
    """

    values: Any
    positions: Any


def select_k(
    x: Any,
    k: int,
    *,
    largest: bool = False,
    sorted: bool = True,
    axis: int = -1,
    nan: str = "last",
    positions: str = "int64",
) -> Selected:
    """Returns the k smallest elements along an axis of an array, or the k largest, and their positions.

    >>> values, positions = select_k(numpy.array([[3, 1, 2], [5, 5, 4]]), 2)
    >>> values
    array([[1, 2],
           [4, 5]])
    >>> positions
    array([[1, 2],
           [2, 0]])

    The answer is the same on every machine. Equal elements are taken, and sorted, in the order of their positions; -0.0
    equals 0.0, and one NaN another.

    Args:
        x: An array of NumPy, torch, CuPy or JAX, or another one with ``__dlpack__`` or ``__array_interface__``, of one or
            more dimensions and any strides; int8 to int64, uint8 to uint64, float16, bfloat16, float32 or float64. It is
            read where it lies, on the CPU or on a GPU, where the current stream of its library does the work.
        k: Number of elements, 0 to the size of the axis.
        largest: Selects the largest instead of the smallest.
        sorted: Orders them best first; otherwise the same elements come in any order.
        axis: The axis along which to select.
        nan: "last": NaN is worse than all numbers, for the smallest and for the largest; "first": better.
        positions: "int64" or "int32", the type of the positions.

    Returns:
        Arrays of the library of `x`, on the same device, of its shape but with k in place of the axis's size. They are of
        NumPy if `x` has nothing but ``__array_interface__``, or ``__dlpack__`` without ``__array_namespace__``.

    Raises:
        DataError: The array has elements of another type, or fewer than k along the axis.
        QueryError: The other arguments are not as above.
        DeviceError: The array is on a GPU, and SkyRank was built without GPU kernels.
        ResourceError: There is not enough memory, or the array is on a GPU, of neither torch nor CuPy, and torch is missing.
    """
    given = (k, largest, sorted, axis, nan, positions)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _select_in_torch(torch, x, *given)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(x, numpy.ndarray):
        return _select_in_numpy(x, *given)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(x, cupy.ndarray):
        return _select_in_cupy(cupy, x, *given)
    if hasattr(x, "__dlpack__"):
        return _select_in_tensor(x, *given)
    if hasattr(x, "__array_interface__"):
        import numpy as np

        return _select_in_numpy(np.asarray(x), *given)
    raise DataError(
        f"a {type(x).__name__} is no array; what is: arrays of NumPy, torch, CuPy and JAX, and objects with __dlpack__ or "
        "__array_interface__"
    )


# Says of positions whether they are wide, of elements whether the largest are wanted and sorted, and whether NaN is first.
# Functions of the core take these in this order.
Words = tuple[bool, bool, bool, bool]


def _asked(
    dimensions: int, k: Any, largest: Any, sorted: Any, axis: Any, nan: Any, positions: Any
) -> tuple[int, int, Words]:
    """Returns the axis from 0 on, k and the other arguments in one form; QueryError where they have none."""
    if type(axis) is not int:
        axis = _whole(axis, "axis")
    if dimensions == 0:
        raise DataError("the array has no dimensions, and so no axis to select along")
    if not -dimensions <= axis < dimensions:
        raise QueryError(f"there is no axis {axis}; the array has {dimensions} dimensions")
    if nan != "last" and nan != "first":
        raise QueryError(f"`nan` is 'last' or 'first', not {nan!r}")
    if positions != "int64" and positions != "int32":
        raise QueryError(f"`positions` is 'int64' or 'int32', not {positions!r}")
    if type(k) is not int:
        k = _whole(k, "k")
    return axis % dimensions, k, (positions == "int64", bool(largest), bool(sorted), nan == "first")


def _whole(number: Any, name: str) -> int:
    try:
        return operator.index(number)
    except TypeError as error:
        raise QueryError(f"`{name}` is a whole number, not {number!r}") from error


def _answer_shape(sizes: tuple[int, ...], axis: int, k: int) -> list[int]:
    """Returns the shape of an answer with its axis at the end; DataError where k is more elements than there are."""
    shape = list(sizes)
    size = shape.pop(axis)
    if not 0 <= k <= size:
        raise DataError(f"k is 0 to the number of elements along the axis, which is {size}; it is {k}")
    shape.append(k)
    return shape


def _wrong_type(name: Any) -> DataError:
    return DataError(
        f"elements of the type {name} cannot be selected; what can: int8 to int64, uint8 to uint64, float16, bfloat16, "
        "float32 and float64"
    )


# -------------------------------------------------------------------------------------------------------------- host


def _select_in_numpy(x: Any, *given: Any) -> Selected:
    import numpy

    if type(x) is not numpy.ndarray:
        if isinstance(x, numpy.ma.MaskedArray):
            raise DataError("a masked array has elements without a value; x.filled(...) gives them one")
        x = numpy.asarray(x)
    axis, k, words = _asked(x.ndim, *given)
    dtype = x.dtype
    bfloat16 = dtype.kind == "V" and dtype.name == "bfloat16"
    if not bfloat16 and (dtype.kind not in "iuf" or dtype.itemsize > 8):
        raise _wrong_type(dtype.name)
    shape = _answer_shape(x.shape, axis, k)
    if not dtype.isnative:
        x = x.astype(dtype.newbyteorder("="))
    bits = x.view("uint16") if bfloat16 else x
    values = numpy.empty(shape, bits.dtype)
    positions = numpy.empty(shape, "int64" if words[0] else "int32")
    if values.size > 0:
        # There is no view of strides that are no multiple of an element, as of the fields of packed records.
        view = _core.view_of_tensor(bits) or _core.view_of_tensor(numpy.ascontiguousarray(bits))
        assert view is not None
        _core.select_k_in_view(view, "bfloat16" if bfloat16 else "", axis, k, values, positions, *words)
    if bfloat16:
        values = values.view(dtype)
    if axis < x.ndim - 1:
        return Selected(numpy.moveaxis(values, -1, axis), numpy.moveaxis(positions, -1, axis))
    return Selected(values, positions)


def _select_in_tensor(x: Any, *given: Any) -> Selected:
    """Selects in an array of another library, through DLPack."""
    import numpy

    kind = type(x).__name__
    try:
        device = int(x.__dlpack_device__()[0])
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"a {kind} does not tell its device by __dlpack_device__: {error}") from error
    if device in GPUS:
        torch = required("torch", "torch", f"selection in a {kind} on a GPU")
        selected = _select_in_torch(torch, torch.from_dlpack(x), *given)
        return _of_library(x, *(part.contiguous() for part in selected))
    if device not in HOSTS:
        raise DataError(f"a {kind} on a device of type {device} is not read; those on the CPU and on CUDA devices are")
    view = _core.view_of_tensor(x)
    if view is None:
        raise DataError(f"a {kind} does not give its elements by __dlpack__")
    shape, name = view.shape(), view.type()
    axis, k, words = _asked(len(shape), *given)
    if name == "":
        raise _wrong_type(getattr(x, "dtype", "that it has"))
    bfloat16 = name == "bfloat16"
    values = numpy.empty(_answer_shape(shape, axis, k), "uint16" if bfloat16 else name)
    positions = numpy.empty(values.shape, "int64" if words[0] else "int32")
    if values.size > 0:
        _core.select_k_in_view(view, name, axis, k, values, positions, *words)
    values = numpy.ascontiguousarray(numpy.moveaxis(values, -1, axis))
    positions = numpy.ascontiguousarray(numpy.moveaxis(positions, -1, axis))
    if bfloat16 and hasattr(x, "__array_namespace__"):
        return _of_library(x, _core.bfloat16_tensor(values), positions)
    return _of_library(x, values, positions)


def _of_library(x: Any, values: Any, positions: Any) -> Selected:
    """Returns an answer as arrays of the library of `x`, where that says how to make them."""
    if not hasattr(x, "__array_namespace__"):
        return Selected(values, positions)
    take = x.__array_namespace__().from_dlpack
    return Selected(take(values), take(positions))


# ------------------------------------------------------------------------------------------------------------- torch


def _select_in_torch(torch: Any, x: Any, *given: Any) -> Selected:
    if x.requires_grad and torch.is_grad_enabled():
        raise DataError("a tensor with gradients goes to skyrank.torch.topk, or, without them, as tensor.detach()")
    if x.layout is not torch.strided or not (x.is_cpu or x.is_cuda):
        raise DataError(f"a tensor of layout {x.layout} on {x.device} is not read; dense ones on the CPU and GPUs are")
    dimensions = x.ndim
    axis, k, words = _asked(dimensions, *given)
    values, positions = select_tensor(torch, x, axis, k, words)
    if axis == dimensions - 1:
        return Selected(values, positions)
    return Selected(values.movedim(-1, axis), positions.movedim(-1, axis))


class _Gpu:
    """What calls on a GPU of torch need of it; made once, as torch takes longer for it than for a small selection."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.memory = torch.empty(0, dtype=torch.uint8, device=device)
        self.positions = {wide: self.memory.view(torch.int64 if wide else torch.int32) for wide in (True, False)}

    def allocate(self, size: int) -> tuple[Any, int]:
        memory = self.memory.new_empty(size)
        return memory, memory.data_ptr()


_gpus: dict[int, _Gpu] = {}
_names: dict[Any, str] = {}
_words: list[Any] = []


def _name_of_type(dtype: Any) -> str:
    """Returns the name of a type of torch, such as float32, which torch takes a while to make; DataError for others."""
    name = str(dtype).rpartition(".")[2]
    if name not in TYPES:
        raise _wrong_type(name)
    _names[dtype] = name
    return name


def _words_of(torch: Any) -> list[Any]:
    """Returns functions for the current GPU and the address of its current stream.

    The functions for everyone take several times as long as those that they call, which a later torch may not have.
    """
    inside = torch._C
    by_name = torch.cuda.current_stream
    _words[:] = (
        getattr(inside, "_cuda_getDevice", torch.cuda.current_device),
        getattr(inside, "_cuda_getCurrentRawStream", lambda device: by_name(device).cuda_stream),
    )
    return _words


def _gpu_of(torch: Any, index: int, device: Any) -> _Gpu:
    gpu = _Gpu(torch, device)
    if type(gpu.memory) is torch.Tensor:  # and not what a mode of torch makes instead
        _gpus[index] = gpu
    return gpu


def select_tensor(torch: Any, x: Any, axis: int, k: int, words: Words) -> tuple[Any, Any]:
    """Returns the values and positions of a dense tensor of torch, with the axis at the end."""
    dtype, sizes = x.dtype, x.shape
    name = _names.get(dtype) or _name_of_type(dtype)
    shape = _answer_shape(sizes, axis, k)
    wide, largest, sorted, nan_first = words
    if x.is_neg():
        x = x.resolve_neg()
    if x.is_cpu:
        values = x.new_empty(*shape)  # faster than of a list
        positions = x.new_empty(*shape, dtype=torch.int64 if wide else torch.int32)
        if 0 not in shape:
            output = (values.data_ptr(), positions.data_ptr())
            _core.select_k_at(x.data_ptr(), name, sizes, x.stride(), axis, k, *output, *words)
        return values, positions
    index = x.get_device()
    current_device, stream_of = _words or _words_of(torch)
    if current_device() != index:
        with torch.cuda.device(index):
            return select_tensor(torch, x, axis, k, words)
    gpu = _gpus.get(index) or _gpu_of(torch, index, x.device)
    values, positions = x.new_empty(*shape), gpu.positions[wide].new_empty(*shape)
    if 0 in shape:
        return values, positions
    if len(sizes) > 2:  # as a matrix, copied where it is none
        x = x.detach().movedim(axis, -1).reshape(-1, sizes[axis])
        sizes, axis = x.shape, 1
    # Written out, as unpacking takes longer.
    # fmt: off
    _core.select_k_on_device(
        x.data_ptr(), name, sizes, x.stride(), axis, k, values.data_ptr(), positions.data_ptr(), wide, largest, sorted,
        nan_first, stream_of(index), gpu.allocate,
    )
    # fmt: on
    return values, positions


# -------------------------------------------------------------------------------------------------------------- CuPy


def _select_in_cupy(cupy: Any, x: Any, *given: Any) -> Selected:
    axis, k, words = _asked(x.ndim, *given)
    name = x.dtype.name
    if name not in TYPES:
        raise _wrong_type(name)
    shape = _answer_shape(x.shape, axis, k)
    with x.device:
        values = cupy.empty(shape, x.dtype)
        positions = cupy.empty(shape, "int64" if words[0] else "int32")
        if values.size > 0:
            matrix = cupy.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
            if any(stride % x.itemsize for stride in matrix.strides):
                matrix = cupy.ascontiguousarray(matrix)

            def allocate(size: int) -> tuple[Any, int]:
                memory = cupy.empty(size, "uint8")
                return memory, memory.data.ptr

            strides = tuple(stride // x.itemsize for stride in matrix.strides)
            place = (matrix.data.ptr, name, matrix.shape, strides, 1)
            output = (values.data.ptr, positions.data.ptr)
            stream = cupy.cuda.get_current_stream().ptr
            _core.select_k_on_device(*place, k, *output, *words, stream, allocate)
        return Selected(cupy.moveaxis(values, -1, axis), cupy.moveaxis(positions, -1, axis))

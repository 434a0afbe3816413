"""Points in the memory of a GPU: of torch and CuPy, and of others that DLPack reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .._errors import DataError, required
from .._input.tensors import GPUS

# Types that are read as they are; the others become float64, which has all their values.
READ = frozenset(["float32", "float64", "int32", "int64", "uint32", "uint64"])


class GpuPoints(NamedTuple):
    """A matrix on a GPU.

    Attributes:
        layout: The address, the rows and columns, and the bytes from one to the next of each.
        type: The name of the type of its values.
        stream: The current stream of its library.
        owner: What keeps the memory.
        wait: Waits for that stream.
        copied: Copies an array of NumPy to the same device, as an array of the library.
    """

    layout: list[int]
    type: str
    stream: int
    owner: Any
    wait: Callable[[], Any]
    copied: Callable[[Any], Any]


def gpu_points(points: Any) -> GpuPoints | None:
    """Returns points that lie on a GPU, None for all others. Raises DataError where they are no matrix of numbers."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(points, torch.Tensor):
        return _of_torch(torch, points) if points.is_cuda else None
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(points, cupy.ndarray):
        return _of_cupy(cupy, points)
    if not hasattr(points, "__dlpack_device__") or not _lies_on_gpu(points):
        return None
    torch = required("torch", "torch", f"an indicator of a {type(points).__name__} on a GPU")
    given = _of_torch(torch, torch.from_dlpack(points))
    if not hasattr(points, "__array_namespace__"):
        return given
    take = points.__array_namespace__().from_dlpack
    return given._replace(copied=lambda array: take(given.copied(array)))


def _lies_on_gpu(points: Any) -> bool:
    try:
        return int(points.__dlpack_device__()[0]) in GPUS
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return False


def _check_dimensions(count: int) -> None:
    if count != 2:
        raise DataError(f"points are a matrix of shape (points, objectives), not of {count} dimensions")


def _of_torch(torch: Any, points: Any) -> GpuPoints:
    _check_dimensions(points.ndim)
    if points.requires_grad and torch.is_grad_enabled():
        raise DataError("points with gradients are not read; points.detach() has none")
    if points.layout != torch.strided or points.is_complex():
        raise DataError(f"points are a dense matrix of numbers, not of {points.layout} and {points.dtype}")
    device = points.device
    points = points.detach().resolve_neg()
    name = str(points.dtype).rpartition(".")[2]
    if name not in READ:
        points, name = points.to(torch.float64), "float64"
    width = points.element_size()
    layout = [points.data_ptr(), *points.shape, *(stride * width for stride in points.stride())]
    stream = torch.cuda.current_stream(device)

    def copied(array: Any) -> Any:
        return torch.from_numpy(array).to(device)

    return GpuPoints(layout, name, stream.cuda_stream, points, stream.synchronize, copied)


def _of_cupy(cupy: Any, points: Any) -> GpuPoints:
    _check_dimensions(points.ndim)
    if points.dtype.kind not in "biuf":
        raise DataError(f"points are numbers of at most 64 bits, not of the type {points.dtype.name}")
    device = points.device
    with device:
        if points.dtype.name not in READ:
            points = points.astype("float64")
        stream = cupy.cuda.get_current_stream()
    layout = [points.data.ptr, *points.shape, *points.strides]

    def copied(array: Any) -> Any:
        with device:
            return cupy.asarray(array)

    return GpuPoints(layout, points.dtype.name, stream.ptr, points, stream.synchronize, copied)

"""Tables over tensors, through DLPack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._errors import DataError, DeviceError
from .arrays import array_column, table_of_array
from .arrow import EXPORT_ERRORS

# Types of devices in DLPack: CUDA devices and memory that CUDA moves, and memory of the CPU, also of CUDA's allocator.
GPUS = (2, 13)
HOSTS = (1, 3)
# The default stream of CUDA, and the versions of tensors that can be read, in DLPack's numbers.
_DEFAULT_STREAM = 1
_MAX_VERSION = (1, 1)


def table_of_tensor(data: Any, columns: Sequence[str] | None) -> _core.Table:
    """Returns a table over a matrix, on its GPU if it is there."""
    device = _device_type(data, "the tensor")
    if device not in GPUS:
        return table_of_array(_host_array(data, device, "the tensor"), columns)
    table = _core.table_of_tensor(_capsule(data, "the tensor"), list(columns or ()), _DEFAULT_STREAM)
    if columns is not None and len(columns) != len(table.names()):
        raise DataError(f"the tensor has {len(table.names())} columns, and `columns` names {len(columns)}")
    return table


def tensor_column(name: str, values: Any) -> _core.Table:
    """Returns a table of one column over a tensor, on its GPU if it is there."""
    what = f"column '{name}'"
    device = _device_type(values, what)
    if device not in GPUS:
        return _core.table_of_columns([array_column(name, _host_array(values, device, what))], [])
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise DataError(f"{what} has {dimensions} dimensions; a column has 1")
    capsule = _capsule(values, what)
    try:
        return _core.table_of_tensor(capsule, [name], _DEFAULT_STREAM)
    except (DataError, DeviceError) as error:
        raise type(error)(str(error).replace("DLPack tensor", what, 1)) from error


def _device_type(tensor: Any, what: str) -> int:
    """Returns the type of the device on which a tensor lies, in DLPack's numbers."""
    if not hasattr(tensor, "__dlpack_device__"):
        raise DataError(f"{what} has __dlpack__ but no __dlpack_device__, which tells where its values lie")
    try:
        return int(tensor.__dlpack_device__()[0])
    except (*EXPORT_ERRORS, IndexError) as error:
        raise DataError(f"{what} does not tell its device by __dlpack_device__: {error}") from error


def _capsule(tensor: Any, what: str) -> object:
    """Asks for a tensor that stays on its GPU; its library has the default stream wait for what it still does with it."""
    try:
        try:
            return tensor.__dlpack__(stream=_DEFAULT_STREAM, max_version=_MAX_VERSION)
        except TypeError:  # of a library that knows no versions
            return tensor.__dlpack__(stream=_DEFAULT_STREAM)
    except EXPORT_ERRORS as error:
        raise DataError(f"{what} cannot be read through DLPack: {error}") from error


def _host_array(tensor: Any, device: int, what: str) -> Any:
    import numpy

    try:
        return numpy.from_dlpack(tensor)
    except EXPORT_ERRORS as error:
        remedy = "" if device in HOSTS else "; move it to the CPU"
        raise DataError(f"{what} cannot be read through DLPack: {error}{remedy}") from error

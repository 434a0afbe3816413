"""Tables of what users have: Arrow data, NumPy arrays, dicts of arrays, DLPack, files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import DataError, DeviceError, ResourceError
from ._objects import numbers_of_times, object_column
from ._values import without_surrogates

if TYPE_CHECKING:
    import numpy

# Iterables that are one value, or have no order.
_NO_LISTS = (str, bytes, bytearray, Mapping, Set)
# The first float64 that more than one integer may have been rounded to.
_FIRST_ROUNDED = 2.0**53


def on_main_thread() -> bool:
    """Returns true on the thread that handles signals, whose queries Ctrl-C must reach."""
    return threading.current_thread() is threading.main_thread()


def to_data(data: Any, columns: Sequence[str] | None = None, timeout: float = 0.0) -> _core.Table | _core.Source:
    """Returns what a query runs over: the core of a Table, a source over files, or a new table over `data`.

    `columns` names the columns of arrays that have no names of their own. `timeout` is the limit in seconds of opening
    files, 0 for none. Raises DataError, ResourceError, TimeoutError.
    """
    core = getattr(data, "_core_data", None)
    if core is not None:
        table: _core.Table | _core.Source = core
        return table
    if _is_path(data) or (isinstance(data, (list, tuple)) and len(data) > 0 and all(_is_path(item) for item in data)):
        return open_source([data] if _is_path(data) else list(data), timeout=timeout)
    return to_table(data, columns)


def to_table(data: Any, columns: Sequence[str] | None = None) -> _core.Table:
    """Returns a table over `data`, which lives as long as the table does."""
    if _is_array(data):
        return _table_of_array(data, columns)
    # What speaks both has NULLs and texts in Arrow alone.
    if hasattr(data, "__dlpack__") and (columns is not None or not _speaks_arrow(data)):
        return _table_of_tensor(data, columns)
    if columns is not None:
        raise DataError(f"`columns` names the columns of an array; a {type(data).__name__} has names of its own")
    if _may_lie_on_gpu(data):
        return _table_of_device_array(data, "")
    if hasattr(data, "__arrow_c_stream__"):
        return _without_index(_core.table_of_stream(exported(data, "__arrow_c_stream__"), ""))
    if hasattr(data, "__arrow_c_array__"):
        schema, array = exported(data, "__arrow_c_array__")
        return _core.table_of_batch(schema, array, "")
    if isinstance(data, Mapping):
        return _table_of_mapping(data)
    if hasattr(data, "__array__") or isinstance(data, (list, tuple)):
        return _table_of_array(data, columns)
    if _is_path(data):
        raise DataError(f"a Table is over data in memory; Files({os.fspath(data)!r}) is one over files")
    raise DataError(
        f"a {type(data).__name__} is no table; what is: objects with __arrow_c_stream__, __arrow_c_array__ or "
        "__arrow_c_device_array__, NumPy arrays, dicts of arrays, tensors with __dlpack__, and paths of files"
    )


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _is_array(data: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, numpy.ndarray)


def is_plain_array(data: Any) -> bool:
    """Returns true for a NumPy array that is neither masked nor of another derived type."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(data) is numpy.ndarray


def _without_index(table: _core.Table) -> _core.Table:
    """Drops the columns in which pandas hands over an index that is no row number."""
    names = table.names()
    kept = [name for name in names if not name.startswith("__index_level_")]
    return table if len(kept) == len(names) else table.reordered(kept)


# ------------------------------------------------------------------------------------------------------------ tensors

# Types of devices in DLPack: CUDA devices and memory that CUDA moves, and memory of the CPU, also of CUDA's allocator.
GPUS = (2, 13)
HOSTS = (1, 3)
# The default stream of CUDA, and the versions of tensors that can be read, in DLPack's numbers.
_DEFAULT_STREAM = 1
_MAX_VERSION = (1, 1)
# What libraries raise where they cannot export a tensor, or not this one.
_EXPORT_ERRORS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


def _table_of_tensor(data: Any, columns: Sequence[str] | None) -> _core.Table:
    device = _device_type(data, "the tensor")
    if device not in GPUS:
        return _table_of_array(_host_array(data, device, "the tensor"), columns)
    table = _core.table_of_tensor(_capsule(data, "the tensor"), list(columns or ()), _DEFAULT_STREAM)
    if columns is not None and len(columns) != len(table.names()):
        raise DataError(f"the tensor has {len(table.names())} columns, and `columns` names {len(columns)}")
    return table


def _tensor_column(name: str, values: Any) -> _core.Table:
    """Returns a table of one column over a tensor, on its GPU if it is there."""
    what = f"column '{name}'"
    device = _device_type(values, what)
    if device not in GPUS:
        return _core.table_of_columns([_array_column(name, _host_array(values, device, what))], [])
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
    except (*_EXPORT_ERRORS, IndexError) as error:
        raise DataError(f"{what} does not tell its device by __dlpack_device__: {error}") from error


def _capsule(tensor: Any, what: str) -> object:
    """Asks for a tensor that stays on its GPU; its library has the default stream wait for what it still does with it."""
    try:
        try:
            return tensor.__dlpack__(stream=_DEFAULT_STREAM, max_version=_MAX_VERSION)
        except TypeError:  # of a library that knows no versions
            return tensor.__dlpack__(stream=_DEFAULT_STREAM)
    except _EXPORT_ERRORS as error:
        raise DataError(f"{what} cannot be read through DLPack: {error}") from error


def _host_array(tensor: Any, device: int, what: str) -> Any:
    import numpy

    try:
        return numpy.from_dlpack(tensor)
    except _EXPORT_ERRORS as error:
        remedy = "" if device in HOSTS else "; move it to the CPU"
        raise DataError(f"{what} cannot be read through DLPack: {error}{remedy}") from error


# -------------------------------------------------------------------------------------------------------------- Arrow


def _speaks_arrow(data: Any) -> bool:
    return any(hasattr(data, f"__arrow_c_{kind}__") for kind in ("stream", "array", "device_array"))


def exported(data: Any, method: str, name: str = "", *, full: bool = False) -> Any:
    """Returns the stream, or the schema and the array, that a method exports; DataError where the library cannot.

    What pyarrow has is validated before, `full` or as far as that takes no time: only it knows how long its buffers are.
    """
    try:
        given = getattr(_validated(data, full), method)()
        if method == "__arrow_c_stream__":
            return given
        schema, array = given
        return schema, array
    except _EXPORT_ERRORS as error:
        what = f"column '{name}'" if name else f"the {type(data).__name__}"
        raise DataError(f"{what} cannot be read through {method}: {error}") from error


def _validated(data: Any, full: bool) -> Any:
    """Returns pyarrow's data once it has found them valid, and other data as they are."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return data
    if isinstance(data, pyarrow.RecordBatchReader):
        return pyarrow.RecordBatchReader.from_batches(data.schema, (_validated(batch, full) for batch in data))
    if isinstance(data, (pyarrow.RecordBatch, pyarrow.Table, pyarrow.Array, pyarrow.ChunkedArray)):
        data.validate(full=full)
    return data


def _may_lie_on_gpu(data: Any) -> bool:
    """Returns true for Arrow data that may lie on a GPU; the other methods serve what says that it does not."""
    return hasattr(data, "__arrow_c_device_array__") and not getattr(data, "is_cpu", False)


def _table_of_device_array(data: Any, name: str) -> _core.Table:
    schema, array = exported(data, "__arrow_c_device_array__", name)
    return _core.table_of_device_array(schema, array, name)


# ------------------------------------------------------------------------------------------------------------- arrays


def _table_of_array(data: Any, columns: Sequence[str] | None) -> _core.Table:
    import numpy

    array = _array_of_rows(data) if isinstance(data, (list, tuple)) else numpy.asanyarray(data)
    if not isinstance(array, numpy.ma.MaskedArray):
        array = numpy.asarray(array)  # a column of a matrix has two dimensions
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise DataError(f"a structured array has 1 dimension, not {array.ndim}")
        return _table_of_fields(array)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise DataError(f"an array of rows and columns has 2 dimensions, not {array.ndim}")
    names = [f"c{index}" for index in range(array.shape[1])] if columns is None else list(columns)
    if len(names) != array.shape[1]:
        raise DataError(f"the array has {array.shape[1]} columns, and `columns` names {len(names)}")
    for name in names:
        without_surrogates(name, "the name of a column", DataError)
    table = _core.table_of_matrix(array, names) if is_plain_array(array) else None
    if table is not None:
        return table
    return _core.table_of_columns([_array_column(name, array[:, index]) for index, name in enumerate(names)], [])


def _table_of_fields(array: numpy.ndarray[Any, Any]) -> _core.Table:
    """Returns a table over a structured array; fields of types that SkyRank lacks are left out, as columns of Arrow are."""
    assert array.dtype.names is not None
    names = array.dtype.names
    read = [name for name in names if _is_read(array.dtype[name])] or names  # no column at all is an error
    left_out = [(name, f"the NumPy type {array.dtype[name]}", "") for name in names if name not in read]
    return _core.table_of_columns([_array_column(name, array[name]) for name in read], [], left_out)


def _is_read(kind: numpy.dtype[Any]) -> bool:
    is_number = kind.kind in "iuf" and kind.itemsize <= 8
    return (is_number or kind.kind in "bMUTO") and not kind.shape


def _array_of_rows(data: Sequence[Any]) -> numpy.ndarray[Any, Any]:
    """Returns rows as an array: one of objects where NumPy would make texts of numbers, or round integers to floats."""
    import numpy

    try:
        array = numpy.asanyarray(data)
        exact = array.dtype.kind != "f" or not (numpy.abs(array) >= _FIRST_ROUNDED).any()
        return array if exact and array.dtype.kind not in "US" else numpy.array(data, dtype=object)
    except ValueError as error:
        raise DataError(f"the rows of a list are numbers, or lists of one length: {error}") from error


def _array_column(name: str, array: numpy.ndarray[Any, Any], zone: str = "") -> _core.Column:
    """Returns a column that views a one-dimensional array, or a copy where it lies in an order that cannot be viewed.

    `zone` is that of times.
    """
    import numpy

    without_surrogates(name, "the name of a column", DataError)
    missing = None
    if isinstance(array, numpy.ma.MaskedArray):
        missing = numpy.ma.getmaskarray(array)
        array = array.data
    if array.ndim != 1:
        raise DataError(f"column '{name}' has {array.ndim} dimensions; a column has 1")
    kind = array.dtype.kind
    if kind in "OUT":
        values = array.tolist()
        if missing is not None:
            values = [None if absent else value for value, absent in zip(values, missing.tolist())]
        return object_column(name, values, _array_column)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if kind == "M":
        array, type_name, unknown = numbers_of_times(name, array)
        if zone and type_name != "date":
            type_name = f"{type_name[:-1]}, {zone}]"
        if unknown.any():
            missing = unknown if missing is None else missing | unknown
    elif kind == "b":
        type_name = "bool"
    elif kind in "iuf" and array.dtype.itemsize <= 8:
        type_name = array.dtype.name
    else:
        raise DataError(f"column '{name}' has the type {array.dtype}, which SkyRank does not read")
    if not array.flags.aligned or (array.strides[0] <= 0 and len(array) > 1):
        array = array.copy()
    return _viewed(name, type_name, array, missing)


def _viewed(name: str, type_name: str, array: Any, missing: Any) -> _core.Column:
    import numpy

    bits = None if missing is None else numpy.packbits(~missing, bitorder="little")
    address = array.__array_interface__["data"][0]
    valid = 0 if bits is None else bits.__array_interface__["data"][0]
    stride = array.strides[0] if len(array) > 1 else array.dtype.itemsize
    return _core.column_of_memory(name, type_name, address, len(array), stride, valid, (array, bits))


# -------------------------------------------------------------------------------------------------------------- dicts


def _table_of_mapping(data: Mapping[str, Any]) -> _core.Table:
    tables = {name: _column_table(name, values) for name, values in data.items()}
    return _core.table_of_columns([], list(tables.values()))


def _column_table(name: str, values: Any) -> _core.Table:
    without_surrogates(name, "the name of a column", DataError)
    if _is_array(values):
        return _core.table_of_columns([_array_column(name, values)], [])
    if _may_lie_on_gpu(values):
        table = _table_of_device_array(values, name)
    elif hasattr(values, "__arrow_c_stream__"):
        table = _core.table_of_stream(exported(values, "__arrow_c_stream__", name), name)
    elif hasattr(values, "__arrow_c_array__"):
        schema, array = exported(values, "__arrow_c_array__", name)
        table = _core.table_of_batch(schema, array, name)
    elif hasattr(values, "__dlpack__"):
        return _tensor_column(name, values)
    elif hasattr(values, "__array__"):
        import numpy

        return _core.table_of_columns([_array_column(name, numpy.asanyarray(values))], [])
    else:
        if isinstance(values, _NO_LISTS) or not isinstance(values, Iterable):
            raise DataError(f"column '{name}' is a {type(values).__name__}; a column is an array or a list")
        objects = list(values)
        return _core.table_of_columns([object_column(name, objects, _array_column)], [])
    if left_out := table.unsupported():
        _, kind, reason = left_out[0]
        raise DataError(f"column '{name}' has {kind}, which SkyRank does not read" + (reason and f": {reason}"))
    return table


# -------------------------------------------------------------------------------------------------------------- files


def open_source(
    patterns: Sequence[str | os.PathLike[str]],
    header: bool = True,
    null_spellings: Sequence[str] = (),
    delimiter: str | None = None,
    format: str | None = None,
    types: Mapping[str, str] | None = None,
    timeout: float = 0.0,
) -> _core.Source:
    """Opens files as one table that is read while queries run, and only as far as they need it."""
    names = [os.fspath(pattern) for pattern in patterns]
    capsule = files_module().open_files(
        names, header, list(null_spellings), delimiter, format, dict(types or {}), on_main_thread(), timeout
    )
    return _core.source_of_capsule(capsule)


def files_module() -> Any:
    """Imports the module that reads files and bytes.

    Its Arrow libraries are those of pyarrow unless the build brought its own.
    """
    try:
        from . import _files
    except ImportError:
        try:
            import pyarrow.parquet  # noqa: F401  loads the libraries
        except ImportError as error:
            raise ResourceError("reading files needs pyarrow: pip install 'skyrank[files]'") from error
        try:
            from . import _files
        except ImportError as error:
            raise ResourceError(
                f"reading files needs the pyarrow that SkyRank was built with: {error}; read the files with pyarrow "
                "and pass its table"
            ) from error
    _files.hear_stops(_core.stops())
    return _files

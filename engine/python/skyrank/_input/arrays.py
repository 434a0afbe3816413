"""Tables over arrays of NumPy, and over lists of rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._errors import DataError
from .._values import without_surrogates
from .objects import numbers_of_times, object_column

if TYPE_CHECKING:
    import numpy

# The first float64 that more than one integer may have been rounded to.
_FIRST_ROUNDED = 2.0**53


def is_array(data: Any) -> bool:
    """Returns true for an array of NumPy, of any derived type."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, numpy.ndarray)


def is_plain_array(data: Any) -> bool:
    """Returns true for a NumPy array that is neither masked nor of another derived type."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(data) is numpy.ndarray


def table_of_array(data: Any, columns: Sequence[str] | None) -> _core.Table:
    """Returns a table over a matrix, a structured array or a list of rows."""
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
    return _core.table_of_columns([array_column(name, array[:, index]) for index, name in enumerate(names)], [])


def _table_of_fields(array: numpy.ndarray[Any, Any]) -> _core.Table:
    """Returns a table over a structured array; fields of types that SkyRank lacks are left out, as columns of Arrow are."""
    assert array.dtype.names is not None
    names = array.dtype.names
    read = [name for name in names if _is_read(array.dtype[name])] or names  # no column at all is an error
    left_out = [(name, f"the NumPy type {array.dtype[name]}", "") for name in names if name not in read]
    return _core.table_of_columns([array_column(name, array[name]) for name in read], [], left_out)


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


def array_column(name: str, array: numpy.ndarray[Any, Any], zone: str = "") -> _core.Column:
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
        return object_column(name, values, array_column)
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

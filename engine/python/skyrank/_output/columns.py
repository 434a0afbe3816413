"""Columns of answers as NumPy arrays."""

from __future__ import annotations

import datetime
import decimal
import re
import zoneinfo
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    import numpy


class _Memory:
    """Memory of an answer, for NumPy; it keeps its owner alive."""

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def view(owner: object, dtype: str, address: int, count: int, stride: int | None = None) -> numpy.ndarray[Any, Any]:
    """Returns a read-only view of shape (count,) of memory that lives as long as its owner."""
    import numpy

    if count == 0:
        return numpy.empty(0, dtype)
    interface = {
        "version": 3,
        "shape": (count,),
        "typestr": numpy.dtype(dtype).str,
        "data": (address, True),
        "strides": None if stride is None else (stride,),
    }
    return numpy.asarray(_Memory(owner, interface))


def to_numpy(column: _core.Column) -> numpy.ndarray[Any, Any]:
    """Returns the values of a column, shape (rows,): a read-only view where the memory allows it, else a copy."""
    import numpy

    memory = column.memory()
    if memory is None:
        return _copied(column)
    type_name, address, rows, stride, may_have_nulls = memory
    times = _time_dtype(type_name)
    values = view(column, _stored_dtype(type_name), address, rows, stride)
    if times is not None:
        values = values.astype("int64").view(times) if type_name == "date" else values.view(times)
    missing = ~numpy.array(column.valid()) if may_have_nulls else None
    if missing is None or not missing.any():
        return values
    if times is not None:
        known: numpy.ndarray[Any, Any] = values.copy()
        known[missing] = numpy.array("NaT", times)
        return known
    return numpy.ma.MaskedArray(values, missing)


def to_list(column: _core.Column) -> list[Any]:
    """Returns the values of a column as Python objects, NULL as None: times as datetimes, in their zone if they have one.

    Times that no datetime holds, with digits below the microsecond or outside the years 1 to 9999, make the column one
    of NumPy's datetime64 scalars, in UTC.
    """
    values = to_numpy(column)
    if not column.type.startswith("timestamp"):
        listed: list[Any] = values.tolist()
        return listed
    import numpy

    exact = times_in(values, "us")
    times = [] if exact is None else exact.tolist()
    if exact is None or any(isinstance(time, int) for time in times):
        return [None if numpy.isnat(value) else value for value in values]
    zone = _zone(column.zone)
    return times if zone is None else [time if time is None else _in_zone(time, zone) for time in times]


def times_in(times: Any, unit: str) -> Any:
    """Returns datetime64 values in another unit, or None where one would overflow or lose digits.

    NumPy does not tell of lost digits, and of an overflow only from version 2.5 on.
    """
    import numpy

    try:
        converted = times.astype(f"datetime64[{unit}]")
        same = (converted.astype(times.dtype) == times) | numpy.isnat(times)
    except OverflowError:
        return None
    return converted if same.all() else None


def _zone(name: str) -> datetime.tzinfo | None:
    """Returns the zone of a name of the tz database, or of an offset such as +02:00; UTC for those that Python lacks."""
    if not name:
        return None
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return datetime.timezone(datetime.timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return datetime.timezone.utc


def _in_zone(time: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    aware = time.replace(tzinfo=datetime.timezone.utc)
    try:
        return aware.astimezone(zone)
    except OverflowError:  # on the first or the last day of all
        return aware


def _stored_dtype(type_name: str) -> str:
    if type_name == "date":
        return "int32"
    return "int64" if type_name.startswith("timestamp") else type_name


def _time_dtype(type_name: str) -> str | None:
    if type_name == "date":
        return "datetime64[D]"
    return f"datetime64[{type_name[10:-1]}]" if type_name.startswith("timestamp") else None


def _copied(column: _core.Column) -> numpy.ndarray[Any, Any]:
    """Returns texts, decimals and packed booleans as a new array."""
    import numpy

    texts = column.texts()
    values: list[Any] = texts
    if column.type.startswith("decimal"):
        values = [None if text is None else decimal.Decimal(text) for text in texts]
    elif column.type == "bool":
        flags = numpy.array([text == "true" for text in texts], dtype=bool)
        missing = numpy.array([text is None for text in texts], dtype=bool)
        return numpy.ma.MaskedArray(flags, missing) if missing.any() else flags
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


def matrix_of(columns: list[_core.Column], rows: int) -> numpy.ndarray[Any, Any]:
    """Returns columns as a matrix of their common type, numbers with NULL as NaN, or else one of objects."""
    import numpy

    arrays = [to_numpy(column) for column in columns]
    kinds = {array.dtype.kind for array in arrays}
    has_null = any(numpy.ma.is_masked(array) for array in arrays)
    is_numbers = kinds <= set("biuf") and not (has_null and kinds == {"b"})
    matrix: numpy.ndarray[Any, Any]
    if is_numbers or kinds == {"M"}:
        common = numpy.result_type(*{array.dtype for array in arrays}) if arrays else numpy.dtype("float64")
        if has_null and common.kind != "f":
            common = numpy.dtype("float64")
        matrix = numpy.empty((rows, len(arrays)), dtype=common)
        for place, array in enumerate(arrays):
            given = array.astype(common)
            matrix[:, place] = given.filled(numpy.nan) if isinstance(given, numpy.ma.MaskedArray) else given
        return matrix
    matrix = numpy.empty((rows, len(arrays)), dtype=object)
    for place, column in enumerate(columns):
        matrix[:, place] = to_list(column)
    return matrix

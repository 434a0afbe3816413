"""Columns of Python objects and of times: one type for all values, and no value changed."""

from __future__ import annotations

import datetime
import decimal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core
from .._errors import DataError, required
from .._output.columns import times_in

if TYPE_CHECKING:
    import numpy

_DAY_UNITS = ("Y", "M", "W", "D")
# Units of times, and the unit of the column that has them.
_COLUMN_UNITS = {"h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns", "ps": "ns", "fs": "ns", "as": "ns"}
_FINER_THAN_MICROSECONDS = ("ns", "ps", "fs", "as")


def numbers_of_times(
    name: str, array: numpy.ndarray[Any, Any]
) -> tuple[numpy.ndarray[Any, Any], str, numpy.ndarray[Any, Any]]:
    """Returns days or ticks of datetime64 values, their type, and where they are NaT.

    Raises DataError where the column's type cannot hold a value exactly.
    """
    import numpy

    unit, multiple = numpy.datetime_data(array.dtype)
    unknown = numpy.isnat(array)
    if unit in _DAY_UNITS:
        days = numpy.where(unknown, 0, _in_unit(name, array, "D").view("int64"))
        if len(days) > 0 and not -(2**31) <= days.min() <= days.max() < 2**31:
            raise DataError(f"column '{name}' has dates that 32 bits of days cannot hold")
        return days.astype("int32"), "date", unknown
    if unit == "generic" and not unknown.all():
        raise DataError(f"column '{name}' has times without a unit")
    column_unit = _COLUMN_UNITS.get(unit, "s")
    if (unit, multiple) != (column_unit, 1):
        array = _in_unit(name, array, column_unit)
    return array.view("int64"), f"timestamp[{column_unit}]", unknown


def _in_unit(name: str, array: numpy.ndarray[Any, Any], unit: str) -> numpy.ndarray[Any, Any]:
    """Returns times in another unit; DataError where one would overflow or lose digits."""
    if numpy_unit(array) == "generic":
        return array.astype(f"datetime64[{unit}]")
    converted: numpy.ndarray[Any, Any] | None = times_in(array, unit)
    if converted is None:
        raise DataError(f"column '{name}' has times of the type {array.dtype} that 64 bits in the unit {unit} cannot hold")
    return converted


def numpy_unit(values: Any) -> str:
    """Returns the unit of datetime64 values, such as "ms"."""
    import numpy

    return numpy.datetime_data(values.dtype)[0]


def object_column(
    name: str, values: list[Any], array_column: Callable[[str, numpy.ndarray[Any, Any], str], _core.Column]
) -> _core.Column:
    """Returns a copy of Python objects of one type; None is NULL, and so are NA and NaT of pandas.

    `array_column` makes columns of arrays. Raises DataError for objects of several types.
    """
    import numpy

    values = _with_none(values)
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present):
        # pandas writes a missing text as NaN.
        texts = [None if isinstance(value, (float, numpy.floating)) and value != value else value for value in values]
        if all(value is None or isinstance(value, str) for value in texts):
            return _core.column_of_texts(name, texts)
    array = _array_of_objects(name, present)
    if array is None:
        return _decimal_column(name, values, present)
    zone = _zone_of(present) if array.dtype.kind == "M" else ""
    missing = numpy.array([value is None for value in values], dtype=bool)
    if not missing.any():
        return array_column(name, array, zone)
    filled = numpy.zeros(len(values), dtype=array.dtype)
    filled[~missing] = array
    return array_column(name, numpy.ma.MaskedArray(filled, missing), zone)


def _zone_of(times: list[Any]) -> str:
    """Returns the zone of times, UTC where they have several, and an empty text where one has none."""
    zones = {name_of_zone(getattr(time, "tzinfo", None), time) for time in times}
    if len(zones) == 1:
        return zones.pop()
    return "" if "" in zones else "UTC"


def name_of_zone(zone: datetime.tzinfo | None, time: Any) -> str:
    """Returns the name of a zone, or its offset at a time, as columns name it."""
    if zone is None:
        return ""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # of zoneinfo and pytz
    if isinstance(name, str) and name:
        return name
    if not isinstance(zone, datetime.timezone):
        return "UTC"
    minutes = int(zone.utcoffset(time).total_seconds()) // 60
    sign, size = ("-", -minutes) if minutes < 0 else ("+", minutes)
    return "UTC" if minutes == 0 else f"{sign}{size // 60:02}:{size % 60:02}"


def _with_none(values: list[Any]) -> list[Any]:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return values
    missing, no_time = pandas.NA, pandas.NaT
    return [None if value is missing or value is no_time else value for value in values]


def _array_of_objects(name: str, present: list[Any]) -> numpy.ndarray[Any, Any] | None:
    """Returns booleans, numbers, dates or times as an array of one type, and None for other objects."""
    import numpy

    def are(*types: type) -> bool:
        return all(isinstance(value, types) for value in present)

    if are(bool, numpy.bool_):
        return numpy.array(present, dtype=bool)
    if are(int, numpy.integer):
        wide = max(present) > 2**63 - 1 and min(present) >= 0
        try:
            return numpy.array(present, dtype="uint64" if wide else "int64")
        except OverflowError as error:
            raise DataError(f"column '{name}' has integers beyond 64 bits") from error
    # Floats of more than 64 bits are no type of columns, neither in arrays nor in lists.
    if are(int, float, numpy.integer, numpy.floating) and not any(isinstance(v, numpy.longdouble) for v in present):
        for value in present:
            if isinstance(value, (int, numpy.integer)) and not _is_float64(int(value)):
                raise DataError(f"column '{name}' has floats and the integer {value}, of which float64 cannot hold every digit")
        return numpy.array(present, dtype="float64")
    if are(datetime.date) and not any(isinstance(value, datetime.datetime) for value in present):
        return numpy.array(present, dtype="datetime64[D]")
    if are(datetime.date, numpy.datetime64):
        return _array_of_times(name, present)
    return None


def _is_float64(integer: int) -> bool:
    try:
        return abs(integer) <= 2**53 or int(float(integer)) == integer
    except OverflowError:
        return False


def _array_of_times(name: str, present: list[Any]) -> numpy.ndarray[Any, Any]:
    """Returns times in microseconds, or in nanoseconds if one of them needs these; a date is its midnight."""
    import numpy

    try:
        times = [instant(value) for value in present]
    except OverflowError as error:
        raise DataError(f"column '{name}' has a time before the year 1 or after 9999 in UTC") from error
    fine = any(isinstance(t, numpy.datetime64) and numpy_unit(t) in _FINER_THAN_MICROSECONDS for t in times)
    unit = "ns" if fine else "us"
    for time in times:
        if (fine or isinstance(time, numpy.datetime64)) and times_in(numpy.datetime64(time), unit) is None:
            raise DataError(f"column '{name}' has the time {time}, which 64 bits in the unit {unit} cannot hold")
    return numpy.array(times, dtype=f"datetime64[{unit}]")


def instant(value: Any) -> Any:
    """Returns a time without a zone, in UTC, and other values as they are; OverflowError beyond the years 1 to 9999."""
    if hasattr(value, "to_datetime64"):  # of pandas, whose times have nanoseconds
        return value.to_datetime64()
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value


def _decimal_column(name: str, values: list[Any], present: list[Any]) -> _core.Column:
    """Returns a copy of decimals with as many digits behind the point as the longest has; None is NULL."""
    if not all(isinstance(value, decimal.Decimal) for value in present):
        found = sorted({type(value).__name__ for value in present})
        raise DataError(
            f"column '{name}' has values of the types {', '.join(found)}; a column has texts, numbers, decimals, "
            "booleans, dates or times of one type, or None"
        )
    pyarrow = required("pyarrow", "files", "a column of decimals")
    for value in present:
        if not value.is_finite():
            raise DataError(f"column '{name}' has the decimal {value}; decimals are finite, and a column of floats has others")
    try:
        schema, array = pyarrow.array(values).__arrow_c_array__()
    except pyarrow.ArrowException as error:
        raise DataError(f"column '{name}' has decimals that no column can hold: {error}") from error
    table = _core.table_of_batch(schema, array, name)
    if table.unsupported():
        raise DataError(f"column '{name}' has decimals of more than 38 digits")
    return table.column(0)

"""Values in queries: what Python gives, in the few forms that the extension takes."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from collections.abc import Iterable
from typing import Any

from . import _core
from ._output.columns import times_in
from ._errors import Error, QueryError


def kind_of(value: Any) -> str:
    """Returns the type of a value as messages name it: "a str", "an int"."""
    name = type(value).__name__
    return ("an " if name[0] in "aeiouAEIOU" else "a ") + name


def seconds_of(limit: Any) -> float:
    """Returns a time limit in seconds; QueryError for what is neither a number nor a timedelta."""
    seconds = limit.total_seconds() if hasattr(limit, "total_seconds") else limit
    if not isinstance(seconds, numbers.Real):
        raise QueryError(f"a time limit is a number of seconds or a timedelta, not {kind_of(limit)}")
    try:
        return float(seconds)
    except OverflowError:
        return math.inf


def without_surrogates(text: Any, what: str, error: type[Error] = QueryError) -> str:
    """Returns a text that has a form in UTF-8, and raises `error` for halves of surrogate pairs and for other types."""
    if not isinstance(text, str):
        raise error(f"{what} is a text, not {kind_of(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise error(f"{what} is no Unicode: {text!r} has half of a surrogate pair") from cause
    return text


def plain(value: Any) -> Any:
    """Returns a value as None, bool, int, float, str or a tuple that `_core.to_value` knows.

    Dates, times and decimals of the standard library, times of pandas and scalars of NumPy are taken. A time without a
    zone is UTC. Raises QueryError for other types, and for NaT, as None is NULL in some places and no limit in others.
    """
    if isinstance(value, str):
        return without_surrogates(value, "a text")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    import datetime
    import decimal

    if hasattr(value, "to_datetime64"):  # a time of pandas, which has nanoseconds
        return _plain_scalar(value.to_datetime64())
    epoch = datetime.datetime(1970, 1, 1)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            try:
                value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            except OverflowError as error:
                raise QueryError(f"the time {value} is before the year 1 or after 9999 in UTC") from error
        return ("timestamp", (value - epoch) // datetime.timedelta(microseconds=1), "us")
    if isinstance(value, datetime.date):
        return ("date", value.toordinal() - epoch.toordinal())
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise QueryError(f"the decimal {value} is not finite; use a float")
        return ("decimal", format(value, "f"))
    if type(value).__module__ == "numpy":
        return _plain_scalar(value)
    raise _no_value(value)


def _no_value(value: Any) -> QueryError:
    return QueryError(
        f"a value of the type {type(value).__name__} cannot stand in a query; None, bool, int, float, str, date, "
        "datetime, Decimal and NumPy scalars can"
    )


def _plain_scalar(value: Any) -> Any:
    import numpy

    if isinstance(value, (numpy.timedelta64, numpy.longdouble)):
        raise _no_value(value)
    if not isinstance(value, numpy.datetime64):
        return plain(value.item())
    if numpy.isnat(value):
        raise QueryError("NaT is no time that can stand in a query")
    unit, multiple = numpy.datetime_data(value.dtype)
    if (unit, multiple) == ("D", 1):
        days = int(value.astype("int64"))
        if not -(2**31) <= days < 2**31:
            raise QueryError(f"32 bits of days cannot hold the date {value}")
        return ("date", days)
    if unit not in ("s", "ms", "us", "ns") or multiple != 1:
        unit = unit if unit in ("ms", "us", "ns") else "ns" if unit in ("ps", "fs", "as") else "s"
        given, value = value, times_in(value, unit)
        if value is None:
            raise QueryError(f"64 bits in the unit {unit} cannot hold the time {given}")
    return ("timestamp", int(value.astype("int64")), unit)


def expression(text: str | _core.Expression) -> _core.Expression:
    """Returns the expression that a text stands for; QueryError with line and column where it is malformed."""
    if isinstance(text, _core.Expression):
        return text
    if isinstance(text, str):
        return _core.Expression(without_surrogates(text, "an expression"))
    raise QueryError(f"an expression is a text, such as 'price + 2', not {kind_of(text)}")


def term(text: str | _core.Expression) -> _core.Expression:
    """Returns the column of a name, however it is spelt, or the expression that a text stands for.

    Which of the two it is tells the table; QueryError for what can only be an expression that was cut short.
    """
    if isinstance(text, str):
        return _core.name_or_expression(without_surrogates(text, "an expression"))
    return expression(text)


def as_list(value: Any, kinds: type | tuple[type, ...]) -> list[Any]:
    """Returns one value, of the given types or no iterable at all, as a list of it, and other iterables as lists."""
    return [value] if isinstance(value, kinds) or not isinstance(value, Iterable) else list(value)


def whole_number(word: str, value: Any) -> int | None:
    """Returns a number of rows or levels, or None for no limit; QueryError for other types."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise QueryError(f"'{word}' is a whole number, not {kind_of(value)}") from None
    if abs(number) > sys.maxsize:
        raise QueryError(f"'{word}' is at most {sys.maxsize}, not {number}")
    return number

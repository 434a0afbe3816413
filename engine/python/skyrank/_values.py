"""Values in queries: what Python gives, in the few forms that the extension takes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from . import _core
from ._errors import QueryError


def kind_of(value: Any) -> str:
    """Returns the type of a value as messages name it: "a str", "an int"."""
    name = type(value).__name__
    return ("an " if name[0] in "aeiouAEIOU" else "a ") + name


def seconds_of(limit: Any) -> float:
    """Returns a time limit in seconds; QueryError for what is neither a number nor a timedelta."""
    seconds = limit.total_seconds() if hasattr(limit, "total_seconds") else limit
    if not isinstance(seconds, (int, float)):
        raise QueryError(f"a time limit is a number of seconds or a timedelta, not {kind_of(limit)}")
    return seconds


def plain(value: Any) -> Any:
    """Returns a value as None, bool, int, float, str or a tuple that `_core.to_value` knows.

    Dates, times and decimals of the standard library and scalars of NumPy are taken. A time without a zone is UTC.
    Raises QueryError for other types.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    import datetime
    import decimal

    epoch = datetime.datetime(1970, 1, 1)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return ("timestamp", (value - epoch) // datetime.timedelta(microseconds=1), "us")
    if isinstance(value, datetime.date):
        return ("date", value.toordinal() - epoch.toordinal())
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise QueryError(f"the decimal {value} is not finite; use a float")
        return ("decimal", format(value, "f"))
    if type(value).__module__ == "numpy":
        return _plain_scalar(value)
    raise QueryError(
        f"a value of the type {type(value).__name__} cannot stand in a query; None, bool, int, float, str, date, "
        "datetime, Decimal and NumPy scalars can"
    )


def _plain_scalar(value: Any) -> Any:
    import numpy

    if not isinstance(value, numpy.datetime64):
        return plain(value.item())
    unit = numpy.datetime_data(value.dtype)[0]
    if unit == "D":
        return ("date", int(value.astype("int64")))
    if unit not in ("s", "ms", "us", "ns"):
        value, unit = value.astype("datetime64[s]"), "s"
    return ("timestamp", int(value.astype("int64")), unit)


def expression(text: str | _core.Expression) -> _core.Expression:
    """Returns the expression that a text stands for; QueryError with line and column where it is malformed."""
    if isinstance(text, _core.Expression):
        return text
    if isinstance(text, str):
        return _core.Expression(text)
    raise QueryError(f"an expression is a text, such as 'price + 2', not {kind_of(text)}")


def as_list(value: Any, kinds: type | tuple[type, ...]) -> list[Any]:
    """Returns one value, of the given types or no iterable at all, as a list of it, and other iterables as lists."""
    return [value] if isinstance(value, kinds) or not isinstance(value, Iterable) else list(value)


def whole_number(word: str, value: Any) -> int | None:
    """Returns a number of rows or levels, or None for no limit; QueryError for other types."""
    if value is None:
        return None
    try:
        return operator.index(value)
    except TypeError:
        raise QueryError(f"'{word}' is a whole number, not {kind_of(value)}") from None

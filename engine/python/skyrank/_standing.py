"""Queries whose answers follow their rows."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import _core
from ._engine import Engine, Table, _call, default_engine
from ._errors import QueryError
from ._query import Query, core_of
from ._result import Result
from ._values import kind_of, whole_number
from ._why import row_id


class Changes(NamedTuple):
    """Rows that a call brought into the answer of a standing query and took out of it."""

    entered: list[int]
    """Ids, ascending; of a group the id of its first row."""
    left: list[int]
    """Ids, ascending."""


class StandingQuery:
    """A query over rows that come, change and go, whose answer follows them.

    After every call `answer()` is what `Engine.run` returns over the rows that are there, in the order of their ids, with
    ids as row ids. A call that raises changes nothing. Several threads may use it at once: calls that change rows wait
    for each other, and `answer()` does not wait for them. It ends with the process that made it, and is not for forks.

    >>> query = skyrank.Query().prefer([skyrank.low("price"), skyrank.high("rating")])
    >>> best = skyrank.StandingQuery(query, schema={"price": [90.0], "rating": [4.0]})
    >>> best.insert({"price": [90.0, 120.0], "rating": [4.0, 4.5]})
    Changes(entered=[0, 1], left=[])
    >>> best.insert({"price": [80.0], "rating": [4.2]})
    Changes(entered=[2], left=[0])
    >>> best.answer().rows
    array([1, 2])

    Args:
        query: The query; `ties="any"` is answered as `"first"`.
        schema: Data with the columns that all rows have: a table, or what `skyrank.query` takes but files. Its own rows
            do not count.
        engine: The engine that answers; None stands for `default_engine()`.
        window: Rows that stay. `{"rows": n}`: those whose ids are among the last n that were given. `{"by": column,
            "last": "1h"}`: those whose date or time in a column is later than the greatest of all rows so far minus a
            time, which is a text or a timedelta; rows without a time are out at once.
        append_only: Refuses `erase` and `update`. Without a window it keeps only rows that can still be in the answer.

    Raises:
        QueryError, BindError: As `Engine.run` before it reads data, and for a window that is none.
    """

    __slots__ = ("_core", "_engine")

    def __init__(
        self,
        query: Query,
        schema: Any,
        *,
        engine: Engine | None = None,
        window: Mapping[str, Any] | None = None,
        append_only: bool = False,
    ) -> None:
        self._engine = default_engine() if engine is None else engine
        rows, by, last = _window(window)
        core = self._engine._core
        self._core = _core.StandingQuery(core, core_of(query), _table(schema), rows, by, last, bool(append_only))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        query: Query,
        schema: Any,
        *,
        engine: Engine | None = None,
        window: Mapping[str, Any] | None = None,
        append_only: bool = False,
        timeout: float | datetime.timedelta | None = None,
    ) -> StandingQuery:
        """Loads a query that `save` saved, which goes on with its rows, ids, answer and window.

        Args:
            path: The file.
            query, schema, engine, window, append_only: Those with which the query was made.
            timeout: Seconds, > 0, or a timedelta, after which there is a TimeoutError.

        Raises what the constructor and `insert` raise, DataError where the file is no saved standing query, is damaged,
        is of another version of the format, or is one of another query, schema, window or `append_only`, and
        ResourceError where it cannot be read.
        """
        loaded = cls.__new__(cls)
        loaded._engine = default_engine() if engine is None else engine
        core = loaded._engine._core
        rows, by, last = _window(window)
        loaded._core = _core.StandingQuery.load(
            core, os.fspath(path), core_of(query), _table(schema), rows, by, last, bool(append_only), _call(timeout)
        )
        return loaded

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the query to a file, which is replaced as a whole, or stays as it was where this raises.

        The file is for this version of its format alone. Calls that change rows wait for it.

        Raises:
            ResourceError: The file cannot be written.
        """
        self._core.save(os.fspath(path))

    def insert(self, rows: Any, *, timeout: float | datetime.timedelta | None = None) -> Changes:
        """Adds rows, which get the next ids. Their values are copied.

        Args:
            rows: A table, or what `skyrank.query` takes but files, with the columns of the schema.
            timeout: Seconds, > 0, or a timedelta, after which there is a TimeoutError.

        Raises what `Engine.run` raises, and BindError where the columns are not those of the schema, in any order.
        """
        return Changes(*self._core.insert(_table(rows), _call(timeout)))

    def erase(self, ids: Iterable[int], *, timeout: float | datetime.timedelta | None = None) -> Changes:
        """Removes rows.

        Raises what `Engine.run` raises, DataError where no row has one of the ids, or an id comes twice, and QueryError
        under `append_only`.
        """
        return Changes(*self._core.erase(_ids(ids), _call(timeout)))

    def update(self, ids: Iterable[int], rows: Any, *, timeout: float | datetime.timedelta | None = None) -> Changes:
        """Gives rows new values, one row of `rows` for each id; they keep their ids.

        Raises what `insert` and `erase` raise, and DataError where there are more or fewer rows than ids.
        """
        return Changes(*self._core.update(_ids(ids), _table(rows), _call(timeout)))

    def answer(self) -> Result:
        """Returns the answer over the rows that are there. It stays as it is when rows change."""
        return Result(self._core.answer())

    @property
    def next_id(self) -> int:
        """The id that the next row gets: the number of rows inserted so far."""
        return self._core.next_id()

    def __len__(self) -> int:
        """Number of rows that are kept."""
        return self._core.num_rows()

    def explain(self) -> str:
        """Returns how the answer follows its rows, above the plan of the last answer, as a tree for a terminal."""
        return self._core.explain()

    def __repr__(self) -> str:
        return f"StandingQuery({len(self)} rows; {len(self._core.answer())} in the answer)"


def _table(data: Any) -> _core.Table:
    return Table(data)._core_data


def _ids(ids: Iterable[int]) -> list[int]:
    return [row_id(one) for one in ids]


def _window(window: Mapping[str, Any] | None) -> tuple[int | None, str | None, str]:
    """Returns the number of rows, the column of times and the length of a window; QueryError for what is none."""
    if window is None:
        return None, None, ""
    known = isinstance(window, Mapping) and set(window) in ({"rows"}, {"by", "last"})
    if not known:
        raise QueryError(f"a window is {{'rows': n}} or {{'by': column, 'last': time}}, not {window!r}")
    if "rows" in window:
        return whole_number("rows", window["rows"]), None, ""
    by, last = window["by"], window["last"]
    if isinstance(last, datetime.timedelta):
        last = f"{last // datetime.timedelta(microseconds=1)}us"
    for word, text in (("by", by), ("last", last)):
        if not isinstance(text, str):
            raise QueryError(f"'{word}' of a window is a text, not {kind_of(text)}")
    return None, by, last

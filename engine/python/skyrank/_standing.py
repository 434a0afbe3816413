"""Queries whose answers follow their rows, and archives of optimisers."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._arrays.indicators import hypervolume, points_of, reference_of, values_of
from ._engine import Engine, Table, _call, default_engine
from ._errors import QueryError
from ._query import Query, core_of
from ._result import Result
from ._values import kind_of, plain, whole_number
from ._why import row_id

if TYPE_CHECKING:
    import numpy


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
        """Returns the answer over the rows that are there. It stays as it is when rows change.

        That of a skyline without a ranking or a limit is made when it is asked for. Raises ResourceError where memory does
        not suffice for it.
        """
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


class Archive:
    """Keeps the points that no other point dominates, as they come: the archive of an optimiser.

    >>> archive = skyrank.Archive()
    >>> archive.add((1.0, 4.0)), archive.add((2.0, 5.0)), archive.add((0.0, 4.0))
    (True, False, True)
    >>> archive.add([[3, 1], [5, 0], [4, 1]])
    array([ True,  True, False])
    >>> archive.points
    array([[0., 4.],
           [3., 1.],
           [5., 0.]])
    >>> archive.ids
    array([2, 3, 4])

    Values are float64; NaN is the worst one. Of equal points the first stays. With a `step` points are compared by boxes, of
    which each has one point: the first, unless one dominates it by its values. One thread at a time may use an archive.

    Args:
        low: Objectives whose smaller values are better, by index. Without `low` and `high` these are all.
        high: Objectives whose larger values are better. Each objective is in one of both.
        step: Boxes within which values are equal, as in `skyrank.low`: a number or a ratio such as "10%", for all objectives
            or one for each, where None is none.
        capacity: The greatest number of points. One leaves where there are more.
        by: Which one: "crowding", that of the least crowding distance (see `skyrank.crowding`), or "contribution", that of
            the least hypervolume contribution; of several the last that came. NaN counts as infinite for crowding.
        reference: For "contribution", a value for each objective, or one for all. Values of points must be finite.

    Raises:
        QueryError: The arguments are not as above.
    """

    __slots__ = ("_add", "_core", "_maximise")

    def __init__(
        self,
        low: int | Iterable[int] | None = None,
        high: int | Iterable[int] | None = None,
        *,
        step: Any = None,
        capacity: int | None = None,
        by: str = "crowding",
        reference: Any = None,
    ) -> None:
        self._maximise = _directions(low, high)
        size = whole_number("capacity", capacity)
        if size is not None and size < 1:
            raise QueryError(f"an archive has a capacity of 1 or more points, not {size}")
        if by not in ("crowding", "contribution"):
            raise QueryError(f"`by` is 'crowding' or 'contribution', not {by!r}")
        if (reference is not None) != (by == "contribution"):
            raise QueryError("`by='contribution'` needs a reference, and a reference needs it")
        steps = step if isinstance(step, (list, tuple)) else [] if step is None else [step]
        limits = [] if reference is None else reference_of(reference)
        self._core = _core.Archive(self._maximise, [plain(one) for one in steps], size or 0, limits)
        self._add = self._core.add

    def add(self, points: Any) -> Any:
        """Adds a point, or points one after the other. Each gets the next id. The first say how many objectives there are.

        Args:
            points: A tuple, list or vector of values; or an array or lists of shape (points, objectives), and whatever NumPy
                reads as one.

        Returns:
            For one point True or False: whether it is kept. For several a mask of bool of those that are there after all of
            them.

        Raises:
            DataError: The points have another number of objectives than those before, or values that are not allowed. Then
                none is added.
            ResourceError: There is not enough memory.
        """
        kept = self._add(points)
        if kept is None:
            array = values_of(points, "points")
            kept = self._add(array.astype("float64") if array.ndim == 1 else points_of(points))
        return kept

    @property
    def points(self) -> numpy.ndarray[Any, Any]:
        """The points that are kept, in the order of their ids: float64 of shape (points, objectives)."""
        found: numpy.ndarray[Any, Any] = self._core.points()
        return found

    @property
    def ids(self) -> numpy.ndarray[Any, Any]:
        """The ids of the points that are kept, ascending: a point's id is the number of those that were added before."""
        found: numpy.ndarray[Any, Any] = self._core.ids().view("int64")
        return found

    @property
    def next_id(self) -> int:
        """The id that the next point gets: the number of points added so far."""
        return self._core.next_id()

    def hypervolume(self, reference: Any) -> float:
        """Returns the volume that the points dominate up to a reference point; see `skyrank.hypervolume`."""
        if self._core.objectives() == 0:
            return 0.0
        return hypervolume(self.points, reference, maximise=self._maximise or False)

    def __len__(self) -> int:
        """Number of points that are kept."""
        return self._core.size()

    def __repr__(self) -> str:
        return f"Archive({len(self)} points of {self._core.objectives()} objectives)"


def _directions(low: Any, high: Any) -> list[bool]:
    """Returns, for each objective, whether larger values are better; an empty list for objectives of any number."""
    if low is None and high is None:
        return []
    flags: dict[int, bool] = {}
    for columns, is_high in ((low, False), (high, True)):
        given = () if columns is None else (columns,) if hasattr(columns, "__index__") else tuple(columns)
        for column in given:
            if not hasattr(column, "__index__"):
                raise QueryError(f"an objective is named by its index, a whole number, not by {kind_of(column)}")
            if flags.setdefault(column.__index__(), is_high) != is_high:
                raise QueryError(f"objective {column} is `low` and `high`")
    if sorted(flags) != list(range(len(flags))):
        raise QueryError(f"`low` and `high` name the objectives from 0 on without a gap, not {sorted(flags)}")
    return [flags[column] for column in range(len(flags))]

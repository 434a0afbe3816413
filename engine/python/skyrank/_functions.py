"""The functions of the package: one call for one question."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._engine import Files, Partial, default_engine
from ._errors import BindError, QueryError
from ._input import Asked, narrowable, table_of_frame, to_data
from ._input.arrays import is_plain_array
from ._preferences import Text, high, low, preferences, ranking
from ._preferences import feasible as _with_feasible
from ._query import Keys, Query, core_of
from ._result import Result
from ._values import as_list, without_surrogates
from ._why import Why

if TYPE_CHECKING:
    import datetime

    import numpy

Column = Union[Text, int]
"""Name of a column, text of an expression, or the index of a column of an array."""


class Taken:
    """Data that are taken once, for the several looks that a function has at them.

    Columns of a frame are taken by the first query that runs over them, and then only those that it reads.
    """

    def __init__(self, data: Any, columns: Sequence[str] | None) -> None:
        core = getattr(data, "_core_data", None)
        self._frame = narrowable(data, columns) if core is None else None
        self._core_data: _core.Table | _core.Source | None = None
        if self._frame is None:
            self._core_data = to_data(data, columns)
        self._names: list[str] | None = None

    def data(self) -> Any:
        """Returns the data as `Engine.run` takes them."""
        return self if self._frame is None else self._frame

    def num_rows(self, asked: Query) -> int:
        """Returns the number of rows, after it took what the query reads."""
        if self._frame is not None:
            self._core_data = table_of_frame(self._frame, Asked(default_engine()._core, core_of(asked)))
            self._frame = None
        assert self._core_data is not None
        return len(self._core_data)

    def whole(self) -> Taken:
        """Takes all columns, for several queries."""
        if self._frame is not None:
            self._core_data = table_of_frame(self._frame)
            self._frame = None
        return self

    def names(self) -> list[str]:
        """Returns the names of the columns that SkyRank reads."""
        if self._names is None:
            data = self.whole()._core_data
            assert data is not None
            self._names = (data if isinstance(data, _core.Table) else data.schema()).names()
        return self._names

    def leave_out(self, name: str) -> None:
        """Has `names`, and so indices and the columns that stand for none, pass over a column."""
        self._names = [other for other in self.names() if other != name]

    def expressions(self, columns: Column | Iterable[Column] | None) -> list[Text]:
        if columns is None:
            return []
        return [self._column(column) for column in as_list(columns, (str, int, _core.Expression))]

    def terms(self, columns: Column | Iterable[Column] | None, make: Any) -> list[_core.Preference]:
        return [make(text) for text in self.expressions(columns)]

    def _column(self, given: Any) -> Text:
        """Returns the column of a name, however it is spelt, or of an index, which may be an integer of NumPy."""
        if isinstance(given, _core.Expression):
            return given
        if isinstance(given, str):
            is_odd = not given.isidentifier() and self._has(given)
            return _core.Expression.column(given) if is_odd else given
        try:
            index = operator.index(given)
        except TypeError:
            return given  # type: ignore[no-any-return]  # refused as an expression
        return _core.Expression.column(self._name(index))

    def _has(self, name: str) -> bool:
        return name in (self.names() if self._frame is None else self._frame.names)

    def _name(self, index: int) -> str:
        names = self.names()
        if not -len(names) <= index < len(names):
            raise QueryError(f"there is no column {index}; the data have {len(names)} columns")
        return names[index]


def _preference(
    data: Taken,
    low_columns: Column | Iterable[Column] | None,
    high_columns: Column | Iterable[Column] | None,
    by: _core.Preference | Iterable[_core.Preference] | None,
) -> _core.Preference:
    terms = data.terms(low_columns, low) + data.terms(high_columns, high)
    if by is not None:
        terms += preferences(by)
    if low_columns is None and high_columns is None and by is None:
        terms = data.terms(range(len(data.names())), low)
    if not terms:
        raise QueryError("there is no preference; name columns in `low` or `high`, or terms in `by`")
    return terms[0] if len(terms) == 1 else _core.pareto(terms)


def _ranking(
    data: Taken,
    low_columns: Column | Iterable[Column] | None,
    high_columns: Column | Iterable[Column] | None,
    by: Text | _core.Preference | Iterable[Text | _core.Preference] | None,
) -> list[_core.Preference]:
    if len([given for given in (by, low_columns, high_columns) if given is not None]) != 1:
        raise QueryError(
            "a ranking takes one of `by`, `low` and `high`; terms of both directions stand in `by`, such as "
            "[low('price'), high('rating')]"
        )
    return ranking(by) if by is not None else data.terms(low_columns, low) + data.terms(high_columns, high)


def skyline_query(
    taken: Taken,
    low: Column | Iterable[Column] | None,
    high: Column | Iterable[Column] | None,
    by: _core.Preference | Iterable[_core.Preference] | None,
    where: Text | None,
    levels: int | None,
    distinct: bool,
    feasible: Text | None,
    violation: Text | Iterable[Text] | None,
    partition_by: Keys | None,
) -> Query:
    """Returns the query that the arguments of `skyline` stand for."""
    preference = _preference(taken, low, high, by)
    if feasible is not None:
        preference = _with_feasible(feasible, preference, () if violation is None else violation)
    elif violation is not None:
        raise QueryError("`violation` needs `feasible`")
    asked = Query().where(where).prefer(preference).levels(levels).distinct(distinct)
    return asked if partition_by is None else asked.partition_by(partition_by)


def top_k_query(
    taken: Taken,
    k: int,
    by: Text | _core.Preference | Iterable[Text | _core.Preference] | None,
    ties: str,
    low: Column | Iterable[Column] | None,
    high: Column | Iterable[Column] | None,
    where: Text | None,
    partition_by: Keys | None,
) -> Query:
    """Returns the query that the arguments of `top_k` stand for."""
    asked = Query().where(where).rank_by(_ranking(taken, low, high, by)).limit(k).ties(ties)
    return asked if partition_by is None else asked.partition_by(partition_by)


def skyline(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    by: _core.Preference | Iterable[_core.Preference] | None = None,
    where: Text | None = None,
    levels: int | None = None,
    distinct: bool = False,
    *,
    feasible: Text | None = None,
    violation: Text | Iterable[Text] | None = None,
    partition_by: Keys | None = None,
    columns: Sequence[str] | None = None,
) -> Result:
    """Returns the rows that no other row beats: better or equal in all preferences, and better in one.

    >>> points = numpy.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0]])
    >>> skyline(points).rows
    array([0, 1])

    Args:
        data: What `query` takes. Arrays that can be viewed are not copied.
        low: Columns, by name, expression or index, whose smaller values are better.
        high: Columns whose larger values are better. Without `low`, `high` and `by`, all columns are `low`.
        by: Further terms of the Pareto order, such as ``around("distance", 1.5)``.
        where: A condition; only rows for which it is true take part.
        levels: Keeps the first Pareto levels instead of the skyline alone; >= 1.
        distinct: Keeps only the first of the rows that are equal in all preferences.
        feasible: A condition; rows for which it is true come before all others. See `skyrank.feasible`.
        violation: Expressions that order the others, low first; needs `feasible`.
        partition_by: Answers within each partition.
        columns: Names of the columns of an array; c0, c1, ... unless given.

    Returns:
        The rows in the order of their ids; partition by partition if there are partitions.

    Raises:
        QueryError, BindError, DataError, ResourceError.
    """
    words = (low, high, by, where, levels, feasible, violation, partition_by, columns)
    if not distinct and is_plain_array(data) and all(word is None for word in words):
        answer = _core.small_skyline(data)
        if answer is not None:
            return Result(answer)
    taken = Taken(data, columns)
    asked = skyline_query(taken, low, high, by, where, levels, distinct, feasible, violation, partition_by)
    return default_engine().run(asked, taken.data())


def top_k(
    data: Any,
    k: int,
    by: Text | _core.Preference | Iterable[Text | _core.Preference] | None = None,
    ties: str = "first",
    *,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    where: Text | None = None,
    partition_by: Keys | None = None,
    columns: Sequence[str] | None = None,
) -> Result:
    """Returns the k rows that rank highest, best first.

    >>> top_k({"price": [3, 1, 2]}, 2, low="price").rows
    array([1, 2])

    Args:
        data: What `query` takes.
        k: Number of rows, >= 0; of each partition if there are partitions.
        by: Terms of the ranking: ``low("price")``, ``high("rating")``; a text stands for `high`. A later term decides
            where the earlier ones find rows equal.
        low: Instead of `by`: columns, by name, expression or index, whose smaller values rank higher.
        high: Instead of `by`: columns whose larger values rank higher.
        ties: Rows that tie with the k-th: "first" keeps the lowest row ids, "last" the highest, "all" every one, "any"
            whichever is fastest.
        where: A condition; only rows for which it is true take part.
        partition_by: Answers within each partition.
        columns: Names of the columns of an array; c0, c1, ... unless given.

    Raises:
        QueryError, BindError, DataError, ResourceError.
    """
    taken = Taken(data, columns)
    asked = top_k_query(taken, k, by, ties, low, high, where, partition_by)
    return default_engine().run(asked, taken.data())


def rank(
    data: Any,
    low: Column | Iterable[Column] | None = None,
    high: Column | Iterable[Column] | None = None,
    by: _core.Preference | Iterable[_core.Preference] | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> numpy.ndarray[Any, Any]:
    """Returns the Pareto rank of each row: 0 for the skyline, 1 for the skyline of the rest, and so on.

    These are the ranks of non-dominated sorting, as moocore.pareto_rank and pymoo's NonDominatedSorting give them.

    >>> rank(numpy.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0]]))
    array([0, 0, 1], dtype=int32)

    Args:
        data, low, high, by, columns: As for `skyline`.

    Returns:
        int32 of shape (rows,), in the order of the input.

    Raises:
        QueryError, BindError, DataError, ResourceError.
    """
    if low is None and high is None and by is None and columns is None and is_plain_array(data):
        ranks: numpy.ndarray[Any, Any] | None = _core.small_ranks(data)
        if ranks is not None:
            return ranks
    taken = Taken(data, columns)
    asked = Query().prefer(_preference(taken, low, high, by)).select("row()")
    every = asked.at_least(taken.num_rows(asked))
    levels = default_engine().run(every, taken.data()).levels
    assert levels is not None
    return levels - 1


def query(data: Any, question: Query, *, timeout: float | datetime.timedelta | None = None) -> Result:
    """Runs a query.

    Args:
        data: One of
            - a DataFrame of Polars or pandas, a LazyFrame, which is collected, a Dataset of pyarrow, a relation of
              DuckDB, a table or a scan of PyIceberg, a DeltaTable: only the columns that the query reads are taken;
            - an object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables, batches and readers of pyarrow, a
              Result; or with ``__dataframe__``, which needs pyarrow;
            - a NumPy array of shape (rows, columns), whose columns are c0, c1, ..., or a structured array;
            - a dict of arrays, lists or Arrow columns of one length, or a list of dicts, one for each row;
            - a tensor with ``__dlpack__`` of shape (rows, columns) or (rows,), on the CPU or on a GPU, where it stays;
            - an object with ``__arrow_c_device_array__``, whose columns stay on their GPU;
            - a Table, or Files;
            - paths or globs of Parquet, Arrow, CSV and TSV files (see Files).
        question: The query.
        timeout: Seconds, > 0, or a timedelta, after which there is a TimeoutError.

    Raises:
        QueryError, BindError, DataError, DeviceError, ResourceError, TimeoutError.
    """
    return default_engine().run(question, data, timeout=timeout)


def sql(text: str, /, **tables: Any) -> Result:
    """Answers one statement of SkyRank's SQL over tables that are given by name, or over files.

    >>> offers = {"price": [3, 1, 2], "rating": [5, 3, 3]}
    >>> sql("SELECT price, rating FROM offers PREFERRING LOW price PLUS HIGH rating", offers=offers).to_dict()
    {'price': [3, 1], 'rating': [5, 3]}

    Args:
        text: The statement. ``FROM name`` stands for the argument of this name, ``FROM 'file'`` for a file, a pattern
            of files or a folder.
        tables: Data by name, each what `query` takes.

    Raises:
        QueryError: The statement is malformed; with line and column, as for all errors about the text.
        BindError: The table or a column does not exist.
        DataError, DeviceError, ResourceError, TimeoutError.
    """
    statement, line, column = _core.parse_sql(without_surrogates(text, "a statement"))
    name = statement.table_name()
    if name in tables:
        return default_engine().run(Query._of(statement), tables[name])
    if not any(character in name for character in "./*?[") and not os.path.exists(name):
        raise BindError(_unknown_table(name, list(tables)), "sql", line, column)
    return default_engine().run(Query._of(statement), Files(name))


def _unknown_table(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"there is no table '{name}'; did you mean '{near[0]}'?"
    given = f"the tables are {', '.join(known)}" if known else "no table is given"
    return f"there is no table '{name}'; {given}. Give it as an argument, {name}=..., or name a file in quotes"


def explain(data: Any, question: Query, *, candidates: bool = False) -> str:
    """Returns the plan of a query over `data`, without running it, as a tree for a terminal.

    With `candidates` it also shows what each choice by price was made from; see `Engine.explain`.
    """
    return default_engine().explain(question, data, candidates=candidates)


def why(data: Any, row: int, question: Query, *, timeout: float | datetime.timedelta | None = None) -> Why:
    """Tells why a row of `data` is not in the answer of a query, and what would let it in.

    >>> hotels = {"price": [120, 80, 130], "rating": [4.5, 3.9, 4.5]}
    >>> reason = why(hotels, 2, Query().prefer([low("price"), high("rating")]))
    >>> reason.stage, reason.num_dominators, reason.changes[0].change
    ('dominated', 1, 'price <= 120')

    Args:
        data: A table, or what `query` takes; files are read as a whole.
        row: Position of the row in the data, from 0.
        question: The query.
        timeout: Seconds, > 0, or a timedelta, after which there is a TimeoutError.

    Raises:
        BindError: The data have no such row, or the query has a part that is not supported: `group_by`, partitions by
            expressions, ``nan="best"``, ``ties="any"``.
        QueryError, DataError, ResourceError, TimeoutError.
    """
    return default_engine().why(question, data, row, timeout=timeout)


def partial(question: Query, part: Any, first_row: int) -> Partial:
    """Answers a query over a part of a table that begins at `first_row`; see `Engine.partial`."""
    return default_engine().partial(question, part, first_row)


def merge(question: Query, partials: Iterable[Partial]) -> Result:
    """Answers a query from partial answers of it; see `Engine.merge`."""
    return default_engine().merge(question, partials)

"""The methods that frames of pandas and Polars get, as `frame.skyrank`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from ._engine import default_engine
from ._errors import BindError, QueryError
from ._functions import Column, Taken, skyline_query, top_k_query
from ._functions import rank as _rank
from ._functions import why as _why
from ._preferences import Text, low
from ._query import Keys, Query, core_of
from ._result import Result
from ._values import without_surrogates
from ._why import Why

if TYPE_CHECKING:
    import datetime

_OWN_NAME = "self"


class Accessor:
    """Queries over one frame, whose answers are frames of its kind.

    Rows of an answer are rows of the frame with all their columns, types and labels, whether SkyRank reads these or not.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def skyline(
        self,
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
    ) -> Any:
        """Returns the rows that no other row beats, in their order. Takes and raises what `skyrank.skyline` does."""
        taken = Taken(self._frame, None)
        asked = skyline_query(taken, low, high, by, where, levels, distinct, feasible, violation, partition_by)
        return self._rows(asked, None)

    def top_k(
        self,
        k: int,
        by: Text | _core.Preference | Iterable[Text | _core.Preference] | None = None,
        ties: str = "first",
        *,
        low: Column | Iterable[Column] | None = None,
        high: Column | Iterable[Column] | None = None,
        where: Text | None = None,
        partition_by: Keys | None = None,
    ) -> Any:
        """Returns the k rows that rank highest, best first. Takes and raises what `skyrank.top_k` does."""
        taken = Taken(self._frame, None)
        return self._rows(top_k_query(taken, k, by, ties, low, high, where, partition_by), None)

    def rank(
        self,
        low: Column | Iterable[Column] | None = None,
        high: Column | Iterable[Column] | None = None,
        by: _core.Preference | Iterable[_core.Preference] | None = None,
    ) -> Any:
        """Returns the Pareto rank of each row from 0, as a Series. Takes and raises what `skyrank.rank` does."""
        return self._series(_rank(self._frame, low, high, by), "rank")

    def query(self, question: Query, *, timeout: float | datetime.timedelta | None = None) -> Any:
        """Runs a query, and returns rows of the frame, or the columns that the query selects.

        Without `select` and `group_by` the answer has rows of the frame; where expressions of `partition_by` have names,
        it has the columns that `skyrank.query` gives. Takes and raises what that does.
        """
        core = core_of(question)
        selects, groups = _selects(core), _groups(core)
        if not (selects or groups or core.has_partitions()):
            return self._rows(question, timeout)
        whole = self if selects or groups else self._whole(question)
        result = default_engine().run(question, whole._frame, timeout=timeout)
        if selects:
            return self._answer(result, not groups)
        columns = result.columns[1:]  # after the row ids
        if groups or not set(columns) <= {str(name) for name in whole._frame.columns}:
            return whole._answer(result.select(columns), not groups)
        return whole._gathered(result.rows)

    def sql(self, text: str) -> Any:
        """Answers a statement over the frame, which it calls ``self``: "SELECT * FROM self ORDER BY price LIMIT 3".

        Raises BindError where it names another table, and otherwise what `skyrank.sql` raises.
        """
        statement, line, column = _core.parse_sql(without_surrogates(text, "a statement"))
        name = statement.table_name()
        if name != _OWN_NAME:
            message = f"there is no table '{name}'; the frame is called {_OWN_NAME}, and skyrank.sql takes other tables"
            raise BindError(message, "sql", line, column)
        return self.query(Query._of(statement))

    def why(
        self,
        row: int,
        question: Query | None = None,
        *,
        low: Column | Iterable[Column] | None = None,
        high: Column | Iterable[Column] | None = None,
        by: _core.Preference | Iterable[_core.Preference] | None = None,
        where: Text | None = None,
    ) -> Why:
        """Tells why a row is not in the answer of a query, or in the skyline of `low`, `high`, `by` and `where`.

        `row` is its position from 0, as of `iloc`. Raises what `skyrank.why` raises.
        """
        words = (low, high, by, where)
        if question is not None:
            if any(word is not None for word in words):
                raise QueryError("`why` takes a question, or the words of a skyline, not both")
            asked = question
        else:
            asked = skyline_query(Taken(self._frame, None), low, high, by, where, None, False, None, None, None)
        is_narrow = _selects(core_of(asked)) or _groups(core_of(asked))
        return _why(self._frame, row, asked if is_narrow else asked.select("row()"))

    def _rows(self, question: Query, timeout: float | datetime.timedelta | None) -> Any:
        """Returns the rows of the frame that a query keeps, in the order of its answer."""
        whole = self._whole(question)
        found = default_engine().run(question.select("row()"), whole._frame, timeout=timeout)
        return whole._gathered(found.rows)

    def _whole(self, question: Query) -> Accessor:
        """Returns the accessor of the frame with all its columns in memory, for a query."""
        return self

    def _gathered(self, rows: Any) -> Any:
        """Returns rows of the frame by their positions."""
        raise NotImplementedError

    def _answer(self, result: Result, are_rows: bool) -> Any:
        """Returns the columns of an answer as a frame; `are_rows` says that its rows are those of the frame, not groups."""
        raise NotImplementedError

    def _series(self, values: Any, name: str) -> Any:
        """Returns a value for each row of the frame."""
        raise NotImplementedError


def _selects(question: _core.Query) -> bool:
    """Returns true if a query names the columns of its answer."""
    without: Any = question.copy()
    without.select([])
    return bool(without != question)


def _groups(question: _core.Query) -> bool:
    """Returns true if rows of an answer are groups of rows."""
    compared: Any = question.compared()
    compared.where(None)
    compared.rank_by([low("0")])  # as a statement needs one
    return "\nGROUP BY " in _core.to_sql(compared)

"""Queries as methods of frames of Polars. Importing the module gives every DataFrame and LazyFrame `skyrank`.

>>> import polars, skyrank.polars                                                     # doctest: +SKIP
>>> frame = polars.DataFrame({"price": [120, 80, 95], "rating": [4.5, 3.9, 3.7]})     # doctest: +SKIP
>>> frame.skyrank.skyline(low="price", high="rating").rows()                          # doctest: +SKIP
[(120, 4.5), (80, 3.9)]

Answers are DataFrames, those of a LazyFrame too: a query needs all rows, so it collects the frame, after it has checked
the query. That way Ctrl-C and time limits work, and errors are SkyRank's; `answer.lazy()` goes on.
"""

from __future__ import annotations

from typing import Any

from ._accessor import Accessor
from ._engine import default_engine
from ._errors import required
from ._query import Query
from ._result import Result

_polars = required("polars", "polars", "skyrank.polars")

__all__ = ["LazyAccessor", "PolarsAccessor"]


class PolarsAccessor(Accessor):
    """`frame.skyrank` of a DataFrame of Polars."""

    def _gathered(self, rows: Any) -> Any:
        return self._frame[_polars.Series(rows)]

    def _answer(self, result: Result, are_rows: bool) -> Any:
        return result.to_polars()

    def _series(self, values: Any, name: str) -> Any:
        return _polars.Series(name, values)


class LazyAccessor(PolarsAccessor):
    """`frame.skyrank` of a LazyFrame of Polars. Where an answer is no rows of it, only the columns read are collected."""

    def _whole(self, question: Query) -> Accessor:
        default_engine().check(question, self._frame)
        return PolarsAccessor(self._frame.collect())


_polars.api.register_dataframe_namespace("skyrank")(PolarsAccessor)
_polars.api.register_lazyframe_namespace("skyrank")(LazyAccessor)

"""Queries as methods of DataFrames of pandas. Importing the module gives every DataFrame `skyrank`.

>>> import pandas, skyrank.pandas                                                     # doctest: +SKIP
>>> frame = pandas.DataFrame({"price": [120, 80, 95], "rating": [4.5, 3.9, 3.7]}, index=["A", "B", "C"])  # doctest: +SKIP
>>> frame.skyrank.skyline(low="price", high="rating")                                 # doctest: +SKIP
   price  rating
A    120     4.5
B     80     3.9

Answers keep the labels of their rows; groups get new ones.
"""

from __future__ import annotations

from typing import Any

from ._accessor import Accessor
from ._errors import required
from ._result import Result

_pandas = required("pandas", "pandas", "skyrank.pandas")

__all__ = ["PandasAccessor"]


class PandasAccessor(Accessor):
    """`frame.skyrank` of a DataFrame of pandas."""

    def _gathered(self, rows: Any) -> Any:
        return self._frame.iloc[rows]

    def _answer(self, result: Result, are_rows: bool) -> Any:
        answer = result.to_pandas()
        return answer.set_axis(self._frame.index[result.rows], axis=0) if are_rows else answer

    def _series(self, values: Any, name: str) -> Any:
        return _pandas.Series(values, index=self._frame.index, name=name)


_pandas.api.extensions.register_dataframe_accessor("skyrank")(PandasAccessor)

"""Columns of DataFrames of pandas, by pyarrow where it is installed, otherwise by NumPy."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .. import _core
from .._errors import DataError, ResourceError
from .arrays import array_column
from .arrow import EXPORT_ERRORS
from .objects import name_of_zone, object_column


def frame_of_series(data: Any, name: str = "") -> Any:
    """Returns a Series, an Index or an array of pandas as a DataFrame of one column, and None for other data.

    Without `name` the column has that of the Series, or c0 where it has none.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(data, pandas.api.extensions.ExtensionArray):
        data = pandas.Series(data)
    if not isinstance(data, (pandas.Series, pandas.Index)):
        return None
    own = data.name if isinstance(data.name, str) and data.name else "c0"
    return pandas.DataFrame({name or own: pandas.Series(data).reset_index(drop=True)})


class PandasColumns:
    """The columns of a DataFrame, by the texts of their names.

    A named level of an index is a column too, unless it is a range, as pyarrow has it. A missing value is NULL, and so
    is NaN in the columns of NumPy's types, as pandas does not tell these apart.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._given = [str(name) for name in frame.columns]
        self.names = [*self._given, *self._levels()]

    def take(self, names: list[str]) -> Any:
        """Returns columns as a table of pyarrow or of the engine. Raises DataError where one holds mixed objects."""
        repeated = {name for name in self.names if self.names.count(name) > 1} if len(set(self.names)) < len(self.names) else ()
        if repeated:
            raise DataError(f"the DataFrame has several columns of the name '{min(repeated)}'; columns have names of their own")
        own = [name for name in names if name in self._given]
        levels = [name for name in names if name not in self._given]
        frame = self._frame.iloc[:, [self._given.index(name) for name in own]].set_axis(own, axis=1)
        try:
            pyarrow = importlib.import_module("pyarrow")
        except ImportError:
            return _core_table(frame, names, levels)
        try:
            table = pyarrow.Table.from_pandas(frame, preserve_index=None if levels else False)
        except EXPORT_ERRORS as error:
            reason = "; ".join(str(part) for part in error.args)
            raise DataError(f"the DataFrame cannot be read through pyarrow: {reason}") from error
        return table.select(names)

    def _levels(self) -> list[str]:
        index = self._frame.index
        if type(index).__name__ == "RangeIndex":
            return []
        return [str(name) for name in index.names if name is not None and str(name) not in self._given]


def _core_table(frame: Any, names: list[str], levels: list[str]) -> _core.Table:
    """Returns the columns of a DataFrame by NumPy; those of types that SkyRank lacks are left out, as of Arrow."""
    series = {name: frame.iloc[:, place] for place, name in enumerate(frame.columns)}
    series |= {name: frame.index.get_level_values(name).to_series() for name in levels}
    unread = [name for name in names if _is_unread(series[name])]
    if unread == names:
        found = ", ".join(f"column '{name}' has {series[name].dtype}" for name in names) or "it has no columns"
        raise DataError(f"the DataFrame has no column of a type that SkyRank reads: {found}")
    left_out = [(name, f"the pandas type {series[name].dtype}", "") for name in unread]
    return _core.table_of_columns([_column(name, series[name]) for name in names if name not in unread], [], left_out)


def _is_unread(series: Any) -> bool:
    """Returns true for a column of a type that no column of SkyRank has: times since others, and lists among objects."""
    if series.dtype.kind in "cmV":
        return True
    import numpy

    return series.dtype == object and any(isinstance(value, (list, tuple, dict, numpy.ndarray)) for value in series)


def _column(name: str, series: Any) -> _core.Column:
    import numpy
    import pandas

    kind = series.dtype
    missing = series.isna().to_numpy(dtype=bool)
    zone = ""
    if isinstance(kind, pandas.CategoricalDtype):
        if kind.ordered:
            raise ResourceError(f"column '{name}' has ordered categories, which need pyarrow: pip install 'skyrank[files]'")
        series = series.astype(object)
    elif isinstance(kind, pandas.DatetimeTZDtype):
        zone = name_of_zone(kind.tz, None)
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    elif hasattr(kind, "numpy_dtype") and kind.kind in "iufb":  # Int64 and others, with masks
        series = pandas.Series(series.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0)))
    if isinstance(series.dtype, numpy.dtype) and series.dtype.kind in "iufbM":
        array = series.to_numpy()
        return array_column(name, numpy.ma.MaskedArray(array, missing) if missing.any() else array, zone)
    objects = [None if absent else value for value, absent in zip(series.astype(object).tolist(), missing.tolist())]
    return object_column(name, objects, array_column)

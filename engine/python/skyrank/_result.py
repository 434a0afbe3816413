"""Answers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import QueryError, required
from ._output.columns import matrix_of, to_list, to_numpy, view
from ._output.report import write_report
from ._output.tables import SHOWN_ROWS, html_table, shape_of, text_table
from ._preferences import low
from ._query import Query, core_of
from ._values import as_list, whole_number

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow


class _Slice:
    """The first rows and some columns of an answer, with the words of `_core.Result`."""

    def __init__(self, whole: _core.Result | _Slice, table: _core.Table, rows: int) -> None:
        self._whole = whole
        self._table = table
        self._rows = rows

    def timing(self) -> dict[str, float]:
        return self._whole.timing()

    def work(self) -> dict[str, int]:
        return self._whole.work()

    def plan(self) -> str:
        return self._whole.plan()

    def __len__(self) -> int:
        return self._rows

    def table(self) -> _core.Table:
        return self._table

    def rows(self) -> tuple[int, int]:
        address, count = self._whole.rows()
        return address, min(count, self._rows)

    def levels(self) -> tuple[int, int]:
        address, count = self._whole.levels()
        return address, min(count, self._rows)


class Result:
    """An answer: row ids, Pareto levels and the selected columns. It stays valid without its input.

    Anything that takes Arrow data takes a Result: ``polars.DataFrame(result)``, ``pyarrow.table(result)``, DuckDB by
    its name in SQL. ``result["price"]`` is a column as a NumPy array.
    """

    __slots__ = ("_core", "_table", "__weakref__")

    def __init__(self, core: _core.Result | _Slice) -> None:
        self._core = core
        self._table = core.table()

    # Python would iterate over the columns, by their numbers, where `len` tells the rows.
    __iter__ = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._core)

    @property
    def rows(self) -> numpy.ndarray[Any, Any]:
        """The row ids: int64 of shape (len,), 0-based positions in the input, in the order of the answer; no copy."""
        return view(self._core, "int64", *self._core.rows())

    @property
    def levels(self) -> numpy.ndarray[Any, Any] | None:
        """The Pareto level of each row from 1: int32 of shape (len,), no copy.

        None without `prefer`, and of all rows (`skyband("all")`) unless the query asks for levels, by `level()` or by
        another function of a row's level.
        """
        address, count = self._core.levels()
        return view(self._core, "int32", address, count) if count == len(self) else None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.names()

    def __getitem__(self, name: str) -> numpy.ndarray[Any, Any]:
        """Returns a column as a NumPy array of shape (len,).

        Numbers, dates and times without NULL are viewed without a copy; a column with NULL is a masked array (times:
        NaT), texts and decimals are arrays of objects. Times are in UTC, as NumPy has no zones. Raises BindError for an unknown name.
        """
        return to_numpy(self._table.column(name))

    def head(self, rows: int = 5) -> Result:
        """Returns the first rows as an answer of their own, with their ids and levels; rows >= 0."""
        count = whole_number("head", rows)
        if count is None or count < 0:
            raise QueryError(f"'head' is 0 or more rows, not {rows}")
        if count >= len(self):
            return self
        from ._engine import default_engine

        table = self._table
        if self.columns:
            columns = [_core.Expression.column(name) for name in self.columns]
            table = default_engine()._core.run(
                core_of(Query().rank_by(low("0")).limit(count).select(*columns)), table, _core.Call(False, False, 0.0)
            ).table()
        return Result(_Slice(self._core, table, count))

    def select(self, columns: str | Iterable[str]) -> Result:
        """Returns the answer with only these columns, in this order. Raises BindError for an unknown name."""
        names = as_list(columns, str)
        if not names:
            raise QueryError("'select' takes one or more names of columns")
        return Result(_Slice(self._core, self._table.reordered(names), len(self)))

    @property
    def timing(self) -> dict[str, float]:
        """Milliseconds of each stage, such as total_ms, and read_ms for files."""
        return self._core.timing()

    @property
    def work(self) -> dict[str, int]:
        """Counts of dominance tests, bytes and candidates; zeros unless `count_work` was set."""
        return self._core.work()

    @property
    def plan(self) -> str:
        """The plan as it ran, as a tree for a terminal."""
        return self._core.plan()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the columns as an Arrow stream of one batch; `requested_schema` is not followed."""
        return self._table.stream()

    def __arrow_c_schema__(self) -> object:
        """Exports names and types of the columns."""
        return self._table.schema()

    def to_arrow(self) -> pyarrow.Table:
        """Returns the columns as a pyarrow.Table, which shares their memory. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """Returns the columns as a polars.DataFrame; ordered categories are an Enum. Needs Polars."""
        import polars

        if hasattr(polars.DataFrame, "__arrow_c_stream__"):
            frame = polars.DataFrame(self)
        else:
            required("pyarrow", "files", "an answer for Polars before 1.3")
            frame = polars.DataFrame(self.to_arrow())
        orders = {name: self._table.column(name).categories for name in self.columns}
        return frame.with_columns(
            polars.col(name).cast(polars.Enum(order)) for name, order in orders.items() if order is not None
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the columns as a pandas.DataFrame, through pyarrow where it is installed. Needs pandas."""
        import pandas

        try:
            frame: pandas.DataFrame = self.to_arrow().to_pandas()
            return frame
        except ImportError:
            pass
        return pandas.DataFrame({name: self[name] for name in self.columns})

    def to_numpy(self, columns: str | Iterable[str] | None = None) -> numpy.ndarray[Any, Any]:
        """Returns columns, all or those named, as a matrix of shape (rows, columns), which is a copy.

        Numbers have their common type and NULL as NaN, dates and times as NaT. Columns without a common type, texts,
        decimals, and booleans with NULL, give a matrix of objects with NULL as None.
        """
        names = self.columns if columns is None else as_list(columns, str)
        return matrix_of([self._table.column(name) for name in names], len(self))

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns as lists of Python objects, NULL as None.

        Times are datetimes, in the zone of their column if it has one. Where one has digits below the microsecond, or a
        year that no datetime has, the times of that column are NumPy's datetime64 scalars, in UTC.
        """
        return {name: to_list(self._table.column(name)) for name in self.columns}

    def report(self, path: str | os.PathLike[str], name: str = "answer") -> None:
        """Writes a page of HTML that needs no network: the answer as a table that sorts, its front, its plan and its times.

        Args:
            path: The file.
            name: The heading of the answer.

        Raises:
            DataError: A text is not valid UTF-8.
            OSError: The file cannot be written.
        """
        write_report(path, name, self)

    def __repr__(self) -> str:
        rows = len(self)
        shape = shape_of(rows, len(self.columns), "x")
        if not self.columns or not rows:
            return f"Result({shape}: {', '.join(self.columns)})" if self.columns else f"Result({shape})"
        left_out = [f"... {rows - SHOWN_ROWS} more"] if rows > SHOWN_ROWS else []
        return "\n".join([f"Result({shape})", *text_table(self._table, min(rows, SHOWN_ROWS)), *left_out])

    def _repr_html_(self) -> str:
        return html_table(self._table, len(self))

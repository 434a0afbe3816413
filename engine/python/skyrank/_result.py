"""Answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._output.columns import to_list, to_numpy, view

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

_SHOWN_ROWS = 10
_SHOWN_WIDTH = 24


class Result:
    """An answer: row ids, Pareto levels and the selected columns. It stays valid without its input.

    Anything that takes Arrow data takes a Result: ``polars.DataFrame(result)``, ``pyarrow.table(result)``, DuckDB by
    its name in SQL. ``result["price"]`` is a column as a NumPy array.
    """

    __slots__ = ("_core", "_table", "__weakref__")

    def __init__(self, core: _core.Result) -> None:
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
        """The Pareto level of each row from 1: int32 of shape (len,), no copy. None without `prefer`."""
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

        frame = polars.DataFrame(self)
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

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns as lists of Python objects, NULL as None.

        Times are datetimes, in the zone of their column if it has one. Where one has digits below the microsecond, or a
        year that no datetime has, the times of that column are NumPy's datetime64 scalars, in UTC.
        """
        return {name: to_list(self._table.column(name)) for name in self.columns}

    def __repr__(self) -> str:
        rows = len(self)
        shape = f"{rows} {'row' if rows == 1 else 'rows'} x {len(self.columns)} columns"
        if not self.columns or not rows:
            return f"Result({shape}: {', '.join(self.columns)})" if self.columns else f"Result({shape})"
        left_out = [f"... {rows - _SHOWN_ROWS} more"] if rows > _SHOWN_ROWS else []
        return "\n".join([f"Result({shape})", *_text_table(self._table, min(rows, _SHOWN_ROWS)), *left_out])


def _text_table(table: _core.Table, rows: int) -> list[str]:
    """Returns the first rows as aligned text: numbers to the right, texts to the left."""
    lines = [""] * (rows + 1)
    for index, name in enumerate(table.names()):
        column = table.column(index)
        cells = [name, *(_cell(column.text_at(row)) for row in range(rows))]
        width = max(map(len, cells))
        left = column.type in ("string", "bool", "date") or column.type.startswith("timestamp")
        for line, cell in enumerate(cells):
            lines[line] += ("  " if index else "") + (cell.ljust(width) if left else cell.rjust(width))
    return [line.rstrip() for line in lines]


def _cell(text: str | None) -> str:
    if text is None:
        return "NULL"
    line = " ".join(text.splitlines())
    return line if len(line) <= _SHOWN_WIDTH else line[: _SHOWN_WIDTH - 1] + "…"

"""Tables of what users have: frames, Arrow data, NumPy arrays, dicts of arrays, records, DLPack, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from .. import _core
from .._errors import DataError
from .._values import without_surrogates
from .arrays import array_column, is_array, table_of_array
from .arrow import exported, may_lie_on_gpu, speaks_arrow, table_of_device_array, without_index
from .files import on_main_thread, open_files
from .frames import Frame, columns_of_records, frame_of, native
from .objects import object_column
from .pandas_columns import PandasColumns, frame_of_series
from .tensors import table_of_tensor, tensor_column

__all__ = ["Asked", "is_path", "narrowable", "on_main_thread", "table_of_frame", "to_data", "to_schema", "to_table"]

# Iterables that are one value, or have no order.
_NO_LISTS = (str, bytes, bytearray, Mapping, Set)


class Asked(NamedTuple):
    """A query that is to run over data, and the engine that checks it."""

    engine: _core.Engine
    query: _core.Query


def to_data(
    data: Any, columns: Sequence[str] | None = None, timeout: float = 0.0, asked: Asked | None = None
) -> _core.Table | _core.Source:
    """Returns what a query runs over: the core of a Table, a source over files, or a new table over `data`.

    `columns` names the columns of arrays that have no names of their own. `timeout` is the limit in seconds of opening
    files, 0 for none. With `asked` only the columns that the query reads are sure to be there. Raises DataError,
    ResourceError, TimeoutError, and for `asked` what checking the query raises.
    """
    core = getattr(data, "_core_data", None)
    if core is not None:
        table: _core.Table | _core.Source = core
        return table
    if is_path(data) or (isinstance(data, (list, tuple)) and len(data) > 0 and all(is_path(item) for item in data)):
        return open_files([data] if is_path(data) else list(data), timeout=timeout)[0]
    return to_table(data, columns, asked)


def to_schema(data: Any, question: _core.Query) -> _core.Table | _core.Source:
    """Returns data with the columns that a query reads, without rows where reading these would cost much."""
    frame = None if hasattr(data, "_core_data") else narrowable(data, None)
    if frame is None:
        return to_data(data)
    return _columns_read(frame, question) if frame.empty is None else _table_of(frame.empty(), None)


def to_table(data: Any, columns: Sequence[str] | None = None, asked: Asked | None = None) -> _core.Table:
    """Returns a table over `data`, which lives as long as the table does."""
    frame = narrowable(data, columns)
    return _table_of(data, columns) if frame is None else table_of_frame(frame, asked)


def narrowable(data: Any, columns: Sequence[str] | None) -> Frame | None:
    """Returns data of which single columns can be taken, and None for others."""
    if isinstance(data, Frame):
        return data
    return None if columns is not None or is_array(data) or isinstance(data, Mapping) else frame_of(native(data))


def table_of_frame(frame: Frame, asked: Asked | None = None) -> _core.Table:
    """Returns a table over the columns that a query reads, or over all."""
    if asked is None:
        return _table_of(frame.take(frame.names), None)
    if frame.empty is not None:
        asked.engine.check(asked.query, _table_of(frame.empty(), None))
    return _columns_read(frame, asked.query)


def _columns_read(frame: Frame, question: _core.Query) -> _core.Table:
    names = _core.columns_read(question, frame.names)
    if names or frame.rows is None:
        # A table without columns would lose the number of its rows.
        return _table_of(frame.take(names or frame.names[:1]), None)
    import numpy

    return table_of_array(numpy.zeros((frame.rows, 1), bool), None)


def _table_of(data: Any, columns: Sequence[str] | None) -> _core.Table:
    if isinstance(data, _core.Table):
        return data
    if is_array(data):
        return table_of_array(data, columns)
    # What speaks both has NULLs and texts in Arrow alone.
    if hasattr(data, "__dlpack__") and (columns is not None or not speaks_arrow(data)):
        return table_of_tensor(data, columns)
    has_records = isinstance(data, (list, tuple)) and any(isinstance(row, Mapping) for row in data)
    if columns is not None and (has_records or not isinstance(data, (list, tuple))):
        raise DataError(f"`columns` names the columns of an array; a {type(data).__name__} has names of its own")
    if may_lie_on_gpu(data):
        return table_of_device_array(data, "")
    if hasattr(data, "__arrow_c_stream__"):
        return without_index(_core.table_of_stream(exported(data, "__arrow_c_stream__"), ""))
    if hasattr(data, "__arrow_c_array__"):
        schema, array = exported(data, "__arrow_c_array__")
        return _core.table_of_batch(schema, array, "")
    if isinstance(data, Mapping):
        return _table_of_mapping(data)
    if has_records:
        return _table_of_mapping(columns_of_records(data))
    if isinstance(data, (list, tuple)):
        _refuse_tables(data)
    if hasattr(data, "__array__") or isinstance(data, (list, tuple)):
        return table_of_array(data, columns)
    if is_path(data):
        raise DataError(f"a Table is over data in memory; Files({os.fspath(data)!r}) is one over files")
    raise DataError(
        f"a {type(data).__name__} is no table; what is: objects with __arrow_c_stream__, __arrow_c_array__, "
        "__arrow_c_device_array__ or __dataframe__, NumPy arrays, dicts of arrays, lists of dicts, tensors with __dlpack__, "
        "and paths of files"
    )


def _refuse_tables(rows: Sequence[Any]) -> None:
    """Raises DataError where rows are tables themselves."""
    for row in rows:
        if hasattr(row, "__arrow_c_stream__") or hasattr(row, "columns") or hasattr(row, "schema"):
            raise DataError(
                f"a {type(row).__name__} is no row of a table; several tables are joined first, as by pyarrow.concat_tables, "
                "pyarrow.Table.from_batches, pandas.concat or polars.concat"
            )


def is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _table_of_mapping(data: Mapping[str, Any]) -> _core.Table:
    tables = {name: _column_table(name, values) for name, values in data.items()}
    return _core.table_of_columns([], list(tables.values()))


def _column_table(name: str, values: Any) -> _core.Table:
    without_surrogates(name, "the name of a column", DataError)
    if is_array(values):
        return _core.table_of_columns([array_column(name, values)], [])
    if (frame := frame_of_series(values, name)) is not None:
        table = _table_of(PandasColumns(frame).take([name]), None)
    elif may_lie_on_gpu(values):
        table = table_of_device_array(values, name)
    elif hasattr(values, "__arrow_c_stream__"):
        table = _core.table_of_stream(exported(values, "__arrow_c_stream__", name), name)
    elif hasattr(values, "__arrow_c_array__"):
        schema, array = exported(values, "__arrow_c_array__", name)
        table = _core.table_of_batch(schema, array, name)
    elif hasattr(values, "__dlpack__"):
        return tensor_column(name, values)
    elif hasattr(values, "__array__"):
        import numpy

        return _core.table_of_columns([array_column(name, numpy.asanyarray(values))], [])
    else:
        if isinstance(values, _NO_LISTS) or not isinstance(values, Iterable):
            raise DataError(f"column '{name}' is a {type(values).__name__}; a column is an array or a list")
        objects = list(values)
        return _core.table_of_columns([object_column(name, objects, array_column)], [])
    if left_out := table.unsupported():
        _, kind, reason = left_out[0]
        raise DataError(f"column '{name}' has {kind}, which SkyRank does not read" + (reason and f": {reason}"))
    return table

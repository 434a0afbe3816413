"""Tables over Arrow data."""

from __future__ import annotations

import sys
from typing import Any

from .. import _core
from .._errors import DataError

# What libraries raise where they cannot export data, or not these.
EXPORT_ERRORS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


def speaks_arrow(data: Any) -> bool:
    """Returns true for data with a method of the Arrow C interface."""
    return any(hasattr(data, f"__arrow_c_{kind}__") for kind in ("stream", "array", "device_array"))


def exported(data: Any, method: str, name: str = "", *, full: bool = False) -> Any:
    """Returns the stream, or the schema and the array, that a method exports; DataError where the library cannot.

    What pyarrow has is validated before, `full` or as far as that takes no time: only it knows how long its buffers are.
    """
    try:
        given = _call(getattr(_validated(data, full), method))
        if method == "__arrow_c_stream__":
            return given
        schema, array = given
        return schema, array
    except EXPORT_ERRORS as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from error
        what = f"column '{name}'" if name else f"the {type(data).__name__}"
        raise DataError(f"{what} cannot be read through {method}: {error}") from error


def _call(export: Any) -> Any:
    """Calls a method of the interface, also one of Polars 1.3, whose argument has no default."""
    try:
        return export()
    except TypeError as error:
        if "requested_schema" not in str(error):
            raise
        return export(None)


def _validated(data: Any, full: bool) -> Any:
    """Returns pyarrow's data once it has found them valid, and other data as they are."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return data
    if isinstance(data, pyarrow.RecordBatchReader):
        return pyarrow.RecordBatchReader.from_batches(data.schema, (_validated(batch, full) for batch in data))
    if isinstance(data, (pyarrow.RecordBatch, pyarrow.Table, pyarrow.Array, pyarrow.ChunkedArray)):
        data.validate(full=full)
    return data


def may_lie_on_gpu(data: Any) -> bool:
    """Returns true for Arrow data that may lie on a GPU; the other methods serve what says that it does not."""
    return hasattr(data, "__arrow_c_device_array__") and not getattr(data, "is_cpu", False)


def table_of_device_array(data: Any, name: str) -> _core.Table:
    """Returns a table over Arrow data that stay on their GPU; `name` is that of their only column."""
    schema, array = exported(data, "__arrow_c_device_array__", name)
    return _core.table_of_device_array(schema, array, name)


def without_index(table: _core.Table) -> _core.Table:
    """Drops the columns in which pandas hands over an index that is no row number."""
    names = table.names()
    kept = [name for name in names if not name.startswith("__index_level_")]
    return table if len(kept) == len(names) else table.reordered(kept)

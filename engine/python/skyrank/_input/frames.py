"""Tables of other libraries whose columns are taken one by one, so that a query takes only those that it reads.

Libraries are recognised by what the caller has imported; none is imported to find out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._errors import DataError, required
from .arrow import EXPORT_ERRORS, speaks_arrow
from .pandas_columns import PandasColumns, frame_of_series


class Frame(NamedTuple):
    """A table of another library.

    Attributes:
        names: The names of its columns.
        take: Returns columns, by name, as data that `to_table` knows.
        empty: Returns all columns without rows where it is worth to check a query before its columns are read, as that
            reads files or computes. None elsewhere.
        rows: The number of rows where it is known.
    """

    names: list[str]
    take: Callable[[list[str]], Any]
    empty: Callable[[], Any] | None = None
    rows: int | None = None


def frame_of(data: Any) -> Frame | None:
    """Returns a table of a library as a Frame, and None for other data.

    Raises ResourceError where the library needs pyarrow to hand over its columns, and there is none, and DataError for
    what only a cluster computes.
    """
    if (series := frame_of_series(data)) is not None:
        return _pandas_frame(series)
    for module, kind, make in _KINDS:
        library = sys.modules.get(module)
        if library is not None and isinstance(data, getattr(library, kind, ())):
            found: Frame = make(data)
            return found
    _refuse_cluster(data)
    if hasattr(data, "__dataframe__") and not speaks_arrow(data) and not hasattr(data, "__dlpack__"):
        return _interchange(data)
    return None


def native(data: Any) -> Any:
    """Returns what a table of Narwhals wraps, and other data as they are."""
    return data.to_native() if _library_of(data) == "narwhals" and hasattr(data, "to_native") else data


def _refuse_cluster(data: Any) -> None:
    """Raises DataError for collections that only a cluster computes."""
    library = _library_of(data)
    if library == "pyspark" and hasattr(data, "mapInArrow") and not speaks_arrow(data):
        raise DataError("a DataFrame of Spark is answered by skyrank.spark.query, and its toPandas() by this function")
    if library in ("dask", "dask_expr") and hasattr(data, "npartitions") and hasattr(data, "columns"):
        raise DataError("a DataFrame of Dask is answered by skyrank.dask.query, and its compute() by this function")


def columns_of_records(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns dicts of values as columns, in the order in which their names first occur; what a dict lacks is None."""
    names: dict[str, None] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"record {place} is a {type(row).__name__}; where one is a dict, all are")
        names.update(dict.fromkeys(row))
    return {name: [row.get(name) for row in rows] for name in names}


def _library_of(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


# ------------------------------------------------------------------------------------------------------------- Polars


def _polars_frame(frame: Any) -> Frame:
    return Frame(list(frame.columns), lambda names: _spoken(frame[names]), rows=frame.height)


def _lazy_frame(lazy: Any) -> Frame:
    import polars

    schema = lazy.collect_schema() if hasattr(lazy, "collect_schema") else lazy.schema
    names = list(schema)

    def take(wanted: list[str]) -> Any:
        # Polars takes these for patterns, which stand for other columns too.
        if any(name == "*" or name.startswith("^") for name in wanted):
            return _spoken(lazy.collect()[wanted])
        return _spoken(lazy.select(wanted).collect())

    return Frame(names, take, lambda: _spoken(polars.DataFrame(schema=dict(schema))))


def _spoken(frame: Any) -> Any:
    """Returns a DataFrame as Arrow data. Columns without a type, which have only NULL, become booleans, as lists of None do."""
    import polars

    untyped = [name for name, kind in frame.schema.items() if kind == polars.Null]
    if untyped:
        frame = frame.with_columns([frame.get_column(name).cast(polars.Boolean) for name in untyped])
    if speaks_arrow(frame):
        return frame
    required("pyarrow", "files", "a DataFrame of Polars before 1.3")
    return frame.to_arrow()


# ------------------------------------------------------------------------------------------------------------- pandas


def _pandas_frame(frame: Any) -> Frame:
    columns = PandasColumns(frame)
    return Frame(columns.names, columns.take, rows=len(frame))


# ------------------------------------------------------------------------------------------------------------ pyarrow


def _arrow_table(table: Any) -> Frame:
    names = list(table.schema.names)
    return Frame(names, lambda wanted: table.select([names.index(name) for name in wanted]), rows=table.num_rows)


def _arrow_reader(reader: Any) -> Frame:
    import pyarrow

    schema = reader.schema

    def take(wanted: list[str]) -> Any:
        if wanted == schema.names:
            return reader
        narrow = pyarrow.schema([schema.field(name) for name in wanted])
        return pyarrow.RecordBatchReader.from_batches(narrow, (batch.select(wanted) for batch in reader))

    return Frame(list(schema.names), take)


def _arrow_dataset(dataset: Any) -> Frame:
    return Frame(list(dataset.schema.names), lambda names: dataset.to_table(columns=names), dataset.schema.empty_table)


def _arrow_scanner(scanner: Any) -> Frame:
    schema = scanner.projected_schema
    return Frame(list(schema.names), lambda names: scanner.to_table().select(names), schema.empty_table)


# ------------------------------------------------------------------------------------------------------------- others


def _duckdb_relation(relation: Any) -> Frame:
    names = list(relation.columns)

    def take(wanted: list[str]) -> Any:
        quoted = ('"' + name.replace('"', '""') + '"' for name in wanted)
        # A relation of its own, as reading one closes its result for the caller; names that repeat cannot be projected.
        narrow = relation.project(", ".join(quoted)) if len(set(names)) == len(names) else relation
        if speaks_arrow(narrow):
            return narrow
        required("pyarrow", "files", "a relation of DuckDB before 1.1")
        return narrow.fetch_arrow_table()

    return Frame(names, take)


def _iceberg_table(table: Any) -> Frame:
    return _iceberg_scan(table.scan())


def _iceberg_scan(scan: Any) -> Frame:
    schema = scan.projection()
    names = [field.name for field in schema.fields]

    def empty() -> Any:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        return schema_to_pyarrow(schema).empty_table()

    return Frame(names, lambda wanted: scan.select(*wanted).to_arrow().select(wanted), empty)


def _delta_table(table: Any) -> Frame:
    required("pyarrow.dataset", "files", "a DeltaTable")
    try:
        return _arrow_dataset(table.to_pyarrow_dataset())
    except Exception as error:
        if _library_of(error) not in ("deltalake", "_internal") and not isinstance(error, EXPORT_ERRORS):
            raise
        raise DataError(f"the DeltaTable cannot be read through to_pyarrow_dataset: {error}") from error


def _interchange(data: Any) -> Frame:
    interchange = required("pyarrow.interchange", "files", f"a {type(data).__name__}, which has __dataframe__ alone,")
    try:
        given = data.__dataframe__()
        names = [str(name) for name in given.column_names()]
    except EXPORT_ERRORS as error:
        raise DataError(f"the {type(data).__name__} cannot be read through __dataframe__: {error}") from error

    def take(wanted: list[str]) -> Any:
        try:
            return interchange.from_dataframe(given.select_columns([names.index(name) for name in wanted]))
        except EXPORT_ERRORS as error:
            raise DataError(f"the {type(data).__name__} cannot be read through __dataframe__: {error}") from error

    return Frame(names, take)


# Modules, their types, and what makes a Frame of an object; derived types come before what they derive from.
_KINDS: Iterable[tuple[str, str, Callable[[Any], Frame]]] = (
    ("polars", "DataFrame", _polars_frame),
    ("polars", "LazyFrame", _lazy_frame),
    ("pandas", "DataFrame", _pandas_frame),
    ("pyarrow", "Table", _arrow_table),
    ("pyarrow", "RecordBatchReader", _arrow_reader),
    ("pyarrow.dataset", "Dataset", _arrow_dataset),
    ("pyarrow.dataset", "Scanner", _arrow_scanner),
    ("duckdb", "DuckDBPyRelation", _duckdb_relation),
    ("pyiceberg.table", "Table", _iceberg_table),
    ("pyiceberg.table", "DataScan", _iceberg_scan),
    ("deltalake", "DeltaTable", _delta_table),
)

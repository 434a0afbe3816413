"""Engines, tables and partial answers."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import DataError, required
from ._input import Asked, to_data, to_schema, to_table
from ._input.arrow import exported
from ._input.files import files_module, on_main_thread, open_files
from ._metrics import Observed, QueryReport
from ._output.tables import counted, html_schema, html_table
from ._query import Query, core_of
from ._result import Result
from ._values import as_list, kind_of, seconds_of
from ._why import Why, row_id

if TYPE_CHECKING:
    import datetime


_LARGEST_INT = 2**31 - 1  # of C++


class SkyRankWarning(UserWarning):
    """Something that a query may say but hardly means, or a column that is left out."""


class Table:
    """An immutable table for repeated queries; queries remember what earlier ones found in it.

    Args:
        data: Anything that `skyrank.query` takes but files. Memory that can be viewed is not copied: it is kept alive
            for as long as the table is, and must not change in the meantime.
        columns: Names of the columns of an array that has none.

    Raises:
        DataError: The data are no table, or columns have different lengths or one name.
    """

    __slots__ = ("_core_data",)

    def __init__(self, data: Any, columns: Sequence[str] | None = None) -> None:
        self._core_data: _core.Table = data._core_data if isinstance(data, Table) else to_table(data, columns)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._core_data)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._core_data.names()

    @property
    def types(self) -> dict[str, str]:
        """Types of the columns, such as "int32", "timestamp[us]" and "decimal(12,2)", by name."""
        return {name: self._core_data.column(name).type for name in self.columns}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the columns as an Arrow stream of one batch; `requested_schema` is not followed."""
        return self._core_data.stream()

    def __repr__(self) -> str:
        types = ", ".join(f"{name}: {kind}" for name, kind in self.types.items())
        return f"Table({len(self)} rows; {types})"

    def _repr_html_(self) -> str:
        return html_table(self._core_data, len(self))


class Files:
    """Files as one table that is read while queries run, and only as far as they need it.

    Parquet (.parquet), Arrow IPC and Feather (.arrow, .feather, .ipc), CSV and TSV (.csv, .tsv, .txt), JSON lines
    (.jsonl, .ndjson) and JSON (.json), by their extensions; text also compressed (.csv.gz, .jsonl.zst). Text is read
    whole, as the types of its columns depend on all values. `notes` says what was recognised of its form.

    Args:
        paths: One or more paths, globs (`*`, `?`, `[...]`) or URIs (file:///path, s3://bucket/key), whose rows come one
            after the other. A folder stands for all files in it; folders `key=value` below it are columns. `-` is the
            standard input.
        header: CSV: the first line holds the names; otherwise they are c0, c1, ... None means recognised.
        null_spellings: CSV: texts that are NULL besides the empty field; none means NULL, null, NA, N/A.
        delimiter: CSV: one character of ASCII; None means recognised.
        format: csv, tsv, jsonl, parquet or arrow; None means by the extension.
        types: Types of columns of text, by name, instead of those that their values seem to have: `{"zip": "string"}`.
        decimal: CSV: decimal sign of numbers, `.` or `,`; None means recognised.
        skip: CSV: lines before the header; None means recognised.
        comment: CSV: beginning of lines that are no records, such as `#`; None means there are none.
        encoding: Encoding of text, such as utf-16 or windows-1252; None means by its first bytes, else UTF-8.
        flatten: JSON: members of objects are columns, such as `address.city`.
        records: JSON: path of the records in the file, such as `data.items`; None means the file, or its array.

    Raises:
        DataError: A pattern matches nothing, a file is damaged, or files have different columns.
        ResourceError: The system refuses to read, or pyarrow is missing.
    """

    __slots__ = ("_arguments", "_core_data", "_notes", "_range")

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        header: bool | None = None,
        null_spellings: Sequence[str] = (),
        delimiter: str | None = None,
        format: str | None = None,
        types: Mapping[str, str] | None = None,
        decimal: str | None = None,
        skip: int | None = None,
        comment: str | None = None,
        encoding: str | None = None,
        records: str | None = None,
        flatten: bool = False,
    ) -> None:
        several = as_list(paths, (str, os.PathLike))
        for path in several:
            if not isinstance(path, (str, os.PathLike)):
                raise DataError(f"the path of a file is a text or a Path, not {kind_of(path)}")
        names = [os.fspath(path) for path in several]
        stated = _stated_types(types)
        form = _stated_form(flatten="true" if flatten else None, decimal=decimal, skip=skip, comment=comment, encoding=encoding, records=records)
        self._arguments = (names, header, list(null_spellings), delimiter, format, stated, form)
        self._range: tuple[int, int] | None = None
        self._core_data: _core.Source
        self._core_data, self._notes = open_files(*self._arguments)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._core_data)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._core_data.schema().names()

    @property
    def notes(self) -> list[str]:
        """What was recognised of the form of text, such as a delimiter, where it is not the usual one."""
        return list(self._notes)

    @property
    def units(self) -> list[int]:
        """Numbers of rows of the units, which are row groups of Parquet, record batches of Arrow, or else whole files."""
        return self._core_data.units()

    def part(self, begin: int, end: int) -> Files:
        """Returns the units [begin, end) as files of their own, whose rows count from 0; for `Engine.partial`.

        Raises DataError unless 0 <= begin <= end <= len(units).
        """
        if not 0 <= begin <= end <= len(self.units):
            raise DataError(f"there are no units {begin} to {end} in files of {len(self.units)}")
        chosen = Files.__new__(Files)
        start = 0 if self._range is None else self._range[0]
        chosen._arguments, chosen._range = self._arguments, (start + begin, start + end)
        chosen._core_data, chosen._notes = self._core_data.part(begin, end), self._notes
        return chosen

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_files, (self._arguments, self._range)

    def __repr__(self) -> str:
        return f"Files({len(self)} rows; {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        return html_schema(self._core_data.schema(), len(self), f"in {counted(len(self.units), 'unit')}")


def _stated_types(types: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the types of columns as a dict of texts."""
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise DataError(f"types are a dict such as {{'zip': 'string'}}, not {kind_of(types)}")
    for column, kind in types.items():
        if not isinstance(column, str) or not isinstance(kind, str):
            raise DataError(f"types name columns and types as texts, such as {{'zip': 'string'}}, not {column!r}: {kind!r}")
    return dict(types)


# What the texts of a stated form mean where they are no texts.
_OF_TEXT: dict[str, Callable[[str], Any]] = {"skip": int, "flatten": bool}


def _stated_form(**form: str | int | None) -> dict[str, str]:
    """Returns what is stated of the form of files, as texts."""
    stated = {name: value for name, value in form.items() if value is not None}
    for name, value in stated.items():
        if name == "skip":
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
                raise DataError(f"skip is a number of lines, not {value!r}")
        elif not isinstance(value, str) or not value:
            raise DataError(f"{name} is a text, not {value!r}")
    return {name: str(value) for name, value in stated.items()}


def files_of(arguments: tuple[Any, ...]) -> Files:
    """Opens files by what another one was opened by."""
    *leading, form = arguments
    return Files(*leading, **{name: _OF_TEXT.get(name, str)(value) for name, value in dict(form).items()})


def _opened_files(arguments: tuple[Any, ...], units: tuple[int, int] | None) -> Files:
    files = files_of(arguments)
    return files if units is None else files.part(*units)


class Partial:
    """The rows of some parts of a table that can still be in the answer of a query (`Engine.partial`).

    It travels as an Arrow record batch (`__arrow_c_array__`, `from_arrow`) or as bytes (`to_bytes`, pickle).
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Partial) -> None:
        self._core = core

    @classmethod
    def from_arrow(cls, batch: Any) -> Partial:
        """Takes a record batch that a Partial made, here or elsewhere. Raises DataError where it is none.

        A batch of pyarrow is validated in full. Of others the buffers must be as long as their producer says.
        """
        return cls(_core.import_partial(*exported(batch, "__arrow_c_array__", full=True)))

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Exports the positions of the rows and their columns as a record batch with metadata."""
        return self._core.arrays()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._core)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the query that the partial answer belongs to."""
        return self._core.fingerprint()

    @property
    def covers(self) -> list[tuple[int, int]]:
        """The rows of the whole table that were looked at, as ranges [begin, end)."""
        return self._core.covers()

    @property
    def rows(self) -> list[int]:
        """Positions of the rows in the whole table, ascending."""
        return self._core.rows()

    def moved(self, query: Query, by: int) -> Partial:
        """Returns the partial answer with all its positions `by` >= 0 rows further down.

        For a part that was numbered from 0, as the rows before it were not counted yet. Raises DataError where it
        belongs to another query, or `by` is negative.
        """
        return Partial(_core.moved(core_of(query), self._core, by))

    def to_bytes(self) -> bytes:
        """Returns the record batch as an Arrow IPC stream. Raises ResourceError where there is no pyarrow."""
        pyarrow = required("pyarrow", "files", "a partial answer as bytes")
        sink = pyarrow.BufferOutputStream()
        batch = pyarrow.record_batch(self)
        with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        content: bytes = sink.getvalue().to_pybytes()
        return content

    @classmethod
    def from_bytes(cls, content: bytes) -> Partial:
        """Reads what `to_bytes` returned.

        Raises DataError where it is something else, or compressed, and ResourceError where there is no pyarrow.
        """
        return cls(_core.import_partial(*files_module().partial_of_bytes(bytes(memoryview(content)))))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Partial.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        ranges = ", ".join(f"{begin}-{end}" for begin, end in self.covers)
        return f"Partial({len(self)} rows of {ranges or 'none'})"


class Engine:
    """Answers queries. Any number of threads may use one engine at once; make one for the whole program.

    A query runs without the GIL, and Ctrl-C stops it. In a process that was forked an engine runs on one thread, as
    threads do not survive a fork.

    Args:
        threads: Number of threads; 0 stands for all cores that the process may use.
        device: "auto", "cpu" or "cuda": the device for queries that do not force one.
        memory_limit: The most bytes that all queries may take together, beside their tables;
            0 stands for four fifths of what the process may use.
        key_cache: Bytes of keys to keep for later queries over the same table; 0 keeps none.
        without: Rules of the planner that are off.
        devices: The GPUs that queries may use, by their numbers in the CUDA runtime; none stands for GPU 0. Queries over
            a large table run on all of them at the same time if that is expected to be faster than on one.
        gpu_memory_limit: The most bytes of each GPU that may be in use, with pinned tables; a table that does not fit is
            answered in parts. 0 stands for the GPU's memory.
        on_query: Called with a `QueryReport` when a query of `run` has ended, for counters and logs, by the thread that
            asked. What it raises, `run` raises.

    Raises:
        DeviceError: `device` is "cuda" and there is none, or it lacks one of `devices`.
        ResourceError: A number in `devices` is negative or comes twice.
        BindError: A rule is unknown.
    """

    __slots__ = ("_core", "_on_query")

    def __init__(
        self,
        threads: int = 0,
        device: str = "auto",
        memory_limit: int = 0,
        key_cache: int = 0,
        without: Iterable[str] = (),
        *,
        devices: int | Iterable[int] = (),
        gpu_memory_limit: int = 0,
        on_query: Callable[[QueryReport], object] | None = None,
    ) -> None:
        self._on_query = on_query
        for name, number, largest in (
            ("threads", threads, _LARGEST_INT),
            ("memory_limit", memory_limit, sys.maxsize),
            ("key_cache", key_cache, sys.maxsize),
            ("gpu_memory_limit", gpu_memory_limit, sys.maxsize),
        ):
            if not hasattr(number, "__index__"):
                raise TypeError(f"{name} is a whole number{'' if name == 'threads' else ' of bytes'}, not {kind_of(number)}")
            if number < 0:
                raise ValueError(f"{name} is 0 or more, not {number}")
            if number > largest:
                raise ValueError(f"{name} is at most {largest}, not {number}")
        gpus = as_list(devices, (str, int))
        for number in gpus:
            if not hasattr(number, "__index__"):
                raise TypeError(f"devices are the numbers of GPUs, such as [0, 1], not {kind_of(number)}")
            if abs(number) > _LARGEST_INT:
                raise ValueError(f"there is no GPU {number}")
        self._core = _core.Engine(threads, device, memory_limit, key_cache, list(without), gpus, gpu_memory_limit)
        for text in self._core.warnings():
            warnings.warn(text, SkyRankWarning, stacklevel=2)

    def run(self, query: Query, data: Any, *, count_work: bool = False, timeout: float | datetime.timedelta | None = None) -> Result:
        """Runs a query.

        Args:
            query: The query.
            data: A table, or what `skyrank.query` takes.
            count_work: Fills `Result.work`.
            timeout: Seconds, > 0, or a timedelta, after which there is a TimeoutError; reading files counts.

        Raises:
            QueryError, BindError, DataError, DeviceError, ResourceError, TimeoutError.
        """
        asked = core_of(query)
        if self._on_query is None:
            core, call = self._opened(asked, data, timeout, count_work)
            _warn(query, core)
            return Result(self._core.run(asked, core, call))
        observed = Observed(self._on_query)
        try:
            core, call = self._opened(asked, data, timeout, count_work)
            observed.input_rows = len(core)
            _warn(query, core)
            answer = self._core.run(asked, core, call)
        except BaseException as error:
            observed.failed(error)
            raise
        result = Result(answer)
        observed.answered(result, answer)
        return result

    def explain(
        self, query: Query, data: Any, *, timeout: float | datetime.timedelta | None = None, candidates: bool = False
    ) -> str:
        """Returns the plan of a query, without running it, as a tree for a terminal. Raises what `run` raises.

        With `candidates` it also shows what each choice by price was made from, with the price of each candidate as
        expected and at high: where more rows come than expected.
        """
        asked = core_of(query)
        return self._core.explain(asked, *self._opened(asked, data, timeout), candidates)

    def why(self, query: Query, data: Any, row: int, *, timeout: float | datetime.timedelta | None = None) -> Why:
        """Tells why a row is not in the answer of a query, and what would let it in; see `skyrank.why`."""
        asked = core_of(query)
        core, call = self._opened(asked, data, timeout)
        return Why._of(self._core.why(asked, core, row_id(row), call))

    def check(self, query: Query, data: Any) -> None:
        """Raises what `run` would raise before it touches data."""
        asked = core_of(query)
        core = to_schema(data, asked)
        self._core.check(asked, core if isinstance(core, _core.Table) else core.schema())

    def pin(self, data: Any) -> Table:
        """Returns the table with its columns in the memory of the GPU too, until it is gone.

        Raises DeviceError where there is no GPU, ResourceError where it has no room.
        """
        pinned = Table.__new__(Table)
        pinned._core_data = self._core.pin(Table(data)._core_data)
        return pinned

    def partial(self, query: Query, part: Any, first_row: int, *, timeout: float | datetime.timedelta | None = None) -> Partial:
        """Answers a query over the rows [first_row, first_row + len(part)) of a table as far as that can be done alone.

        For every split of a table, `merge` of all its partial answers equals `run` over the whole. `part` is what
        `skyrank.query` takes. Raises what `run` raises, and DataError where `first_row` is negative.
        """
        asked = core_of(query)
        core, call = self._opened(asked, part, timeout)
        return Partial(self._core.partial(asked, core, first_row, call))

    def merge(self, query: Query, partials: Iterable[Partial], *, timeout: float | datetime.timedelta | None = None) -> Result:
        """Answers a query from partial answers of it, in any order; row ids are positions in the whole table.

        Raises what `run` raises, and DataError where there are none, where one belongs to another query, or where two
        cover the same row.
        """
        return Result(self._core.merge(core_of(query), [partial._core for partial in partials], _call(timeout)))

    def merge_partials(self, query: Query, partials: Iterable[Partial], *, timeout: float | datetime.timedelta | None = None) -> Partial:
        """Makes one partial answer of several, without the rows that cannot be in the answer any more."""
        return Partial(self._core.merge_partials(core_of(query), [partial._core for partial in partials], _call(timeout)))

    def _opened(
        self, query: _core.Query, data: Any, timeout: float | datetime.timedelta | None, count_work: bool = False
    ) -> tuple[_core.Table | _core.Source, _core.Call]:
        """Returns the core of the data, and the call for what opening its files leaves of the time limit."""
        call = _call(timeout, count_work)
        asked = Asked(self._core, query)
        if timeout is None or getattr(data, "_core_data", None) is not None:
            return to_data(data, asked=asked), call
        seconds = seconds_of(timeout)
        begin = time.monotonic()
        core = to_data(data, timeout=seconds, asked=asked)
        if isinstance(core, _core.Source):
            call = _call(max(seconds - (time.monotonic() - begin), 0.001), count_work)
        return core, call

    def __repr__(self) -> str:
        return "Engine()"


def _call(timeout: float | datetime.timedelta | None, count_work: bool = False) -> _core.Call:
    seconds = None if timeout is None else seconds_of(timeout)
    if seconds is not None and not seconds > 0:
        raise ValueError("a time limit is above 0 seconds")
    return _core.Call(on_main_thread(), count_work, seconds or 0.0)


def _warn(query: Query, data: _core.Table | _core.Source) -> None:
    table = data if isinstance(data, _core.Table) else data.schema()
    for text in table.warnings(core_of(query)):
        warnings.warn(text, SkyRankWarning, stacklevel=4)


_default: Engine | None = None


def default_engine() -> Engine:
    """Returns the engine of the functions of this package: all cores, any device. The first call makes it."""
    global _default
    if _default is None:
        _default = Engine()
    return _default

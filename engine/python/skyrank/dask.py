"""Queries over Dask collections, and over files on the workers of Dask. Needs the extra `dask`.

>>> import skyrank.dask
>>> best = Query().prefer([low("price"), high("rating")])
>>> skyrank.dask.query(frame, best)                 # doctest: +SKIP
>>> skyrank.dask.query("offers/*.parquet", best)    # doctest: +SKIP

Each part of the data gives a partial answer in a task of its own, a tree of tasks merges them, and the answer is the one
that `skyrank.query` gives over the whole table. Dask's current scheduler runs the tasks: that of a
`distributed.Client`, if there is one. It repeats the tasks of a worker that is lost.

An answer over data that come day by day follows them, and keeps their partial answer alone:

>>> running = skyrank.dask.RunningAnswer(best)
>>> running.add(skyrank.dask.partial("offers/2026-05-01/*.parquet", best).compute())    # doctest: +SKIP
>>> running.answer()                                                                    # doctest: +SKIP
"""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Sequence
from typing import Any

from . import _core
from ._engine import Files, Partial, default_engine, files_of
from ._errors import DataError, required
from ._input import is_path
from ._parts import RunningAnswer as RunningAnswer
from ._parts import joined, worker_engine
from ._query import Query, core_of
from ._result import Result

_ROWS_OF_A_TASK = 1 << 18


def query(data: Any, question: Query, *, columns: Sequence[str] | None = None, split_every: int = 8) -> Result:
    """Runs a query over a collection or files, and returns its answer to the caller.

    Args:
        data: One of
            - a Dask DataFrame;
            - a Dask array of shape (rows, columns), whose columns are c0, c1, ... or `columns`;
            - a list of parts of one table, in their order: Delayed objects, futures or data that `skyrank.query` takes;
            - paths or globs of files, or Files, which all workers find under the same names. Tasks are units of files,
              such as row groups of Parquet; a CSV file is read by one task.
        question: The query. Row ids are positions in the whole table.
        columns: Names of the columns of an array.
        split_every: The most partial answers that one task merges; >= 2.

    Raises:
        ResourceError: There is no Dask, or no pyarrow.
        DataError: `data` is no such thing, or a worker sees other files. Of a collection, a message that names a row
            says its place within the partition.
        QueryError, BindError, DeviceError, TimeoutError.
    """
    answer: Partial = partial(data, question, columns=columns, split_every=split_every).compute()
    return default_engine().merge(question, [answer])


def partial(data: Any, question: Query, *, columns: Sequence[str] | None = None, split_every: int = 8) -> Any:
    """Returns the Delayed partial answer over all data, for `skyrank.merge`; takes and raises what `query` does."""
    delayed = required("dask", "dask", "a query over Dask").delayed
    if split_every < 2:
        raise ValueError("split_every is 2 or more")
    core_of(question).validate()
    if isinstance(data, Files) or _is_paths(data):
        parts = _file_partials(delayed, data if isinstance(data, Files) else Files(data), question)
        merge = _merged
    else:
        parts = [delayed(_partial_of_part)(question, part, columns) for part in _parts(data, question)]
        merge = joined
    while len(parts) > 1:
        groups = (parts[first : first + split_every] for first in range(0, len(parts), split_every))
        parts = [delayed(merge)(question, group) for group in groups]
    return parts[0]


def _is_paths(data: Any) -> bool:
    return is_path(data) or (isinstance(data, (list, tuple)) and len(data) > 0 and all(map(is_path, data)))


# -------------------------------------------------------------------------------------------------------- collections


def _parts(data: Any, question: Query) -> list[Any]:
    """Returns the parts of a collection in their order."""
    if isinstance(data, (list, tuple)) and len(data) > 0:
        return list(data)
    if not hasattr(data, "to_delayed"):
        raise DataError(
            f"a {type(data).__name__} is no Dask collection; what is: DataFrames, arrays of rows and columns, lists of "
            "Delayed objects, and paths of files"
        )
    if hasattr(data, "columns"):
        return list(_narrowed(data, question).to_delayed())
    if getattr(data, "ndim", 0) != 2:
        raise DataError(f"a {type(data).__name__} of rows and columns has 2 dimensions, not {getattr(data, 'ndim', 'other')}")
    return list(data.rechunk({1: -1}).to_delayed().ravel())


def _narrowed(frame: Any, question: Query) -> Any:
    """Returns a DataFrame with only the columns that the query reads, so that Dask reads no others."""
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        return frame
    wanted = _core.columns_read(core_of(question), names)
    return frame[wanted] if wanted else frame


def _partial_of_part(question: Query, part: Any, columns: Sequence[str] | None) -> Partial:
    from ._input import Asked, to_data

    engine, asked = worker_engine()._core, core_of(question)
    data = to_data(part, columns, asked=Asked(engine, asked))
    return Partial(engine.partial(asked, data, 0, _core.Call(False, False, 0)))


# -------------------------------------------------------------------------------------------------------------- files


def _file_partials(delayed: Any, files: Files, question: Query) -> list[Any]:
    """Returns a partial answer for each run of units that is large enough for a task."""
    default_engine().check(question, files)
    token = uuid.uuid4().hex  # the workers open the files once for each query
    partials = []
    begin = first_row = rows = 0
    units = files.units
    for end, size in enumerate(units, 1):
        rows += size
        if rows >= _ROWS_OF_A_TASK or end == len(units):
            partials.append(delayed(_partial_of_units)(question, files._arguments, files._range, token, begin, end, first_row, rows))
            begin, first_row, rows = end, first_row + rows, 0
    return partials or [delayed(_partial_of_units)(question, files._arguments, files._range, token, 0, 0, 0, 0)]


def _partial_of_units(question: Query, arguments: Any, chosen: Any, token: str, begin: int, end: int, first_row: int, rows: int) -> Partial:
    paths, header, null_spellings, delimiter, file_format, types, form = arguments
    files = _opened(
        token, tuple(paths), header, tuple(null_spellings), delimiter, file_format, tuple(types.items()), tuple(form.items())
    )
    if chosen is not None:
        files = files.part(*chosen)
    part = files.part(begin, end)
    if len(part) != rows or sum(files.units[:begin]) != first_row:
        raise DataError(
            f"{', '.join(map(os.fspath, paths))}: the files have changed, or a worker sees others than the caller does"
        )
    return worker_engine().partial(question, part, first_row)


@functools.lru_cache(maxsize=4)
def _opened(token: str, *arguments: Any) -> Files:
    *leading, types, form = arguments
    return files_of((*leading, dict(types), form))


def _merged(question: Query, partials: list[Partial]) -> Partial:
    return worker_engine().merge_partials(question, partials)

"""Reports of queries, for counters and logs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from . import _errors

if TYPE_CHECKING:
    from . import _core
    from ._result import Result


class QueryReport(NamedTuple):
    """The outcome of one query, as `Engine(on_query=...)` hands it to its callback."""

    error: str
    """What ended the query: query, bind, data, device, resource, cancelled, timeout, memory or internal; empty for an answer."""
    message: str
    """Message of that error."""
    input_rows: int
    """Rows of the table; 0 where it could not be opened."""
    rows: int
    """Rows of the answer."""
    bytes_read: int
    """Bytes that were read of files; 0 for a table in memory."""
    bytes_spilled: int
    """Bytes of groups that went to a temporary file."""
    ms: float
    """Time of the call in milliseconds, with waiting and reading."""
    timing: dict[str, float]
    """Milliseconds of its stages, as `Result.timing` has them; empty for a query that failed."""


def error_code(error: BaseException) -> str:
    """Returns the word that stands for an error in reports."""
    if isinstance(error, KeyboardInterrupt):
        return "cancelled"
    if isinstance(error, MemoryError):
        return "memory"
    kinds = [kind for kind in _errors.Error.__subclasses__() if isinstance(error, kind)]
    return kinds[0].__name__.removesuffix("Error").lower() if kinds else "internal"


class Observed:
    """A query that is under way, and whoever hears of its end."""

    def __init__(self, report: Callable[[QueryReport], object]) -> None:
        self._report = report
        self._began = time.perf_counter()
        self.input_rows = 0

    def _ms(self) -> float:
        return (time.perf_counter() - self._began) * 1e3

    def failed(self, error: BaseException) -> None:
        message = error.message if isinstance(error, _errors.Error) else str(error)
        self._report(QueryReport(error_code(error), message, self.input_rows, 0, 0, 0, self._ms(), {}))

    def answered(self, result: Result, core: _core.Result) -> None:
        bytes_read, bytes_spilled = core.bytes()
        report = QueryReport("", "", self.input_rows, len(result), bytes_read, bytes_spilled, self._ms(), result.timing)
        self._report(report)

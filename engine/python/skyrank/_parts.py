"""What clusters share: partial answers of parts whose place in the table is not known while they are made, and answers
over parts that come one after the other."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ._engine import Engine, Partial, default_engine
from ._query import Query
from ._result import Result

_local = threading.local()


def worker_engine(threads: int = 1) -> Engine:
    """Returns the engine of this thread: a cluster runs as many tasks at once as its workers have cores."""
    engines: dict[int, Engine] = _local.__dict__.setdefault("engines", {})
    if threads not in engines:
        engines[threads] = Engine(threads=threads)
    return engines[threads]


def joined(question: Query, partials: Iterable[Partial]) -> Partial:
    """Makes one partial answer of those of consecutive parts, in their order, each numbered from 0; so is the result."""
    placed: list[Partial] = []
    rows = 0
    for partial in partials:
        placed.append(partial.moved(question, rows))
        rows += partial.covers[-1][1] if partial.covers else 0
    # The columns of a part without rows may lack the types of the others.
    return worker_engine().merge_partials(question, [part for part in placed if part.covers] or placed[:1])


class RunningAnswer:
    """The answer over all parts of a table so far, which come one after the other, such as the batches of a stream.

    It keeps the partial answer of these parts alone. Several threads may use it at once.

    >>> import skyrank.dask
    >>> best = skyrank.dask.RunningAnswer(Query().rank_by(low("price")).limit(2))
    >>> best.add(skyrank.partial(best.question, {"price": [3.0, 1.0]}, 0))
    >>> best.add(skyrank.partial(best.question, {"price": [2.0, 4.0]}, 0))
    >>> best.answer().rows
    array([1, 2])

    Args:
        question: The query.
        partial: The partial answer of the parts so far, such as one that was kept in a file; None for none.
    """

    def __init__(self, question: Query, partial: Partial | None = None) -> None:
        self.question = question
        self._partial = partial
        self._lock = threading.Lock()

    def add(self, partial: Partial) -> None:
        """Adds the partial answer of the next part, whose rows are numbered from 0.

        Raises:
            DataError: It belongs to another query.
        """
        with self._lock:
            parts = [partial] if self._partial is None else [self._partial, partial]
            self._partial = joined(self.question, parts)

    @property
    def partial(self) -> Partial | None:
        """The partial answer of all parts so far; None before the first one."""
        return self._partial

    def answer(self) -> Result:
        """Returns the answer over all parts so far. Row ids are positions in the table that these make.

        Raises:
            DataError: There was no part.
        """
        partial = self._partial
        return default_engine().merge(self.question, [] if partial is None else [partial])

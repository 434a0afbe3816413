"""What clusters share: partial answers of parts whose place in the table is not known while they are made."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ._engine import Engine, Partial
from ._query import Query

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

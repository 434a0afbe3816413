"""Queries over Spark DataFrames. Needs the extra `spark`, and SkyRank where the executors run Python.

>>> import skyrank.spark
>>> best = Query().prefer([low("price"), high("rating")])
>>> skyrank.spark.query(spark.read.parquet("offers"), best)    # doctest: +SKIP

Each partition gives a partial answer in a task of Spark (`mapInArrow`), which Spark repeats where an executor is lost.
The driver merges them; where they are many, tasks of Spark merge them first.

An answer over a stream follows its batches:

>>> running = skyrank.spark.BatchAnswer(best)
>>> stream.writeStream.foreachBatch(running).start()             # doctest: +SKIP
>>> running.answer()                                             # doctest: +SKIP
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from . import _core
from ._engine import Partial, default_engine
from ._errors import DataError, required
from ._parts import RunningAnswer, joined, worker_engine
from ._query import Query, core_of
from ._result import Result

_SCHEMA = "place long, answer binary"
_ROWS_AT_ONCE = 1 << 20
_BYTES_AT_ONCE = 1 << 28


def query(frame: Any, question: Query, *, split_every: int = 64) -> Result:
    """Runs a query over a Spark DataFrame, and returns its answer to the driver.

    Args:
        frame: A `pyspark.sql.DataFrame`. Spark reads only the columns that the query needs.
        question: The query. Row ids are positions in the rows as `frame.collect()` orders them, so that they mean
            something where this order is always the same, such as in files that are read without a shuffle.
        split_every: The most partial answers that the driver or one task merges; >= 2.

    Raises:
        ResourceError: There is no PySpark, or no pyarrow.
        DataError: `frame` is no DataFrame of Spark.
        BindError, QueryError, DeviceError: Before Spark starts a job.
        pyspark.errors.PythonException: A task failed; its text ends with that of SkyRank's exception.
    """
    return default_engine().merge(question, [partial(frame, question, split_every=split_every)])


def partial(frame: Any, question: Query, *, split_every: int = 64) -> Partial:
    """Returns the partial answer over a Spark DataFrame, for `skyrank.merge`; takes and raises what `query` does."""
    required("pyspark", "spark", "a query over Spark")
    if split_every < 2:
        raise ValueError("split_every is 2 or more")
    if not hasattr(frame, "mapInArrow"):
        raise DataError(f"a {type(frame).__name__} is no DataFrame of Spark")
    narrow = _narrowed(frame, question)
    empty = narrow.limit(0).toArrow()
    default_engine().check(question, empty)
    answers = narrow.mapInArrow(functools.partial(_partial_of_partition, question), _SCHEMA)
    left = _num_partitions(narrow)
    while left > split_every:
        left = -(-left // split_every)
        merge = functools.partial(_merged_groups, question, split_every)
        answers = answers.repartition(left, (answers["place"] / split_every).cast("long")).mapInArrow(merge, _SCHEMA)
    found = sorted((row["place"], bytes(row["answer"])) for row in answers.collect())
    partials = [Partial.from_bytes(answer) for _, answer in found]
    # A partition without rows has no batches, and gives no answer.
    if not partials:
        partials = [default_engine().partial(question, empty, 0)]
    return joined(question, partials)


class BatchAnswer(RunningAnswer):
    """The answer over all batches of a stream of Spark so far: a function for `DataStreamWriter.foreachBatch`.

    A batch that Spark repeats, as it may after an error, counts once. What it keeps is lost with the process: after a
    restart from a checkpoint, Spark goes on behind the last batch, so keep `partial` and `batch` (`Partial.to_bytes`)
    with the checkpoint. It is for sessions of this process: Spark Connect runs such functions on its server.

    Args:
        question: The query.
        split_every: As in `query`.
        partial: The partial answer of the batches so far; None for none.
        batch: The number of the last of them; -1 for none.
    """

    def __init__(self, question: Query, *, split_every: int = 64, partial: Partial | None = None, batch: int = -1) -> None:
        super().__init__(question, partial)
        self.batch = batch
        self._split_every = split_every

    def __call__(self, frame: Any, batch: int) -> None:
        """Takes a batch of the stream. Row ids count from its first batch on."""
        if batch <= self.batch:
            return
        self.add(partial(frame, self.question, split_every=self._split_every))
        self.batch = batch


def _narrowed(frame: Any, question: Query) -> Any:
    wanted = _core.columns_read(core_of(question), list(frame.columns))
    # Batches without columns would lose the number of their rows.
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in wanted or frame.columns[:1]))


def _num_partitions(frame: Any) -> int:
    """Returns the number of partitions, or 0 where Spark does not tell: a DataFrame of Spark Connect has no RDD."""
    try:
        return int(frame.rdd.getNumPartitions())
    except Exception as error:
        if type(error).__name__ in ("PySparkAttributeError", "PySparkNotImplementedError"):
            return 0
        raise


# --------------------------------------------------------------------------------------------------- on the executors


def _partial_of_partition(question: Query, batches: Iterable[Any]) -> Iterator[Any]:
    """Gives the partial answer of a partition as one record batch, or none where there are no rows."""
    context = required("pyspark", "spark", "a query over Spark").TaskContext.get()
    engine = worker_engine(max(1, context.cpus()))
    answer = None
    rows = 0
    for table in _tables(batches):
        part = engine.partial(question, table, rows)
        rows += len(table)
        answer = part if answer is None else engine.merge_partials(question, [answer, part])
    if answer is not None:
        yield _batch(context.partitionId(), answer)


def _tables(batches: Iterable[Any]) -> Iterator[Any]:
    """Joins the small batches of Spark to tables that are worth a query."""
    table_of = required("pyarrow", "spark", "a query over Spark").Table.from_batches
    held: list[Any] = []
    for batch in batches:
        if batch.num_rows > 0:
            held.append(batch)
        if sum(one.num_rows for one in held) >= _ROWS_AT_ONCE or sum(one.nbytes for one in held) >= _BYTES_AT_ONCE:
            yield table_of(held)
            held = []
    if held:
        yield table_of(held)


def _merged_groups(question: Query, width: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Merges the partial answers of each run of `width` partitions to one."""
    found = [row for batch in batches for row in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist())]
    for group, rows in groupby(sorted(found), lambda row: row[0] // width):
        yield _batch(group, joined(question, [Partial.from_bytes(answer) for _, answer in rows]))


def _batch(place: int, answer: Partial) -> Any:
    pyarrow = required("pyarrow", "spark", "a query over Spark")
    content = pyarrow.array([answer.to_bytes()], pyarrow.binary())
    return pyarrow.RecordBatch.from_arrays([pyarrow.array([place], pyarrow.int64()), content], names=["place", "answer"])

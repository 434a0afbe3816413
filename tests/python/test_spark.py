"""Queries on a local Spark cluster of two executors, one of which is lost. The stage `spark` of tools/test.sh runs it."""

import os
import pathlib
import signal
import sys
import threading
import time

import numpy
import pytest
import skyrank
import skyrank.spark
from skyrank import Query, high, low

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pyspark = pytest.importorskip("pyspark")
from pyspark.sql import SparkSession  # noqa: E402

ROWS = 6000
QUERIES = {
    "skyline": Query().prefer([low("price"), high("rating")]),
    "top k": Query().rank_by(low("price")).limit(9).select("`the name`", "row()", cost="price * 2"),
    "at least": Query().prefer([low("price"), high("rating")]).at_least(40).rank_by("price"),
    "groups": Query()
    .where("price < 0.5")
    .group_by("city")
    .aggregate(skyrank.count("n"), skyrank.sum("s", "price"), skyrank.max("m", "rating"))
    .rank_by("n"),
    "no column": Query().rank_by(low("1 + 1")).limit(3).select("row()"),
}


def table():
    generator = numpy.random.default_rng(3)
    cities = ["Oslo", "Bergen", None, "Aarhus"]
    return pyarrow.table(
        {
            "price": generator.random(ROWS).round(3),
            "rating": pyarrow.array(generator.random(ROWS).round(3), mask=generator.random(ROWS) < 0.1),
            "city": [cities[index] for index in generator.integers(0, 4, ROWS)],
            "the name": [f"hotel {index}" for index in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("workers"))
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("skyrank")
    for key, value in {
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hotels")
    for index in range(4):
        parquet.write_table(table().slice(1500 * index, 1500), folder / f"part{index}.parquet", row_group_size=400)
    spark.conf.set("spark.sql.files.maxPartitionBytes", 1 << 14)
    return spark.read.parquet(str(folder))


def same(result, expected):
    assert result.rows.tolist() == expected.rows.tolist()
    assert result.columns == expected.columns
    assert [result[name].tolist() for name in result.columns] == [expected[name].tolist() for name in expected.columns]
    assert (result.levels is None) == (expected.levels is None) and (result.levels is None or (result.levels == expected.levels).all())


@pytest.mark.parametrize("name", QUERIES)
def test_partitions_equal_one_run(frame, name):
    assert frame.rdd.getNumPartitions() > 3
    expected = skyrank.query(frame.toArrow(), QUERIES[name])
    same(skyrank.spark.query(frame, QUERIES[name]), expected)


def test_a_tree_of_tasks(frame):
    for name in ("skyline", "groups"):
        expected = skyrank.query(frame.toArrow(), QUERIES[name])
        same(skyrank.spark.query(frame, QUERIES[name], split_every=2), expected)


def test_partitions_without_rows(spark, frame):
    none = frame.where("price > 2")
    assert len(skyrank.spark.query(none, QUERIES["skyline"])) == 0
    few = spark.range(3).repartition(8)
    assert sorted(skyrank.spark.query(few, Query().rank_by("id").limit(5))["id"].tolist()) == [0, 1, 2]


def test_an_executor_that_is_lost_in_the_middle(spark, frame, tmp_path):
    folder = str(tmp_path)
    parts = spark.createDataFrame(table().drop_columns(["city"])).repartition(40)

    def pause(batches):  # not of this module, which the executors do not know
        import os
        import pathlib
        import time

        for batch in batches:
            (pathlib.Path(folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            time.sleep(0.2)
            yield batch

    slowed = parts.mapInArrow(pause, parts.schema)
    lost = []

    def kill():
        while len(list(tmp_path.iterdir())) < 6:
            time.sleep(0.02)
        lost.append(executors()[0])
        os.kill(lost[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    result = skyrank.spark.query(slowed, QUERIES["skyline"])
    killer.join(30)
    expected = skyrank.query(table(), QUERIES["skyline"])
    assert lost and lost[0] not in executors()
    for name in ("the name", "price"):  # without row ids, as `repartition` moves rows
        assert sorted(result[name].tolist()) == sorted(expected[name].tolist())
    assert len(list(tmp_path.iterdir())) > 40, "partitions of the lost executor are made again"


def executors():
    """Returns the processes of the executors of this session."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and is_descendant(int(folder.name)):
            found.append(int(folder.name))
    return sorted(found)


def is_descendant(process):
    while process > 1:
        if process == os.getpid():
            return True
        process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


def test_errors(frame, monkeypatch):
    with pytest.raises(skyrank.BindError, match="there is no column 'pric'"):
        skyrank.spark.query(frame, Query().prefer(low("pric")))
    with pytest.raises(skyrank.DataError, match="a dict is no DataFrame of Spark"):
        skyrank.spark.query({"x": [1]}, QUERIES["skyline"])
    with pytest.raises(ValueError, match="split_every"):
        skyrank.spark.query(frame, QUERIES["skyline"], split_every=1)
    with pytest.raises(pyspark.errors.PythonException, match="DataError: .*row"):
        skyrank.spark.query(frame.withColumn("price", frame["price"].cast("long")), Query().rank_by("price + 9223372036854775807 + 1").limit(1))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(skyrank.ResourceError, match=r"a query over Spark needs pyspark: pip install 'skyrank\[spark\]'"):
        skyrank.spark.query(frame, QUERIES["skyline"])


def test_answers_follow_the_batches_of_a_stream(spark, tmp_path):
    question, whole = QUERIES["skyline"], table()
    running = skyrank.spark.BatchAnswer(question)
    for batch in range(3):
        part = tmp_path / f"part{batch}.parquet"
        parquet.write_table(whole.slice(1500 * batch, 1500), part)
        frame = spark.read.parquet(str(part))
        for _ in range(2):  # Spark may repeat one
            running(frame, batch)
        same(running.answer(), skyrank.query(whole.slice(0, 1500 * (batch + 1)), question))
    folder = tmp_path / "stream"
    folder.mkdir()
    parquet.write_table(whole, folder / "all.parquet")
    streamed = skyrank.spark.BatchAnswer(question)
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).parquet(str(folder)).writeStream.foreachBatch(streamed)
    stream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    same(streamed.answer(), skyrank.query(whole, question))

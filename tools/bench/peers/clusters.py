#!/usr/bin/env python3
"""One worker beside two: a skyline and a ranking over 40 Parquet files on local clusters of Dask and Spark.

A worker has one core; with Dask each is bound to a core of its own. Queries run on both clusters in turns, and every answer
is compared with that of one process. `wall` is the shortest time of a query, from the call to the Result, where workers are
warm. `worker cpu` (Dask) is the least processor time of the busiest worker, which says on a machine that is shared how well
the work is spread, but leaves out the scheduler, the client and what waits for them.

Needs the package with pyarrow, and dask and distributed, or pyspark and a Java runtime (tools/setup.sh --test --spark):
  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/clusters.py dask
  PYTHONPATH=build/release/python:.deps/spark .deps/python/bin/python tools/bench/peers/clusters.py spark
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import numpy
import pyarrow
import pyarrow.parquet
import skyrank
from skyrank import Query, high, low

FILES = 40
QUERIES = {
    "skyline of 4": Query().prefer([low("a"), low("b"), high("c"), low("d")]).select("row()", "a"),
    "top 50": Query().where("b > 0.2").rank_by(low("a * 2 + c")).limit(50).select("row()", "a"),
}


def write_files(folder, rows):
    for number in range(FILES):
        generator = numpy.random.default_rng(number)
        columns = {name: generator.random(rows // FILES) for name in "abcd"}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"part{number:02}.parquet")


def bind_to_core(cores, dask_worker):
    core = cores[int(dask_worker.name) % len(cores)]
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def measure_dask(folder, rounds):
    """Yields (query, workers, seconds, processor seconds of the busiest worker) of each run."""
    import dask

    dask.config.set({"logging.distributed": "error"})  # before distributed is imported
    import skyrank.dask
    from distributed import Client, LocalCluster

    files = str(folder / "*.parquet")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    clusters = [LocalCluster(n_workers=workers, **options) for workers in (1, 2)]
    clients = [Client(cluster, set_as_default=False) for cluster in clusters]
    for client in clients:
        client.run(bind_to_core, sorted(os.sched_getaffinity(0)))
    for name, query in QUERIES.items():
        expected = skyrank.query(files, query).rows.tolist()
        for turn in range(rounds + 1):
            for workers, client in enumerate(clients, start=1):
                before = client.run(time.process_time)
                begin = time.perf_counter()
                with client.as_current():
                    rows = skyrank.dask.query(files, query).rows.tolist()
                seconds = time.perf_counter() - begin
                busiest = max(after - before[worker] for worker, after in client.run(time.process_time).items())
                assert rows == expected, "the answer differs from that of one process"
                if turn > 0:
                    yield name, workers, seconds, busiest
    for client, cluster in zip(clients, clusters):
        client.close()
        cluster.close()


def measure_spark(folder, rounds):
    """Yields the same of Spark, of which only the seconds are known. A process has one cluster at a time."""
    import pyspark
    import skyrank.spark
    from pyspark.sql import SparkSession

    os.environ.update(
        SPARK_HOME=os.path.dirname(pyspark.__file__),
        SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_PYTHON=sys.executable,
        SPARK_WORKER_DIR=str(folder / "workers"),
    )
    for _ in range(2):
        for workers in (1, 2):
            builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]").config("spark.ui.enabled", "false")
            builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
            session = builder.config("spark.local.dir", str(folder / "spark")).getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            frame = session.read.parquet(str(folder / "*.parquet"))
            for name, query in QUERIES.items():
                values = None
                for turn in range(rounds + 1):
                    begin = time.perf_counter()
                    answer = skyrank.spark.query(frame, query)["a"].tolist()
                    seconds = time.perf_counter() - begin
                    values = values or sorted(skyrank.query(str(folder / "*.parquet"), query)["a"].tolist())
                    assert sorted(answer) == values, "the answer differs from that of one process"
                    if turn > 0:
                        yield name, workers, seconds, None
            session.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cluster", choices=["dask", "spark"])
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of all files together (20,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of a query on each cluster, after one more (5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="build" if pathlib.Path("build").is_dir() else None) as name:
        folder = pathlib.Path(name).absolute()
        write_files(folder, arguments.rows)
        best = {}
        runs = {"dask": measure_dask, "spark": measure_spark}[arguments.cluster](folder, arguments.rounds)
        for query, workers, seconds, processor in runs:
            for what, value in (("wall", seconds), ("worker cpu", processor)):
                if value is not None:
                    best[query, what, workers] = min(value, best.get((query, what, workers), value))
    for query, what, workers in sorted(best):
        if workers == 1:
            one, two = best[query, what, 1], best[query, what, 2]
            print(f"{query:14} {what:11} one worker {one:7.3f} s, two {two:7.3f} s: {one / two:.2f} x")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()

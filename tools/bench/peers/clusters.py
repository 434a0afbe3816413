#!/usr/bin/env python3
"""One worker beside two: a skyline and a ranking over 40 Parquet files on local clusters of Dask and Spark.

A worker has one core, to which it is bound with all its threads and processes: an executor of Spark is a JVM and a process
of Python, which would run side by side otherwise. Queries run on both clusters in turns, and every answer is compared with
that of one process. `wall` is the shortest time of a query, from the call to the Result, where workers are warm.
`worker cpu` is the least processor time of the busiest worker, which says on a machine that is shared how well the work is
spread, but leaves out the scheduler, the client and what waits for them.

Needs the package with pyarrow, and dask and distributed, or pyspark and a Java runtime (tools/setup.sh --test --spark):
  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/clusters.py dask
  PYTHONPATH=build/release/python:.deps/spark .deps/python/bin/python tools/bench/peers/clusters.py spark
With Spark it takes four minutes on two cores. Fewer rows tell more of what a job of Spark takes beside its tasks.
"""

import argparse
import itertools
import multiprocessing
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
# As many tasks for each of two workers; Spark's own choice here is 7.
SPARK_PARTITIONS = 8
SPARK_WARM_UP = 4  # runs of a query until the JVMs have compiled most of what it needs
ROWS = {"dask": 20_000_000, "spark": 16_000_000}
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
    bind_process(os.getpid(), cores[int(dask_worker.name) % len(cores)])


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
    """Yields the same of Spark, whose clusters are in processes of their own, as one has one at a time."""
    context = multiprocessing.get_context("spawn")
    pipes, servers = {}, []
    for workers in (1, 2):
        pipes[workers], other = context.Pipe()
        servers.append(context.Process(target=serve_spark, args=(workers, folder, other)))
        servers[-1].start()
        other.close()
    try:
        files = str(folder / "*.parquet")
        expected = {name: sorted(skyrank.query(files, query)["a"].tolist()) for name, query in QUERIES.items()}
        for turn in range(SPARK_WARM_UP + rounds):
            for name, (workers, pipe) in itertools.product(QUERIES, pipes.items()):
                pipe.send(name)
                seconds, busiest, values = pipe.recv()
                assert values == expected[name], "the answer differs from that of one process"
                if turn >= SPARK_WARM_UP:
                    yield name, workers, seconds, busiest
    except (EOFError, OSError):
        sys.exit(f"clusters.py: the cluster of Spark with {workers} executors ended; why is said above")
    finally:
        for pipe in pipes.values():
            pipe.close()
        for server in servers:
            server.join()


def serve_spark(workers, folder, pipe):
    """Answers queries, by their names, with their seconds, the busiest executor's and the values that they found."""
    import pyspark
    import skyrank.spark
    from pyspark.sql import SparkSession

    os.environ.update(
        SPARK_HOME=os.path.dirname(pyspark.__file__),
        SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_PYTHON=sys.executable,
        SPARK_WORKER_DIR=str(folder / f"workers{workers}"),
    )
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / f"spark{workers}"),
        # Executors have folders of their own, where relative paths mean nothing.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path),
        # As on a machine of one core: the JVM then has no threads that collect garbage beside the task.
        "spark.executor.extraJavaOptions": "-XX:ActiveProcessorCount=1",
        "spark.sql.files.minPartitionNum": str(SPARK_PARTITIONS),
        # The driver lists the files, without a job of 40 tasks.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(folder / "*.parquet"))
    cores = sorted(os.sched_getaffinity(0))
    while (name := received(pipe)) is not None:
        for number, executor in enumerate(sorted(executors())):
            for process in family(executor):
                bind_process(process, cores[number % len(cores)])
        before = {executor: processor_seconds(executor) for executor in executors()}
        begin = time.perf_counter()
        values = sorted(skyrank.spark.query(frame, QUERIES[name])["a"].tolist())
        seconds = time.perf_counter() - begin
        busiest = max(processor_seconds(executor) - before.get(executor, 0.0) for executor in executors())
        pipe.send((seconds, busiest, values))
    session.stop()


def received(pipe):
    """Returns what comes next, or None once the other end is closed."""
    try:
        return pipe.recv()
    except EOFError:
        return None


def processes():
    """Returns the parent and the processor seconds of each process, those of its children that ended included."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended
            found[int(folder.name)] = int(words[1]), sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


def family(process):
    """Returns a process and what it started."""
    parents = {child: parent for child, (parent, _) in processes().items()}
    members = {process}
    while more := {child for child, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def executors():
    """Returns the executors among what this process started."""
    kind = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
    found = []
    for process in family(os.getpid()):
        try:
            command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue  # it ended
        if kind in command.split(b"\0"):
            found.append(process)
    return found


def processor_seconds(process):
    known = processes()
    return sum(known[member][1] for member in family(process) if member in known)


def bind_process(process, core):
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            os.sched_setaffinity(int(thread), {core})
    except (FileNotFoundError, ProcessLookupError):
        pass  # it ended, or one of its threads did


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cluster", choices=["dask", "spark"])
    parser.add_argument("--rows", type=int, help="rows of all files together (20,000,000; with Spark 4,000,000)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of a query on each cluster, after others (5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="build" if pathlib.Path("build").is_dir() else None) as name:
        folder = pathlib.Path(name).absolute()
        write_files(folder, arguments.rows or ROWS[arguments.cluster])
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

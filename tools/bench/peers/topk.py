#!/usr/bin/env python3
"""Top-k of SkyRank beside DuckDB, Polars and NumPy: the same data, machine and threads, A B A B.

Measured is the query alone, with the data in memory on both sides, until its k rows are there: value and row id,
ordered by value. SkyRank comes twice. "skyrank query" is the whole query of the engine over the values, as `skyrank run`
reports it: binding, planning, keys, kernel, rows. "skyrank kernel" is the kernel on prepared keys, as `skyrank bench`
times it, by the algorithm that was fastest in a first round. DuckDB: ORDER BY ... LIMIT k over an in-memory table with
rowid, into NumPy arrays. Polars: bottom_k, and a lazy sort with head, of a frame with a row index. NumPy (one thread):
argpartition, then a sort of the k. Only SkyRank promises which of equal values it returns. All answers are compared
with a sort by NumPy, those of the kernel by `skyrank bench` itself.

Needs a Python with numpy and pyarrow, and with whichever of duckdb and polars is to be measured:
  python3 -m venv build/peers && build/peers/bin/pip install numpy pyarrow duckdb polars
  build/peers/bin/python tools/bench/peers/topk.py --skyrank build/release/skyrank --threads 2 --out peers.csv
"""

import argparse
import csv
import importlib.metadata
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

DISTRIBUTIONS = "uniform,increasing,decreasing,all-equal,few-distinct,nan-heavy,bucket-killer"
SUITE = "topk-peers"


class Peer:
    """A library; subclasses load the keys once and answer queries for k rows."""

    def __init__(self, library, name, load):
        version = importlib.metadata.version(library)
        self.name = f"{name}-{version}"
        self.load = load  # keys -> (k -> (row ids, keys))


def duckdb_peer(threads):
    import duckdb
    import pyarrow

    def load(keys):
        connection = duckdb.connect(config={"threads": threads})
        source = pyarrow.table({"c0": keys})  # DuckDB finds it by its name
        connection.execute("CREATE TABLE data AS SELECT * FROM source")
        del source

        def query(k):
            answer = connection.execute(f"SELECT rowid, c0 FROM data ORDER BY c0 LIMIT {k}").fetchnumpy()
            return answer["rowid"], answer["c0"]

        return query

    return Peer("duckdb", "duckdb", load)


def polars_peers():
    import polars

    def frame(keys):
        return polars.DataFrame({"c0": keys}).with_row_index("row")

    def columns(answer):
        return answer["row"].to_numpy(), answer["c0"].to_numpy()

    def load_bottom_k(keys):
        data = frame(keys)
        return lambda k: columns(data.bottom_k(k, by="c0").sort("c0"))

    def load_sort_head(keys):
        data = frame(keys).lazy()
        return lambda k: columns(data.sort("c0").head(k).collect())

    return [Peer("polars", "polars-bottom-k", load_bottom_k), Peer("polars", "polars-sort-head", load_sort_head)]


def numpy_peer():
    import numpy

    def load(keys):
        def query(k):
            rows = numpy.argpartition(keys, k - 1)[:k]
            rows = rows[numpy.argsort(keys[rows], kind="stable")]
            return rows, keys[rows]

        return query

    return Peer("numpy", "numpy-argpartition", load)


def find_peers(threads):
    os.environ["POLARS_MAX_THREADS"] = str(threads)  # read when polars is first imported
    peers = []
    for library, make in [
        ("duckdb", lambda: [duckdb_peer(threads)]),
        ("polars", polars_peers),
        ("numpy", lambda: [numpy_peer()]),
    ]:
        try:
            peers += make()
        except ImportError:
            print(f"{library} left out: not installed", file=sys.stderr)
    return peers


def read_arrow(path):
    import pyarrow

    with pyarrow.OSFile(str(path)) as file:
        return pyarrow.ipc.open_file(file).read_all()


class SkyRank:
    """`skyrank`, called for one cell at a time."""

    def __init__(self, program, threads, folder):
        self.program = program
        self.threads = threads
        self.grid = folder / f"{SUITE}.yaml"
        self.figures = folder / "figures.csv"
        self.values = folder / "values.arrow"
        self.batch = folder / "batch.yaml"
        self.answers = folder / "answers"

    def call(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"peers: {self.program} {arguments[0]} failed\n{done.stdout}{done.stderr}")
        return done.stdout

    def generate(self, distribution, n):
        """The values of the next cells, as a NumPy array."""
        self.call("generate", "--distribution", distribution, "--rows", n, "--out", self.values)
        return read_arrow(self.values)["c0"].to_numpy()

    def time_query(self, k, runs, check):
        """Milliseconds of whole queries over the values, and what was wrong with the answers."""
        warmups = 2
        query = f"from: values, rank_by: {{low: c0}}, limit: {k}, select: [row, c0]"
        self.batch.write_text(
            f"version: 1\ntables: {{values: {{file: {self.values.name}}}}}\nqueries:\n"
            + "".join(f"  - {{name: run-{i}, {query}}}\n" for i in range(warmups + runs))
        )
        output = self.call("run", self.batch, "--threads", self.threads, "--device", "cpu", "--json", "--format", "arrow", "--out", self.answers)
        samples, faults = [], []
        for done in json.loads(output)["queries"][warmups:]:
            samples.append(done["timing"]["total_ms"])
            answer = read_arrow(done["file"])
            faults.append(check((answer["row"].to_numpy(), answer["c0"].to_numpy())))
        return samples, next(filter(None, faults), "")

    def measure(self, distribution, n, k, runs, algorithm=None):
        """The lines that `skyrank bench` writes for one cell, by name of the column."""
        self.grid.write_text(
            f"version: 1\ncells: [{{op: top-k, distribution: {distribution}, n: {n}, k: {k}, threads: {self.threads}, "
            f"warmups: 2, repeats: {runs}}}]\n"
        )
        only = ["--algorithms", algorithm] if algorithm else []
        self.call("bench", self.grid, "--device", "cpu", "--out", self.figures, *only)
        with open(self.figures, newline="") as file:
            return list(csv.DictReader(file))


def fault_of(answer, k, expected, keys):
    """What is wrong with a peer's answer, or nothing."""
    import numpy

    rows, values = answer
    if len(rows) != k or len(numpy.unique(rows)) != k:
        return f"{len(rows)} rows instead of {k} different ones"
    if not numpy.array_equal(values, expected, equal_nan=True):
        return "the keys are not the k smallest in order"
    if not numpy.array_equal(keys[numpy.asarray(rows, dtype=numpy.int64)], values, equal_nan=True):
        return "the keys are not those of the rows"
    return ""


def time_peer(query, k, runs, check):
    """Milliseconds of each run, and what was wrong with the answers."""
    samples, faults = [], []
    for _ in range(runs):
        start = time.perf_counter()
        answer = query(k)
        samples.append(1e3 * (time.perf_counter() - start))
        faults.append(check(answer))
    return samples, next(filter(None, faults), "")


def measure_cell(skyrank, queries, cell, keys, rounds, runs):
    """Lines for one cell: SkyRank's query, its fastest kernel, then the peers."""
    import numpy

    distribution, n, k = cell
    expected = numpy.sort(keys)[:k]

    def check(answer):
        return fault_of(answer, k, expected, keys)

    timers = {"skyrank query": lambda: skyrank.time_query(k, runs, check)}
    for peer, query in queries.items():
        timers[peer.name] = lambda query=query: time_peer(query, k, runs, check)
        query(k)  # warm-up
    samples, faults = {name: [] for name in timers}, {name: "" for name in timers}
    kernels = skyrank.measure(distribution, n, k, runs)
    best = min(kernels, key=lambda line: float(line["median_ms"]))["algorithm"]
    kernel = []
    for _ in range(rounds):
        kernel += skyrank.measure(distribution, n, k, runs, best)
        for name, timer in timers.items():
            times, fault = timer()
            samples[name] += times
            faults[name] = faults[name] or fault

    floor = statistics.median(float(line["floor_ms"]) for line in kernel)
    template = dict(kernel[0], algorithm=f"skyrank kernel {best}", floor_ms=f"{floor:.4f}")
    template["correct"] = "yes" if all(line["correct"] == "yes" for line in kernel) else "no"
    medians = [float(line["median_ms"]) for line in kernel]
    lines = [timed(template, floor, statistics.median(medians), min(float(line["min_ms"]) for line in kernel))]
    for name, times in samples.items():
        if faults[name]:
            print(f"{name} is WRONG: {faults[name]}")
        line = dict(template, algorithm=name, correct="no" if faults[name] else "yes", result_size=k)
        line.update(dict.fromkeys(["bytes_read", "bytes_written", "dominance_tests", "mask_tests"], ""))
        lines.append(timed(line, floor, statistics.median(times), min(times)))
    lines[0], lines[1] = lines[1], lines[0]
    return lines


def timed(line, floor, median, least):
    return dict(line, median_ms=f"{median:.4f}", min_ms=f"{least:.4f}", x_floor=f"{median / floor:.3f}")


def print_cell(cell, lines):
    distribution, n, k = cell
    print(f"top-k  {distribution}  n {n:,}  k {k:,}")
    print(f"  {'':<36}{'median ms':>12}{'min ms':>12}{'ratio':>9}{'x floor':>9}")
    first = float(lines[0]["median_ms"])
    for line in lines:
        median = float(line["median_ms"])
        print(f"  {line['algorithm']:<36}{median:>12.3f}{float(line['min_ms']):>12.3f}{median / first:>9.2f}"
              f"{float(line['x_floor']):>9.2f}")
    print(flush=True)


def print_summary(cells):
    """Times over those of SkyRank's whole query and of its kernel, as geometric means over the cells."""
    print(f"{'geometric mean (least) of time over':<36}{'skyrank query':>18}{'skyrank kernel':>18}")
    for peer in range(2, len(cells[0])):
        text = f"  {cells[0][peer]['algorithm']:<34}"
        for ours in (0, 1):
            ratios = [float(lines[peer]["median_ms"]) / float(lines[ours]["median_ms"]) for lines in cells]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            text += f"{f'{mean:.2f} ({min(ratios):.2f})':>18}"
        print(text)


def append_csv(path, lines):
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyrank", default="build/release/skyrank", help="the program (default: %(default)s)")
    parser.add_argument("--distributions", default=DISTRIBUTIONS, help="of `skyrank generate --list`, float32 only")
    parser.add_argument("--n", default="100000,10000000", help="rows (default: %(default)s)")
    parser.add_argument("--k", default="1,32,1024,n/100", help="rows wanted (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="timed runs in a turn (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file to append to")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    peers = find_peers(arguments.threads)
    print(f"peers: {', '.join(peer.name for peer in peers)}; {arguments.threads} threads\n")
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        skyrank = SkyRank(arguments.skyrank, arguments.threads, pathlib.Path(folder))
        for distribution in arguments.distributions.split(","):
            for n in map(int, arguments.n.split(",")):
                keys = skyrank.generate(distribution, n)
                queries = {peer: peer.load(keys) for peer in peers}
                for text in arguments.k.split(","):
                    k = max(1, n // int(text[2:])) if text.startswith("n/") else int(text)
                    cell = (distribution, n, k)
                    lines = measure_cell(skyrank, queries, cell, keys, arguments.rounds, arguments.runs)
                    print_cell(cell, lines)
                    if arguments.out:
                        append_csv(arguments.out, lines)
                    cells.append(lines)
    print_summary(cells)
    return 0 if all(line["correct"] == "yes" for lines in cells for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""SkyRank's Python package beside the libraries that answer the same questions: same arrays, process and threads, in turns.

Measured is a call, from NumPy arrays (skylines, ranks) or from a table in the form that each library likes best (top-k:
Arrow, a DataFrame, an array) to its answer: row ids or a mask, ranks, the k rows. A round runs each library once; the order
of libraries alternates. All answers are compared. A library whose first call takes longer than --patience seconds is timed
once. The import of skyrank is measured too, in processes of its own, beside a process that imports nothing.

Needs the package, and whichever of the others are to be measured:
  .deps/python/bin/python tools/bench/peers/python.py --out python-cpu.csv    (with PYTHONPATH=build/release/python)
"""

import argparse
import csv
import importlib.metadata
import statistics
import subprocess
import sys
import time

import numpy
import skyrank


def points_of(distribution, rows, columns):
    """Returns float64 of shape (rows, columns); anticorrelated ones scatter around a plane of equal sums."""
    generator = numpy.random.default_rng(1)
    points = generator.random((rows, columns))
    if distribution == "anticorrelated":
        points += (0.5 + generator.normal(0, 0.05, rows) - points.mean(axis=1))[:, None]
    return points


def skyline_calls(points):
    """Returns each library's call for the rows of the skyline, by the library's name."""
    calls = {"skyrank": lambda: skyrank.skyline(points).rows}
    if moocore := optional("moocore"):
        calls["moocore"] = lambda: numpy.flatnonzero(moocore.is_nondominated(points, keep_weakly=True))
    if paretoset := optional("paretoset"):
        calls["paretoset"] = lambda: numpy.flatnonzero(paretoset.paretoset(points, distinct=False))
    return calls


def rank_calls(points):
    calls = {"skyrank": lambda: skyrank.rank(points)}
    if moocore := optional("moocore"):
        calls["moocore"] = lambda: moocore.pareto_rank(points)
    if optional("pymoo"):
        from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

        calls["pymoo"] = lambda: NonDominatedSorting().do(points, return_rank=True)[1]
    return calls


def top_k_calls(values, k=50):
    """Returns calls for the k largest values, in descending order."""
    engine_table = skyrank.Table({"x": values})
    calls = {
        "skyrank": lambda: skyrank.top_k(engine_table, k, "x")["x"],
        "skyrank-new-table": lambda: skyrank.top_k({"x": values}, k, "x")["x"],
        "numpy": lambda: -numpy.sort(numpy.partition(-values, k)[:k]),
    }
    if polars := optional("polars"):
        frame = polars.DataFrame({"x": values})
        calls["polars"] = lambda: frame.top_k(k, by="x")["x"].sort(descending=True).to_numpy()
    if duckdb := optional("duckdb"):
        connection = duckdb.connect()
        source = {"x": values}  # DuckDB finds it by its name
        connection.execute("CREATE TABLE t AS SELECT * FROM source")
        calls["duckdb"] = lambda: connection.execute(f"SELECT x FROM t ORDER BY x DESC LIMIT {k}").fetchnumpy()["x"]
    return calls


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def timed(call):
    begin = time.perf_counter()
    answer = call()
    return time.perf_counter() - begin, answer


def measure(calls, rounds, patience):
    """Returns the seconds of each call in each round; raises an AssertionError where answers differ."""
    expected = calls["skyrank"]()
    seconds = {}
    for name, call in calls.items():
        first, answer = timed(call)
        assert numpy.array_equal(answer, expected), f"{name} has another answer"
        seconds[name] = [first] if first > patience else []
    patient = [name for name in calls if not seconds[name]]
    for turn in range(rounds):
        for name in patient[:: -1 if turn % 2 else 1]:
            seconds[name].append(timed(calls[name])[0])
    return seconds


def import_calls():
    return {
        "skyrank": lambda: subprocess.run([sys.executable, "-c", "import skyrank"], check=True).returncode,
        "nothing": lambda: subprocess.run([sys.executable, "-c", ""], check=True).returncode,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="calls of each library (15)")
    parser.add_argument("--patience", type=float, default=2.0, help="seconds after which one call is enough (2)")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of skylines; ranks take a tenth, top-k ten times it")
    parser.add_argument("--out", help="CSV to write")
    arguments = parser.parse_args()
    rows = arguments.rows
    cells = [("import", import_calls())]
    for distribution, columns in [("independent", 4), ("independent", 8), ("anticorrelated", 4)]:
        points = points_of(distribution, rows, columns)
        cells.append((f"skyline {rows} x {columns} {distribution}", skyline_calls(points)))
    cells.append((f"ranks {rows // 10} x 3 independent", rank_calls(points_of("independent", rows // 10, 3))))
    cells.append((f"top 50 of {rows * 10}", top_k_calls(points_of("independent", rows * 10, 1)[:, 0])))
    lines = []
    for cell, calls in cells:
        for name, seconds in measure(calls, arguments.rounds, arguments.patience).items():
            lines.append([cell, name, version_of(name), f"{1e3 * statistics.median(seconds):.3f}", len(seconds)])
            print(f"{cell:40} {name:20} {lines[-1][3]:>12} ms", flush=True)
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["question", "library", "version", "median_ms", "calls"])
            writer.writerows(lines)


def version_of(name):
    if name.startswith("skyrank"):
        return skyrank.__version__
    return "" if name == "nothing" else importlib.metadata.version(name)


if __name__ == "__main__":
    main()

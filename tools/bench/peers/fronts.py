#!/usr/bin/env python3
"""Skylines and Pareto levels of small and of large fronts, beside moocore, paretoset, pymoo and DuckDB's anti join.

Measured is a call from NumPy arrays of float64 to its answer: the rows of the skyline, or the level of each row. DuckDB
gets a table. A round calls each library once, and the order of libraries alternates. Every answer of every round is
compared with moocore's. All but SkyRank and moocore compare pairs of rows, so they are measured up to --pairs rows only.

The cells are those of moocore's own benchmark, and points of which many are in the front or none: circles, spheres,
simplices, a line beside a constant column, chains, clusters and columns of equal values. moocore's data sets are measured
if --data names a folder that has them (https://github.com/multi-objective/testsuite, folder data).

  python3 -m venv build/peers && build/peers/bin/pip install numpy moocore paretoset pymoo duckdb
  PYTHONPATH=build/release/python build/peers/bin/python tools/bench/peers/fronts.py --out fronts-cpu.csv
"""

import argparse
import csv
import importlib.metadata
import pathlib
import statistics
import sys
import time

import moocore
import numpy
import skyrank

DATA_SETS = {"test2D-200k": "test2D-200k.inp.xz", "ran3d-40k": "ran.40000pts.3d.1.xz"}


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def uniform(rows, columns):
    return numpy.random.default_rng(42).random((rows, columns))


def circle(rows):
    angles = numpy.random.default_rng(0).random(rows) * 2 * numpy.pi
    return numpy.column_stack([numpy.cos(angles), numpy.sin(angles)])


def sphere(rows, columns):
    points = numpy.abs(numpy.random.default_rng(1).normal(size=(rows, columns)))
    return points / numpy.linalg.norm(points, axis=1)[:, None]


def simplex(rows, columns):
    return numpy.random.default_rng(2).dirichlet(numpy.ones(columns), rows)


def line_and_constant(rows):
    places = numpy.random.default_rng(3).permutation(rows).astype(float)
    return numpy.column_stack([places, -places, 0 * places])


def chain(rows, columns):
    places = numpy.random.default_rng(4).permutation(rows).astype(float)
    return numpy.column_stack([places] * columns)


def clusters(rows, columns):
    """Returns points around 20 centres on a simplex, which do not dominate each other."""
    generator = numpy.random.default_rng(5)
    centres = simplex(20, columns)
    return centres[generator.integers(20, size=rows)] + generator.normal(0, 0.01, (rows, columns))


def equal(rows, columns):
    return numpy.full((rows, columns), 7.0)


def skyline_cells(large):
    """Yields the name and the points of each cell; fronts of `large` rows are the largest."""
    for columns in range(2, 11):
        yield f"uniform 500 x {columns}", uniform(500, columns)
    for rows, columns in [(50_000, 2), (40_000, 3), (30_000, 4), (20_000, 5), (33_667, 10), (large, 2), (large, 3)]:
        yield f"uniform {rows} x {columns}", uniform(rows, columns)
    for rows in [500, 5_000, 50_000, large]:
        yield f"circle {rows} x 2", circle(rows)
    for name, shape in [("sphere", sphere), ("simplex", simplex)]:
        for rows in [500, 5_000, large]:
            yield f"{name} {rows} x 3", shape(rows, 3)
    yield "sphere 5000 x 4", sphere(5_000, 4)
    for rows in [5_000, large]:
        yield f"line and constant {rows} x 3", line_and_constant(rows)
        yield f"clusters {rows} x 3", clusters(rows, 3)
        for columns in [2, 3]:
            yield f"chain {rows} x {columns}", chain(rows, columns)
            yield f"equal {rows} x {columns}", equal(rows, columns)


def rank_cells():
    for rows, columns in [(100, 2), (100, 3), (100, 5), (100, 10), (1_000, 3), (1_000, 5), (1_000, 10), (10_000, 10)]:
        yield f"ranks {rows} x {columns}", uniform(rows, columns)


def data_cells(folder):
    """Yields the data sets that the folder has. moocore's benchmark maximises them."""
    for name, file in DATA_SETS.items():
        path = pathlib.Path(folder) / file
        if path.exists():
            points = moocore.read_datasets(path)[:, :-1]
            yield f"{name} maximised", numpy.ascontiguousarray(-points)


def anti_join(points):
    """Returns a call of DuckDB for the rows that no other row dominates."""
    connection = optional("duckdb").connect()
    source = {f"c{j}": column for j, column in enumerate(points.T)} | {"id": numpy.arange(len(points))}
    names = [name for name in source if name != "id"]
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    no_worse = " AND ".join(f"b.{name} <= a.{name}" for name in names)
    better = " OR ".join(f"b.{name} < a.{name}" for name in names)
    # DuckDB 2.0.1 plans this as an anti join; written as ANTI JOIN it gives wrong rows of three columns and more.
    query = f"SELECT id FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE {no_worse} AND ({better})) ORDER BY id"
    return lambda: connection.execute(query).fetchnumpy()["id"]


def skyline_calls(points, pairs):
    calls = {
        "skyrank": lambda: skyrank.skyline(points).rows,
        "moocore": lambda: numpy.flatnonzero(moocore.is_nondominated(points, keep_weakly=True)),
    }
    if len(points) > pairs:
        return calls
    if paretoset := optional("paretoset"):
        calls["paretoset"] = lambda: numpy.flatnonzero(paretoset.paretoset(points, distinct=False))
    if optional("pymoo"):
        from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

        calls["pymoo"] = lambda: numpy.sort(NonDominatedSorting().do(points, only_non_dominated_front=True))
    if optional("duckdb"):
        calls["duckdb"] = anti_join(points)
    return calls


def rank_calls(points):
    return {"skyrank": lambda: skyrank.rank(points), "moocore": lambda: moocore.pareto_rank(points)}


def timed(call, times):
    begin = time.perf_counter()
    for _ in range(times):
        answer = call()
    return (time.perf_counter() - begin) / times, answer


def measure(calls, rounds):
    """Returns the seconds of each call in each round; raises an AssertionError where answers differ."""
    expected = calls["moocore"]()
    seconds = {name: [] for name in calls}
    first = {name: timed(call, 1)[0] for name, call in calls.items()}
    for turn in range(rounds):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            # Calls of microseconds are timed together.
            taken, answer = timed(calls[name], max(1, min(100, int(0.01 / first[name]))))
            assert numpy.array_equal(answer, expected), f"{name} has another answer"
            seconds[name].append(taken)
    return seconds, len(expected)


def cells_of(arguments):
    if arguments.data:
        for name, points in data_cells(arguments.data):
            yield name, skyline_calls(points, arguments.pairs)
    for name, points in skyline_cells(arguments.rows):
        yield name, skyline_calls(points, arguments.pairs)
    for name, points in rank_cells():
        yield name, rank_calls(points)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each cell (7)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the largest cells (1,000,000)")
    parser.add_argument("--pairs", type=int, default=5_000, help="most rows for libraries that compare pairs (5,000)")
    parser.add_argument("--data", help="folder with moocore's data sets")
    parser.add_argument("--only", default="", help="text that the names of the measured cells contain")
    parser.add_argument("--out", help="CSV to write")
    arguments = parser.parse_args()
    lines = []
    for cell, calls in cells_of(arguments):
        if arguments.only not in cell:
            continue
        seconds, answer = measure(calls, arguments.rounds)
        medians = {name: 1e3 * statistics.median(taken) for name, taken in seconds.items()}
        texts = [f"{name} {ms:.3f}" for name, ms in medians.items()]
        ratio = medians["skyrank"] / medians["moocore"]
        print(f"{cell:32} {answer:8}  {ratio:7.2f} x moocore  {'  '.join(texts)} ms", flush=True)
        lines += [[cell, answer, name, version_of(name), f"{ms:.4f}"] for name, ms in medians.items()]
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["cell", "rows_of_answer", "library", "version", "median_ms"])
            writer.writerows(lines)


def version_of(name):
    return skyrank.__version__ if name == "skyrank" else importlib.metadata.version(name)


if __name__ == "__main__":
    sys.exit(main())

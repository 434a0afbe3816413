#!/usr/bin/env python3
"""Indicators of fronts and survival, beside moocore.

Measured is a call from NumPy arrays of float64 to its answer. A round calls each library once, and the order alternates.
Values of indicators must be moocore's within 1e-9 of the largest; contributions of four objectives and more, which moocore
finds as differences of volumes, within 1e-9 of the front's volume. moocore runs on one thread. Survival is measured beside
moocore's Pareto ranks alone, as moocore has none.

  python3 -m venv build/peers && build/peers/bin/pip install numpy moocore
  PYTHONPATH=build/release/python build/peers/bin/python tools/bench/peers/indicators.py --out indicators-cpu.csv
"""

import argparse
import csv
import importlib.metadata
import statistics
import sys
import time

import moocore
import numpy
import skyrank

REFERENCE = 1.1


def sphere(rows, columns):
    """Returns points on a sphere, which is a concave front for minimisation."""
    points = numpy.abs(numpy.random.default_rng(1).normal(size=(rows, columns)))
    return points / numpy.linalg.norm(points, axis=1)[:, None]


def convex(rows, columns):
    return 1 - sphere(rows, columns)


def volume_cells():
    """Yields name, calls of both libraries, and the greatest difference that is allowed between them."""
    sizes = [(2, 100_000), (3, 100_000), (4, 5_000), (5, 1_000), (6, 500), (8, 200), (2, 100), (3, 100), (4, 50)]
    for front in (sphere, convex):
        for columns, rows in sizes:
            points = front(rows, columns)
            yield (
                f"hypervolume {front.__name__} {columns} x {rows}",
                lambda points=points: skyrank.hypervolume(points, REFERENCE),
                lambda points=points: moocore.hypervolume(points, ref=REFERENCE),
                1e-9 * moocore.hypervolume(points, ref=REFERENCE) if columns < 8 else 1e-9,
            )


def contribution_cells():
    for front in (sphere, convex):
        for columns, rows in [(2, 10_000), (3, 5_000), (4, 1_000), (5, 200), (6, 100)]:
            points = front(rows, columns)
            yield (
                f"contributions {front.__name__} {columns} x {rows}",
                lambda points=points: skyrank.hypervolume_contributions(points, REFERENCE),
                lambda points=points: moocore.hv_contributions(points, ref=REFERENCE),
                1e-9 * moocore.hypervolume(points, ref=REFERENCE),
            )


def distance_cells():
    names = {"igd": "igd", "igd_plus": "igd_plus", "epsilon_additive": "epsilon_additive"}
    names["epsilon_multiplicative"] = "epsilon_mult"
    for name, theirs in names.items():
        points, references = sphere(2_000, 3) + 0.1, convex(3_000, 3) + 0.1
        yield (
            f"{name} 3 x 2000, 3000",
            lambda name=name: getattr(skyrank, name)(points, references),
            lambda theirs=theirs: getattr(moocore, theirs)(points, ref=references),
            1e-9,
        )


def survival_cells():
    for columns, rows in [(2, 200), (3, 200), (5, 200), (3, 1_000)]:
        points = numpy.random.default_rng(2).random((rows, columns))
        yield (
            f"survival {columns} x {rows}, beside ranks",
            lambda points=points: skyrank.nsga2_survival(points, len(points) // 2),
            lambda points=points: moocore.pareto_rank(points),
            None,
        )
        yield (
            f"non-dominated {columns} x {rows}",
            lambda points=points: skyrank.is_nondominated(points).astype(float),
            lambda points=points: moocore.is_nondominated(points).astype(float),
            0,
        )


def timed(call, times):
    begin = time.perf_counter()
    for _ in range(times):
        answer = call()
    return (time.perf_counter() - begin) / times, answer


def measure(ours, theirs, allowed, rounds):
    """Returns the median milliseconds of both calls; raises an AssertionError where answers differ."""
    calls = [ours, theirs]
    first = [timed(call, 1)[0] for call in calls]
    seconds = [[], []]
    for turn in range(rounds if max(first) < 1 else 1):
        answers = [None, None]
        for place in [0, 1][:: -1 if turn % 2 else 1]:
            # Calls of microseconds are timed together.
            taken, answers[place] = timed(calls[place], max(1, min(100, int(0.01 / first[place]))))
            seconds[place].append(taken)
        if allowed is not None:
            difference = numpy.max(numpy.abs(numpy.asarray(answers[0]) - numpy.asarray(answers[1])))
            assert difference <= allowed, f"the answers differ by {difference}"
    return [1e3 * statistics.median(taken) for taken in seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each cell (7)")
    parser.add_argument("--only", default="", help="text that the names of the measured cells contain")
    parser.add_argument("--out", help="CSV to write")
    arguments = parser.parse_args()
    lines = []
    for cells in (volume_cells, contribution_cells, distance_cells, survival_cells):
        for cell, ours, theirs, allowed in cells():
            if arguments.only not in cell:
                continue
            medians = measure(ours, theirs, allowed, arguments.rounds)
            ratio = medians[0] / medians[1]
            print(f"{cell:36} {ratio:7.3f} x moocore  skyrank {medians[0]:.3f}  moocore {medians[1]:.3f} ms", flush=True)
            versions = {"skyrank": skyrank.__version__, "moocore": importlib.metadata.version("moocore")}
            lines += [[cell, name, versions[name], f"{ms:.4f}"] for name, ms in zip(versions, medians)]
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["cell", "library", "version", "median_ms"])
            writer.writerows(lines)


if __name__ == "__main__":
    sys.exit(main())

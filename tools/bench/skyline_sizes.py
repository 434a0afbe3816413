#!/usr/bin/env python3
"""How well skylines are estimated: the rows that plans predict beside those that come.

Each cell is a table of some distribution, columns and rows, whose skyline low in all columns a fresh table is asked for.

  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/skyline_sizes.py --rows 10000 100000 1000000 --out sizes.csv

It prints one line a cell and, at the end, the share of cells whose prediction is within 2 and 4 times of what came, the share
within the bounds of the prediction, and the worst. Distributions are those that skylines are compared on, and those that
samples of a few rows do not show: chains, circles, spheres, planes, clusters. Needs the package and numpy.
"""

import argparse
import csv
import re
import sys
import time

import numpy
import skyrank


def positive_sphere(random, n, d):
    points = numpy.abs(random.standard_normal((n, d)))
    return points / numpy.linalg.norm(points, axis=1, keepdims=True)


def sphere(random, n, d):
    points = random.standard_normal((n, d))
    return points / numpy.linalg.norm(points, axis=1, keepdims=True)


def ball(random, n, d):
    return sphere(random, n, d) * random.random((n, 1)) ** (1 / d)


def shell(random, n, d):
    """A sphere whose radius varies by a hundredth."""
    return sphere(random, n, d) * (1 - random.random((n, 1)) / 100)


def simplex(random, n, d):
    points = random.standard_exponential((n, d))
    return points / points.sum(axis=1, keepdims=True)


def plane(random, n, d):
    """Rows near a plane across the diagonal: what benchmarks of skylines call anticorrelated."""
    points = random.random((n, d))
    return points - points.mean(axis=1, keepdims=True) + random.normal(0.5, 0.05, (n, 1))


def thin_plane(random, n, d):
    return simplex(random, n, d) + random.normal(0, 0.001, (n, 1))


def correlated(random, n, d):
    return random.random((n, 1)) + random.normal(0, 0.05, (n, d))


def chain(random, n, d):
    return numpy.repeat(random.random((n, 1)), d, axis=1)


def circle(random, n, d):
    """A circle in the first two columns; the others repeat them."""
    angle = random.random(n) * 2 * numpy.pi
    return numpy.stack([(numpy.cos, numpy.sin)[c % 2](angle) for c in range(d)], axis=1)


def clusters(random, n, d):
    centres = random.random((20, d))
    return centres[random.integers(0, 20, n)] + random.normal(0, 0.02, (n, d))


def grid(random, n, d):
    """Independent columns of ten values."""
    return random.integers(0, 10, (n, d)).astype(float)


def opposed(random, n, d):
    """Two opposed columns, the others independent."""
    points = random.random((n, d))
    points[:, 1] = 1 - points[:, 0]
    return points


def skewed(random, n, d):
    """Columns of very different tails."""
    return random.standard_exponential((n, d)) ** (1 + numpy.arange(d))


def half_chain(random, n, d):
    """Half of the rows are a chain, the others independent."""
    points = random.random((n, d))
    points[: n // 2] = points[: n // 2, :1]
    return points[random.permutation(n)]


def equal(random, n, d):
    return numpy.ones((n, d))


def duplicates(random, n, d):
    """Independent rows, each about 50 times."""
    return random.random((max(1, n // 50), d))[random.integers(0, max(1, n // 50), n)]


def independent(random, n, d):
    return random.random((n, d))


DISTRIBUTIONS = (independent, correlated, plane, thin_plane, simplex, positive_sphere, sphere, ball, shell, circle, chain, half_chain,
                 clusters, grid, duplicates, equal, opposed, skewed)
SAMPLE = re.compile(r"sample ([\d,]+)")
ROWS = re.compile(r"predicted ([\d,.e+]+) rows?(?: \(([\d,.e+]+) to ([\d,.e+]+)\))? in (\S+) ms.*; measured ([\d,]+) rows? in (\S+) ms")


def number(text):
    return None if text is None else float(text.replace(",", ""))


def measure(engine, make, n, d, seed):
    points = make(numpy.random.default_rng([seed, n, d]), n, d)
    names = [f"c{c}" for c in range(d)]
    table = skyrank.Table(dict(zip(names, numpy.ascontiguousarray(points.T))))
    query = skyrank.Query().prefer([skyrank.low(name) for name in names])
    start = time.perf_counter()
    engine.explain(query, table)
    planning = (time.perf_counter() - start) * 1e3
    plan = engine.run(query, table).plan
    node = plan[plan.index("skyline") :]
    rows, low, high, ms, measured_rows, measured_ms = map(number, ROWS.search(node).groups())
    sample = SAMPLE.search(node)
    return {"data": make.__name__, "n": n, "d": d, "sample": int(number(sample[1])) if sample else 0, "low": low, "predicted": rows, "high": high,
            "came": measured_rows, "ratio": round(rows / measured_rows, 3), "predicted_ms": ms, "ms": measured_ms,
            "planning_ms": round(planning, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[2, 3, 4, 6, 8])
    parser.add_argument("--data", nargs="+", default=[make.__name__ for make in DISTRIBUTIONS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    engine = skyrank.Engine(threads=arguments.threads)
    cells = []
    for make in DISTRIBUTIONS:
        if make.__name__ not in arguments.data:
            continue
        for d in arguments.columns:
            for n in arguments.rows:
                cells.append(measure(engine, make, n, d, arguments.seed))
                print(*cells[-1].values(), sep=",", flush=True)
    far = [max(cell["ratio"], 1 / max(cell["ratio"], 1e-9)) for cell in cells]
    for most in (2, 4):
        print(f"within {most} times: {sum(it <= most for it in far)} of {len(cells)}")
    bounded = [cell for cell in cells if cell["high"] is not None]
    print(f"within bounds: {sum(it['low'] <= it['came'] <= it['high'] for it in bounded)} of {len(bounded)} that have some")
    order = sorted(range(len(cells)), key=lambda i: -far[i])
    print("worst:")
    for i in order[:10]:
        print("  ", *cells[i].values(), sep=" ")
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, cells[0])
            writer.writeheader()
            writer.writerows(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Calls of standing queries beside running the query again over the rows that are there. All last answers are compared.

  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/standing.py --rows 1000000 --out standing.csv

Rows of four columns are near a plane across the diagonal, where many are in the skyline. Each line is a query, how its rows come
and go, the rows that a call brings, microseconds a call and of running again. Needs the package and numpy.
"""

import argparse
import csv
import sys
import time

import numpy
import skyrank
from skyrank import Query, high, low

SKYLINE = Query().prefer([low(f"c{i}") for i in range(4)]).select("row", "c0")
TOP = Query().rank_by(low("c0")).limit(100).select("row", "c0")
GROUPS = Query().group_by("g").aggregate(skyrank.sum("s", "c0")).rank_by(high("s"))
QUERIES = {"skyline": SKYLINE, "top-100": TOP, "groups": GROUPS}


def points(random, rows):
    values = random.random((rows, 4))
    values += random.normal(0.5, 0.05, (rows, 1)) - values.mean(axis=1, keepdims=True)
    return {f"c{i}": numpy.ascontiguousarray(values[:, i]) for i in range(4)} | {"g": random.integers(0, 100, rows)}


def part(table, begin, end):
    return {name: values[begin:end] for name, values in table.items()}


def compared(standing, query, table, first):
    """Returns the microseconds of running again, whose answer has to be that of the standing query."""
    begin = time.perf_counter()
    again = skyrank.query(table, query)
    seconds = time.perf_counter() - begin
    if list(again.rows + first) != list(standing.answer().rows):
        raise SystemExit("a standing query and the engine have different answers")
    return seconds * 1e6


def measure(query, way, table, batch, calls):
    """Returns the microseconds of a call, and of running again, where the last `calls` batches of a table come."""
    rows = len(table["c0"])
    before = rows - batch * calls
    options = {"append only": {"append_only": True}, "window": {"window": {"rows": before}}}.get(way, {})
    standing = skyrank.StandingQuery(query, table, **options)
    standing.insert(part(table, 0, before))
    begin = time.perf_counter()
    for call in range(calls):
        standing.insert(part(table, before + call * batch, before + (call + 1) * batch))
        if way == "erase":
            standing.erase(range(call * batch, (call + 1) * batch))
    seconds = time.perf_counter() - begin
    first = batch * calls if way in ("window", "erase") else 0
    return seconds / calls * 1e6, compared(standing, query, part(table, first, rows), first)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table")
    parser.add_argument("--calls", type=int, default=20, help="calls that are measured")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 1000, 10_000], help="rows that a call brings")
    parser.add_argument("--out", help="a CSV file; the standard output otherwise")
    arguments = parser.parse_args()
    table = points(numpy.random.default_rng(1), arguments.rows)
    with open(arguments.out, "w", newline="") if arguments.out else sys.stdout as out:
        writer = csv.writer(out)
        writer.writerow(["query", "rows", "way", "batch", "us_call", "us_again"])
        for name, query in QUERIES.items():
            for way in ("append only", "insert", "erase", "window"):
                for batch in arguments.batches:
                    figures = measure(query, way, table, batch, arguments.calls)
                    writer.writerow([name, arguments.rows, way, batch, *(round(figure, 1) for figure in figures)])
                    out.flush()


if __name__ == "__main__":
    main()

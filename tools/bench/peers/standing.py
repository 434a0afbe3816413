#!/usr/bin/env python3
"""Calls of standing queries beside running the query again over the rows that are there, and of archives beside stacking points
and filtering them. All last answers are compared.

  PYTHONPATH=build/release/python .deps/python/bin/python tools/bench/peers/standing.py --rows 1000000 --out standing.csv

Rows of four columns are near a plane across the diagonal, where many are in the skyline. Each line is a query, how its rows come
and go, the rows that a call brings, microseconds a call, and of running again: by SkyRank, DuckDB and Polars, in memory, each
with all cores. Needs the package and numpy; libraries that are not there, and what they do not answer, are left out.
"""

import argparse
import csv
import importlib.util
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


def duckdb_again(table):
    """Returns calls that answer queries by DuckDB over a table of Arrow, by the queries' names."""
    import duckdb
    import pyarrow

    t = pyarrow.table(table)  # noqa: F841  DuckDB finds it by its name
    texts = {
        "top-100": "SELECT c0 AS value FROM t ORDER BY c0 LIMIT 100",
        "groups": "SELECT sum(c0) AS value FROM t GROUP BY g ORDER BY value DESC",
    }
    connection = duckdb.connect()
    connection.register("t", t)
    return {name: lambda text=text: connection.sql(text).fetchnumpy()["value"] for name, text in texts.items()}


def polars_again(table):
    """Returns calls that answer queries by Polars, by the queries' names."""
    import polars

    frame = polars.DataFrame(table)
    groups = frame.lazy().group_by("g").agg(value=polars.col("c0").sum()).sort("value", descending=True)
    return {
        "top-100": lambda: frame.lazy().select(value="c0").bottom_k(100, by="value").collect()["value"].sort().to_numpy(),
        "groups": lambda: groups.collect()["value"].to_numpy(),
    }


PEERS = {"duckdb": duckdb_again, "polars": polars_again}


def again_by_peers(name, table, expected):
    """Returns the microseconds of each peer, None where it is not there or does not answer the query."""
    found = {}
    for peer, calls_of in PEERS.items():
        call = calls_of(table).get(name) if importlib.util.find_spec(peer) else None
        found[peer] = None
        if call is None:
            continue
        call()  # which starts threads
        begin = time.perf_counter()
        values = call()
        found[peer] = round((time.perf_counter() - begin) * 1e6, 1)
        if not numpy.allclose(values, expected):
            raise SystemExit(f"{peer} has another answer")
    return found


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


def near_front(random, rows):
    """Returns points of three objectives near a sphere, where about half are dominated by those of a front on it."""
    values = numpy.abs(random.normal(size=(rows, 3)))
    return 1 - values / numpy.linalg.norm(values, axis=1, keepdims=True) * random.normal(1, 0.003, (rows, 1))


def stacked(front, points):
    """Adds points to a front by comparing each with all of it."""
    for point in points:
        if (front <= point).all(axis=1).any():
            continue
        front = numpy.concatenate([front[~(point <= front).all(axis=1)], point[None]])
    return front


def filtered(front, points):
    """Adds points to a front by moocore's filter of both."""
    import moocore

    both = numpy.concatenate([front, points])
    return both[moocore.is_nondominated(both)]


def measure_archive(add, front, batches):
    """Returns the microseconds a batch of an archive, and of a peer that adds a batch to a front."""
    archive = skyrank.Archive()
    archive.add(front)
    given = [batch if len(batch) > 1 else tuple(batch[0].tolist()) for batch in batches]
    begin = time.perf_counter()
    for batch in given:
        archive.add(batch)
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    for batch in batches:
        front = add(front, batch)
    theirs = time.perf_counter() - begin
    if sorted(front.tolist()) != sorted(archive.points.tolist()):
        raise SystemExit("an archive and its peer have different points")
    return ours / len(batches) * 1e6, theirs / len(batches) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table")
    parser.add_argument("--calls", type=int, default=20, help="calls that are measured")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 1000, 10_000], help="rows that a call brings")
    parser.add_argument("--front", type=int, default=10_000, help="points of the front that archives begin with")
    parser.add_argument("--out", help="a CSV file; the standard output otherwise")
    arguments = parser.parse_args()
    table = points(numpy.random.default_rng(1), arguments.rows)
    with open(arguments.out, "w", newline="") if arguments.out else sys.stdout as out:
        writer = csv.writer(out)
        writer.writerow(["query", "rows", "way", "batch", "us_call", "us_again", *(f"us_{peer}" for peer in PEERS)])
        for name, query in QUERIES.items():
            answer = skyrank.query(table, query)
            peers = again_by_peers(name, table, answer["s" if name == "groups" else "c0"]) if name != "skyline" else {}
            for way in ("append only", "insert", "erase", "window"):
                for batch in arguments.batches:
                    figures = measure(query, way, table, batch, arguments.calls)
                    shown = [*(round(figure, 1) for figure in figures), *peers.values()]
                    writer.writerow([name, arguments.rows, way, batch, *shown])
                    out.flush()
        random = numpy.random.default_rng(1)
        front = near_front(random, arguments.front)
        front = front[skyrank.is_nondominated(front)]
        archives = {"stacked": stacked} | ({"moocore": filtered} if importlib.util.find_spec("moocore") else {})
        for name, add in archives.items():
            for batch in (1, 100):
                batches = [near_front(random, batch) for _ in range(100 * arguments.calls // batch)]
                figures = measure_archive(add, front, batches)
                writer.writerow(["archive", len(front), name, batch, *(round(figure, 2) for figure in figures)])
                out.flush()


if __name__ == "__main__":
    main()

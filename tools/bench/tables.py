#!/usr/bin/env python3
"""Writes the tables of figures in the documents from tools/bench/results.

usage: tools/bench/tables.py [--check]

A table stands between `<!-- table NAME -->` and `<!-- end -->`. With --check nothing is written; the exit status is 1 if a
table differs from the results.
"""

import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "engine/docs/performance.md")


def read(name):
    with open(ROOT / "tools/bench/results" / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def the(rows, column, **cell):
    """Returns the number in the one row of a cell."""
    found = [row for row in rows if all(row[key] == str(value) for key, value in cell.items())]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} rows of {cell}")
    return float(found[0][column])


def figure(ms):
    """Returns a number of milliseconds with two digits or three."""
    for limit, form in ((1, ".2f"), (10, ".1f"), (100, ".1f")):
        if ms < limit:
            return f"{ms:{form}}"
    return f"{ms:,.0f}"


def table(head, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def topk_cpu():
    rows = read("topk-cpu.csv")
    ks = (1, 32, 1024, 1000000)

    def line(label, *algorithms):
        return [label] + [figure(min(the(rows, "median_ms", algorithm=a, dist="uniform", k=k) for a in algorithms)) for k in ks]

    return table(["the k best of 10^8 floats", "k = 1", "k = 32", "k = 1,024", "k = 10^6"], [
        line("SkyRank, query", "skyrank query"),
        line("SkyRank, selection alone, without a zone map", "skyrank kernel sampled-threshold"),
        line("DuckDB 2.0.0", "duckdb-2.0.0"),
        line("Polars 2.1.0, the better of two ways", "polars-bottom-k-2.1.0", "polars-sort-head-2.1.0"),
        line("NumPy 2.4.6, `argpartition`", "numpy-argpartition-2.4.6")])


def skyline_cpu():
    rows = read("skyline-cpu.csv")

    def line(label, algorithm):
        return [label] + [figure(the(rows, "median_ms", algorithm=algorithm, dist="anticorrelated", n=1000000, d=d))
                          for d in (4, 8, 12)]

    return table(["10^6 anticorrelated points", "4 columns", "8 columns", "12 columns"], [
        line("`blocked-bitmap`", "blocked-bitmap"), line("`skyalign`", "skyalign"), line("`hybrid`", "hybrid"),
        line("`bskytree`, one thread", "bskytree")])


def files_cpu():
    rows = read("files-cpu.csv")
    systems = ["skyrank", "skyrank warm", *sorted({row["system"] for row in rows if "skyrank" not in row["system"]})]
    names = {"skyrank": "SkyRank, a process", "skyrank warm": "SkyRank, later in a batch"}
    peers = {"duckdb": "DuckDB", "polars": "Polars"}
    versions = {row["system"]: row["version"] for row in rows}
    labels = [names.get(s) or f"{peers[s]} {versions[s]}" for s in systems]
    return table([f"{int(rows[0]['rows']):,} rows of a Parquet file", *labels], [
        [query] + [figure(1e3 * the(rows, "median_s", query=query, system=system)) for system in systems]
        for query in dict.fromkeys(row["query"] for row in rows)])


def readers_cpu(name, head):
    """The table of a file of skylines.py or csv_files.py."""
    rows = read(name)
    labels = {"pyarrow": f"pyarrow {rows[0]['version']} reads the table", "skyrank": "SkyRank answers, from Python",
              "skyrank process": "SkyRank answers, a process"}
    return table([head, *labels.values()], [
        [query] + [figure(1e3 * the(rows, "median_s", query=query, system=system)) for system in labels]
        for query in dict.fromkeys(row["query"] for row in rows)])


def skylines_cpu():
    return readers_cpu("skylines-cpu.csv", "skyline of 30,000,000 rows of a Parquet file")


def csv_cpu():
    return readers_cpu("csv-cpu.csv", "2,000,000 rows of a CSV file")


BEST_OF_MANY = dict(algorithm="cuda-sampled-threshold", dist="uniform", n=1 << 29)


def values_of(rows):
    """Returns what the rows rank, in words."""
    return "integers of 32 bits" if rows[0]["type"] == "uint32" else "floats"


def topk_gpu():
    rows = read("topk-gpu.csv")
    cells = [dict(BEST_OF_MANY, k=k) for k in (32, 1024, 1 << 20)]
    return table([f"the k best of 2^29 {values_of(rows)}, with row ids", "k = 32", "k = 1,024", "k = 2^20"], [
        ["one read of the values"] + [f"{the(rows, 'floor_ms', **cell):.3f}" for cell in cells],
        ["`cuda-sampled-threshold`"] + [f"{the(rows, 'median_ms', **cell):.3f}" for cell in cells]])


def skyline_gpu():
    rows = read("skyline-gpu.csv")
    cells = [("correlated", 10**6, 12), ("independent", 10**6, 8), ("independent", 10**6, 12),
             ("anticorrelated", 10**6, 4), ("anticorrelated", 10**6, 12), ("anticorrelated", 8 * 10**6, 12)]
    algorithms = ("cuda-blocked-bitmap", "cuda-skyalign")
    return table(["skyline of", *(f"`{a}`" for a in algorithms)], [
        [f"{dist} {'10^6' if n == 10**6 else '8 * 10^6'} x {d}"] +
        [figure(the(rows, "median_ms", algorithm=a, dist=dist, n=n, d=d)) for a in algorithms]
        for dist, n, d in cells])


def summary():
    topk = read("topk-cpu.csv")
    topk_gpu_rows, skyline_gpu_rows = read("topk-gpu.csv"), read("skyline-gpu.csv")

    def of(rows, algorithm, **cell):
        return figure(the(rows, "median_ms", algorithm=algorithm, **cell)) + " ms"

    files = read("files-cpu.csv")

    def whole(query):
        process, later, duckdb, polars = (figure(1e3 * the(files, "median_s", query=query, system=system)) + " ms"
                                          for system in ("skyrank", "skyrank warm", "duckdb", "polars"))
        return [f"{query}; 20 million rows of a Parquet file, two EPYC cores",
                f"{process} from the start of a process, {later} later in a batch",
                f"DuckDB 2.0 {duckdb}, Polars 2.1 {polars}, in a process that has started"]

    points = dict(dist="anticorrelated", n=10**6)
    many = dict(BEST_OF_MANY, k=32)
    return table(["query", "SkyRank", "others"], [
        whole("top 5 of each of 2,000 groups"), whole("count by user, top 50"), whole("filter on time, top 50"),
        ["32 best of 10^8 floats, two EPYC cores",
         f"{of(topk, 'skyrank query', k=32)}; the first query over a column "
         f"{of(topk, 'skyrank kernel sampled-threshold', k=32)}",
         f"DuckDB 2.0 {of(topk, 'duckdb-2.0.0', k=32)}, Polars 2.1 {of(topk, 'polars-sort-head-2.1.0', k=32)}, "
         f"NumPy 2.4 {of(topk, 'numpy-argpartition-2.4.6', k=32)}"],
        [f"32 best of 2^29 {values_of(topk_gpu_rows)}, one H200", f"{the(topk_gpu_rows, 'median_ms', **many):.3f} ms",
         f"reading the values once: {the(topk_gpu_rows, 'floor_ms', **many):.3f} ms"],
        ["skyline of 10^6 anticorrelated points, 12 columns, one H200",
         of(skyline_gpu_rows, "cuda-blocked-bitmap", d=12, **points),
         f"`cuda-skyalign` {of(skyline_gpu_rows, 'cuda-skyalign', d=12, **points)}"]])


TABLES = {"summary": summary, "files-cpu": files_cpu, "skylines-cpu": skylines_cpu, "csv-cpu": csv_cpu,
          "topk-cpu": topk_cpu, "skyline-cpu": skyline_cpu, "topk-gpu": topk_gpu, "skyline-gpu": skyline_gpu}


def with_tables(text):
    """Returns a page's text with its tables made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- table {name} -->\n", "\n<!-- end -->"
        if begin not in text:
            continue
        head, rest = text.split(begin, 1)
        text = head + begin + make() + end + rest.split(end, 1)[1]
    return text


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        if (new := with_tables(text)) != text:
            stale.append(page)
            if not check:
                (ROOT / page).write_text(new, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'differs from' if check else 'now has the figures of'} tools/bench/results")
    if check:
        print(f"figures: {len(PAGES)} pages, {len(stale)} findings")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
